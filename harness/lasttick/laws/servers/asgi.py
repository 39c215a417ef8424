"""The few pieces of HTTP that the recorder and the dummies share: a request read whole, an answer in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

BODY_BYTES_MAX = 4 * 1024 * 1024
LEVELS_MAX = 100
TOO_DEEP = f"the body is nested too deep; expected at most {LEVELS_MAX} levels; flatten it"


class Refused(Exception):
    """A request that is not served: three-part message, and the HTTP status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ClientGone(Exception):
    """The client left before its request was whole: nobody is there to be told."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read to its end. Header names are in lower case; a header sent twice has both values, joined."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body for a log: no byte of it is lost, whatever it is."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return self.body.decode("latin-1")

    def arguments(self) -> dict[str, Any]:
        """The query and over it the JSON object or form of the body. Raises Refused."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not self.body:
            return dict(self.query)
        if kind == "application/x-www-form-urlencoded":
            return {**self.query, **dict(parse_qsl(self.text, keep_blank_values=True))}
        value = parse_json(self.body)
        if not isinstance(value, dict):
            raise Refused(400, f"the body is a JSON {type(value).__name__}; expected an object or a form; correct it")
        return {**self.query, **value}


def parse_json(body: bytes) -> Any:
    """Raises Refused for what is no JSON, or nested so deep that it could not be written again."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise Refused(400, TOO_DEEP) from None
    except ValueError as error:
        raise Refused(400, f"the body is not JSON ({error}); expected one JSON value in UTF-8; correct it") from None
    if _deeper_than(value, LEVELS_MAX):
        raise Refused(400, TOO_DEEP)
    return value


def _deeper_than(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(child, levels - 1) for child in children)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def headers_of(scope: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


async def read_request(scope: Any, receive: Any) -> Request:
    """Raises Refused for a body over the limit, and ClientGone."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise Refused(
                413, f"the body is over {BODY_BYTES_MAX} bytes; expected at most that many, the limit here; send less"
            )
        if not message.get("more_body", False):
            break
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    return Request(scope["method"], scope["path"], query, headers_of(scope), bytes(body))


async def answer(send: Any, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
    """One answer in JSON; without a body when `value` is None."""
    body = b"" if value is None else json.dumps(value, separators=(",", ":")).encode()
    raw = [(b"content-length", str(len(body)).encode())]
    if value is not None:
        raw.append((b"content-type", b"application/json"))
    raw += [(name.encode("latin-1"), text.encode("latin-1")) for name, text in (headers or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Any, refused: Refused) -> None:
    await answer(send, refused.status, {"error": str(refused)})
