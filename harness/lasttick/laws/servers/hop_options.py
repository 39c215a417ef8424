"""What may a hop be asked to do? Its options, and why some are refused. Source: issue 4, Hop."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

OF_ONE_CONNECTION = (
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
)
"""Headers that are not passed on (RFC 9110, 7.6.1)."""
FRAMING = ("content-length", "expect", *(name.decode() for name in OF_ONE_CONNECTION))
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class HopError(Exception):
    """Options that no hop can have: three-part message."""


@dataclass(frozen=True, slots=True)
class HopOptions:
    """`to`: origins of the replicas (`http://127.0.0.1:8765`). Times in seconds.

    Headers are dropped first and then added, so that both together replace one. `cut_idle_s`: no byte of the answer for
    so long, its head included, and the hop gives up: with a 504 before the head, by cutting the connection after it.
    `buffer_sse`: an event stream is answered when it has ended. `delay_s`: each answer begins so much later.
    `sticky`: the requests of an MCP session go to the replica that opened it, as with a balancer's session affinity.
    """

    to: tuple[str, ...]
    add_headers: tuple[tuple[str, str], ...] = ()
    drop_headers: tuple[str, ...] = ()
    cut_idle_s: float | None = None
    buffer_sse: bool = False
    delay_s: float = 0.0
    sticky: bool = False

    def check(self) -> None:
        """Raises HopError."""
        if not self.to:
            raise HopError("no replica is named; expected an origin (lasttick serve hop --help); name it with --to")
        for url in self.to:
            _check_origin(url)
        for name in (*self.drop_headers, *(name for name, _ in self.add_headers)):
            if not _TOKEN.fullmatch(name):
                raise HopError(
                    f"{name!r} is no header name; expected letters, digits and dashes (RFC 9110, 5.1); correct it"
                )
            if name.lower() in FRAMING:
                raise HopError(
                    f"{name!r} frames the message; expected a header that can be added or dropped without breaking it "
                    "(RFC 9110, 7.6.1); choose another"
                )
        for name, value in self.add_headers:
            if not _VALUE.fullmatch(value) or value != value.strip():
                raise HopError(
                    f"the value of {name} is {value!r}; expected one line of visible characters (RFC 9110, 5.5); "
                    "correct it"
                )
        if "host" in (name.lower() for name in self.drop_headers):
            raise HopError("host cannot be dropped; HTTP/1.1 expects one (RFC 9112, 3.2); add another in its place")


def _check_origin(text: str) -> None:
    """Raises HopError for what is not exactly scheme, host and port."""
    try:
        url = httpx.URL(text)
        fits = url.scheme in ("http", "https") and bool(url.host) and (url.port is None or 0 < url.port <= 65_535)
        bare = url.raw_path == b"/" and not url.userinfo and not url.fragment
    except httpx.InvalidURL:
        fits = bare = False
    if not fits or not bare:
        hint = "; leave the path out, that of each request is kept" if fits else ""
        raise HopError(
            f"--to is {text!r}; expected the origin of a replica, as in http://127.0.0.1:8765 "
            f"(lasttick serve hop --help){hint}; correct it"
        )
