"""What came back? An HTTP answer and the JSON-RPC message in it, if there is one; never an exception for odd bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx


class LostTransport(Exception):
    """No answer: the connection could not be made, or broke before the answer was whole. It may have happened."""

    def __init__(self, method: str, url: str, cause: BaseException) -> None:
        super().__init__(
            f"{method} {url} got no answer: {type(cause).__name__}: {cause}; expected a whole HTTP answer; "
            "the request may or may not have been acted on: look at the device's log before repeating it"
        )


@dataclass(frozen=True, slots=True)
class ReplyError:
    """A JSON-RPC error object. `code` is what the peer sent, an integer in a correct one."""

    code: Any
    message: Any
    data: Any = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer.

    `message`: the JSON-RPC answer, None when there is none (202, a 401's body, an empty stream, not JSON).
    `messages`: every JSON-RPC message in the body, in order; an SSE answer may carry notifications before the answer.
    """

    http_status: int
    headers: httpx.Headers
    body: bytes
    message: dict[str, Any] | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """A result, and not one that says `isError`."""
        return self.message is not None and "result" in self.message and not self.is_error_result

    @property
    def result(self) -> Any:
        return None if self.message is None else self.message.get("result")

    @property
    def is_error_result(self) -> bool:
        result = self.result
        return isinstance(result, dict) and result.get("isError") is True

    @property
    def error(self) -> ReplyError | None:
        error = None if self.message is None else self.message.get("error")
        if not isinstance(error, dict):
            return None
        return ReplyError(error.get("code"), error.get("message"), error.get("data"))

    @property
    def structured(self) -> Any:
        """The result's structuredContent, else the JSON in its first text, else None."""
        result = self.result
        if not isinstance(result, dict):
            return None
        if result.get("structuredContent") is not None:
            return result["structuredContent"]
        content = result.get("content")
        first = content[0] if isinstance(content, list) and content else None
        try:
            return json.loads(first["text"]) if isinstance(first, dict) else None
        except (KeyError, TypeError, ValueError, RecursionError):
            return None

    @property
    def lines(self) -> list[str]:
        """The body as lines of text, as a person or a redaction check sees it."""
        return self.body.decode("utf-8", "replace").splitlines()


def read_reply(http_status: int, headers: httpx.Headers, body: bytes, request_id: Any) -> Reply:
    """Find the messages in a body of JSON or SSE. The answer is the one to `request_id`, else the last answer there."""
    if not body:
        return Reply(http_status, headers, body)
    if headers.get("content-type", "").lower().startswith("text/event-stream"):
        messages = [message for data in sse_data([body]) for message in json_rpc(data)]
    else:
        messages = list(json_rpc(body))
    answers = [message for message in messages if "result" in message or "error" in message]
    ours = [message for message in answers if message.get("id") == request_id]
    message = ours[-1] if ours else answers[-1] if answers else None
    return Reply(http_status, headers, body, message, messages)


def json_rpc(data: bytes) -> Iterable[dict[str, Any]]:
    """The JSON-RPC 2.0 messages in one JSON text: one, several (a batch, which 2025-11-25 does not have), or none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return []
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict) and item.get("jsonrpc") == "2.0"]


def sse_data(chunks: Iterable[bytes]) -> list[bytes]:
    """The data of each finished event in a whole stream."""
    parser = SseParser()
    return [data for chunk in chunks for data in parser.feed(chunk)]


class SseParser:
    """Server-sent events from chunks cut anywhere. CR, LF and CRLF end a line; only `data` is kept."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of the events that `chunk` finished. An event without data is none."""
        found: list[bytes] = []
        buffer = self._rest + chunk
        # A CR at the very end may be the first half of a CRLF: it waits for the next chunk.
        held = b"\r" if buffer.endswith(b"\r") else b""
        lines = buffer[: len(buffer) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line and self._data:
                found.append(b"\n".join(self._data))
                self._data = []
        return found
