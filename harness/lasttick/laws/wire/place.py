"""Where is the target, and which addresses may be spoken to? Loopback, and the hosts that the profile names; no other.

Source: contract laws, "Binding"; issue: loopback only unless a host is in `allow_hosts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import httpx

from lasttick.laws.wire.message import WireError
from lasttick.model.address import is_listed, is_loopback

_METHOD = re.compile(r"[A-Z]+")
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_NO_HEADER_TEXT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Place:
    """`url`: an MCP endpoint or the base of an HTTP API; `command`: speaks MCP on stdio (it wins if both are there).

    `env` is added to the environment of every process. `allow_hosts`: `lab` (any port) or `lab:4700`. `timeout_s`
    bounds what has no time-out of its own: open, end and close.
    """

    url: str | None = None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    allow_hosts: tuple[str, ...] = ()
    era: Literal["handshake", "modern"] = "handshake"
    timeout_s: float = 10.0


def endpoint(place: Place) -> httpx.URL:
    """The target's URL. Raises WireError: there is none, it is none, or its host is not allowed."""
    if place.url is None:
        raise WireError(
            "this needs the target's URL, and the profile gives none; expected `url` in [target] (docs/check.md, "
            "'Binding': tool, and http with a path); add it, or write the whole address into the binding"
        )
    return _checked(place.url, place.allow_hosts)


def address(place: Place, what: str) -> tuple[str, httpx.URL]:
    """Method and URL of `POST /path` (at the origin of the target's URL) or `POST http://..`. Raises WireError."""
    method, _, where = what.partition(" ")
    where = where.strip()
    if not _METHOD.fullmatch(method) or not where.startswith(("/", "http://", "https://")):
        raise WireError(
            f"http = {what!r} cannot be sent; expected a method in capitals, a space, and a path that begins with / or "
            "an address that begins with http:// or https:// (docs/check.md, 'Binding'); correct the binding, and look "
            "at what its templates were filled with"
        )
    if where.startswith("/"):
        # By hand: joining as a browser does would let "//elsewhere/x" change the host.
        origin = str(endpoint(place).copy_with(raw_path=b"/", fragment=None)).removesuffix("/")
        where = origin + where
    return method, _checked(where, place.allow_hosts)


def encoded(headers: Mapping[str, str]) -> dict[str, bytes]:
    """Header names in lower case, values as bytes (UTF-8). Raises WireError for what no HTTP header can carry."""
    return {_header_name(name): _header_value(name, value) for name, value in headers.items()}


def _header_name(name: str) -> str:
    if not _HEADER_NAME.fullmatch(name):
        raise WireError(
            f"the header name {name!r} cannot be sent; expected letters, digits and - (RFC 9110, 5.1); "
            "correct it under `headers` of the caller or the binding"
        )
    return name.lower()


def _header_value(name: str, value: str) -> bytes:
    """The value itself is not shown: it may be a secret."""
    try:
        raw = value.strip().encode("utf-8")
    except UnicodeEncodeError:
        raw = b"\n"
    if _NO_HEADER_TEXT.search(raw.decode("utf-8")):
        raise WireError(
            f"the value of the header {name!r} cannot be sent: it holds a line break or another control character; "
            "expected one line of text (RFC 9110, 5.5); look at the variable or the command that gives it"
        )
    return raw


def _checked(text: str, allow_hosts: Iterable[str]) -> httpx.URL:
    try:
        url = httpx.URL(text)
        host, port = url.host.lower(), url.port or _DEFAULT_PORT.get(url.scheme)
    except (httpx.InvalidURL, ValueError) as error:
        raise _no_address(text, str(error)) from error
    if not host or port is None:
        raise _no_address(text, "no scheme http or https, or no host")
    if url.userinfo:
        raise WireError(
            f"the address of the host {host!r} holds a user name or a password; expected none, as it would stand in "
            "place of every caller's own (docs/check.md, 'Callers'); move it to `headers` of the callers that have it"
        )
    if not is_loopback(host) and not is_listed(host, port, allow_hosts):
        raise WireError(
            f"the host {host!r} (port {port}) is not loopback, so nothing was sent; expected loopback, or the host in "
            f"`allow_hosts` of [target] (docs/check.md, 'Safety'); add {host!r} there if it is yours to test"
        )
    return url


def _no_address(text: str, why: str) -> WireError:
    return WireError(
        f"{text[:200]!r} is no address: {why}; expected http://host:port/path (docs/check.md, 'Binding'); correct "
        "`url` of [target] or the binding, and look at what its templates were filled with"
    )
