"""How do the fakes that speak JSON over HTTP read a body and say no? One bounded reader, one shape of refusal.

Every refusal is `{"error": message}` with three parts in the message: what came, what was expected, what to do.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

BODY_BYTES_MAX = 1 << 20
SHOWN_MAX = 80


class Refused(Exception):
    """A request that is not served. `message` has the three parts."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def shown(value: Any) -> str:
    """A value in a message: readable, and short however long it is."""
    text = ascii(value) if isinstance(value, (bytes, str)) else json.dumps(value, default=repr)
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 3]}..."


async def read_body(request: Request, bytes_max: int = BODY_BYTES_MAX) -> bytes:
    """The whole body. Raises Refused (413 too long, 400 the caller left inside it)."""
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > bytes_max:
                raise Refused(413, f"the body is over {bytes_max} bytes; expected at most that many; send less")
    except ClientDisconnect:
        raise Refused(400, "the connection closed inside the body; expected a whole one; send it again") from None
    return bytes(data)


def parse_object(body: bytes) -> dict[str, Any]:
    """A JSON object. Raises Refused (400)."""
    try:
        value = json.loads(body, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Refused(400, f"the body is no JSON: {shown(body)}; expected one JSON object; correct it") from None
    if not isinstance(value, dict):
        raise Refused(400, f"the body is {shown(value)}; expected one JSON object; correct it")
    return value


def after_seq(request: Request) -> int:
    """The query's `after`: the seq of the last entry already seen, 0 without one. Raises Refused."""
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Refused(400, f"after is {shown(text)}; expected the seq of an entry, a whole number; correct it")
    return int(text)


def answer(value: Any, status: int = 200) -> Response:
    # Not Starlette's JSONResponse: it fails on lone surrogates, which JSON bodies may bring in.
    return Response(json.dumps(value), status, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return answer({"error": str(error)}, error.status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {shown(request.url.path)}: {error.detail}"
    known = ", ".join(dict.fromkeys(route.path for route in request.app.routes if hasattr(route, "path")))
    response = answer({"error": f"{what}; expected a path of this server, with its method: {known}; use one"})
    response.status_code = error.status_code
    response.headers.update(error.headers or {})
    return response


HANDLERS: dict[Any, Any] = {Refused: _refused, HTTPException: _http_error}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    """Python reads `1e999` as infinity, which is no JSON when it is answered."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"no float holds {text}")
    return value
