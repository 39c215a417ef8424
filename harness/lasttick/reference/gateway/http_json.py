"""How does a request's body come in, and how does an answer go out? Bounded both ways, and JSON that anyone can read.

Source: contract gateway, "Answers to bad requests".
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from lasttick.model.tool_call import Refusal

BODY_MAX = 1 << 20
DRAIN_MAX = 16 << 20
"""How much of a body that is too long is still taken in: a client that is cut off while it sends sees no answer."""
BODY_S = 30.0
DEPTH_MAX = 64

UNAUTHENTICATED = Refusal(
    401, "UNAUTHENTICATED", "nobody is admitted with these credentials; expected those of this surface; send them"
)
NOT_JSON = Refusal(
    400,
    "BAD_REQUEST",
    f"the body can not be read; expected a JSON object in UTF-8, at most {DEPTH_MAX} deep; correct it",
)
TOO_LARGE = Refusal(
    413, "BODY_TOO_LARGE", f"the body is too long; expected at most {BODY_MAX} bytes; send less in one request"
)
TOO_SLOW = Refusal(
    408, "BODY_TOO_SLOW", f"the body did not come; expected all of it within {BODY_S:g} s; send it again"
)


class Refused(Exception):
    """A request that gets a refusal instead of a result."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGone(Exception):
    """Nobody waits for an answer any more."""


def bad_request(happened: str, expected: str) -> Refused:
    """400 for a readable body that is not what the path takes. `happened` holds no value of the request."""
    message = f"{happened}; expected {expected} (contract gateway); correct it and send it again"
    return Refused(Refusal(400, "BAD_REQUEST", message))


async def read_body(receive: Any) -> bytes:
    """The whole body. Raises Refused (413, 408) and ClientGone."""
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= BODY_MAX:
                    chunks.append(chunk)
                if not message.get("more_body", False) or size > DRAIN_MAX:
                    break
    except TimeoutError as error:
        raise Refused(TOO_SLOW) from error
    if size > BODY_MAX:
        raise Refused(TOO_LARGE)
    return b"".join(chunks)


def parse_object(body: bytes, depth_max: int = DEPTH_MAX) -> dict[str, Any] | None:
    """The JSON object that `body` is; None for everything else: other JSON, a number that is none (NaN) or that no
    float holds (1e999), not UTF-8, deeper than `depth_max`. What is returned can be written as JSON again."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not deeper_than(depth_max, value, body) else None


async def object_of(request: Request) -> dict[str, Any]:
    """The body of a request that was admitted. Raises Refused (400, 408, 413) and ClientGone."""
    value = parse_object(await read_body(request.receive))
    if value is None:
        raise Refused(NOT_JSON)
    return value


def deeper_than(depth_max: int, value: Any, body: bytes) -> bool:
    """Do arrays and objects nest more than `depth_max` times? `{}` is one deep."""
    if body.count(b"{") + body.count(b"[") <= depth_max:
        return False
    level = [value]
    for _ in range(depth_max):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def json_answer(status: int, value: Mapping[str, Any]) -> Response:
    """An answer. Escaped to ASCII: values of third parties may hold lone surrogates, which UTF-8 has no bytes for."""
    content = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    return Response(content, status, media_type="application/json")


def refusal_answer(refusal: Refusal) -> Response:
    """`{"code", "message"}`; the same bytes and headers for the same refusal, whatever led to it."""
    answer = json_answer(refusal.status, {"code": refusal.code, "message": refusal.message})
    if refusal.status == 401:
        answer.headers["www-authenticate"] = "Bearer"
    return answer


def header_values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """All values of a header, `name` in lower case."""
    return [value for key, value in headers if key.lower() == name]


def bearer(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The bearer token; None unless there is exactly one Authorization header, of that scheme, in ASCII."""
    values = header_values(headers, b"authorization")
    if len(values) != 1 or not values[0].isascii():
        return None
    scheme, _, token = values[0].decode("ascii").strip(" \t").partition(" ")
    return token.strip(" \t") or None if scheme.lower() == "bearer" else None


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    """`1e999` is JSON to its letters, but Python reads it as infinity, which is none when it is written again."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"no float holds {text}")
    return value
