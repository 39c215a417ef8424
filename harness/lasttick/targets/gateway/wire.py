"""What came back from a part of the gateway, and how headers go out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came. `body` is its JSON, the text itself when it is none; `content` the bytes."""

    http_status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes
    body: Any

    @property
    def ok(self) -> bool:
        return self.http_status == 200

    @property
    def code(self) -> str | None:
        """The platform's code of an error; None when it is no error."""
        return self.body.get("code") if isinstance(self.body, dict) and not self.ok else None

    @property
    def result(self) -> Any:
        """What a tool call gave. Raises AssertionError when it gave none."""
        assert self.ok, f"expected a result, got HTTP {self.http_status}: {self.body}"
        return self.body["result"]


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a person got. `run_id` and `answer` are None when the platform gave none; `body` is all it said."""

    run_id: str | None
    answer: str | None
    http_status: int
    body: Any

    @classmethod
    def of(cls, reply: Reply) -> ChatAnswer:
        body = reply.body if isinstance(reply.body, dict) else {}
        return cls(body.get("run_id"), body.get("answer"), reply.http_status, reply.body)

    @property
    def text(self) -> str:
        """The answer. Raises AssertionError when there is none."""
        assert self.http_status == 200, f"expected an answer, got HTTP {self.http_status}: {self.body}"
        assert self.answer is not None, f"expected an answer, got {self.body}"
        return self.answer


def encoded(pair: tuple[str, str | bytes]) -> tuple[bytes, bytes]:
    """A header as bytes: text as Latin-1, as HTTP has it."""
    name, value = pair
    return name.encode("latin-1"), value if isinstance(value, bytes) else value.encode("latin-1")


def reply_of(answer: httpx.Response) -> Reply:
    try:
        body = json.loads(answer.content)
    except (ValueError, RecursionError):
        body = answer.text
    return Reply(answer.status_code, tuple(answer.headers.multi_items()), answer.content, body)
