"""What came back from a part of the gateway, and how headers go out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
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
    return Reply(answer.status_code, tuple(answer.headers.multi_items()), answer.content, _body(answer.content))


def _body(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


async def as_it_stands(method: str, url: str, headers: Sequence[tuple[bytes, bytes]], content: bytes) -> Reply:
    """One request over a socket of its own whose headers no client library would send: blanks at the edge of a value,
    control characters. A library reads the answer. Raises OSError, and httpx.RemoteProtocolError for no answer."""
    import h11
    import httpx

    parts = httpx.URL(url)
    host = [(b"host", parts.netloc), (b"content-length", str(len(content)).encode()), (b"connection", b"close")]
    lines = [b"%s: %s\r\n" % pair for pair in [*host, *headers]]
    head = b"%s %s HTTP/1.1\r\n%s\r\n" % (method.encode(), parts.raw_path, b"".join(lines))
    reader, writer = await asyncio.open_connection(parts.host, parts.port)
    try:
        writer.write(head + content)
        answer = h11.Connection(h11.CLIENT)
        answer.send(h11.Request(method=method, target=parts.raw_path, headers=host[:1]))
        answer.send(h11.EndOfMessage())
        response, body = None, bytearray()
        while not isinstance(event := answer.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                answer.receive_data(await reader.read(65_536))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.ConnectionClosed):
                raise httpx.RemoteProtocolError("the server closed the connection without an answer")
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    finally:
        writer.close()
    assert response is not None
    pairs = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers)
    return Reply(response.status_code, pairs, bytes(body), _body(bytes(body)))
