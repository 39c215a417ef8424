"""Does this request come from a page of ours, or did some other page send a browser here?

Two doors. The Host header must name this server: a foreign name that resolves to this machine (DNS rebinding) makes
foreign pages same-origin with us. What changes something must come from our own origin: a browser says so in `Origin`
and `Sec-Fetch-Site`, which no page can forge. A program that is no browser sends neither, and nobody rides on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HTTP_PORT = 80


@dataclass(frozen=True, slots=True)
class Served:
    """The names and the port under which a server answers. `port` None: not known yet, any is accepted."""

    hosts: tuple[str, ...]
    port: int | None


def extra_host(host: str) -> str | None:
    """The name to serve besides the usual ones, for who listens at `host`: 127.0.0.2 is loopback, and none of them."""
    return None if host in LOOPBACK or f"[{host}]" in LOOPBACK else host


def served(port: int | None, extra_host: str | None) -> Served:
    """Loopback, and one more host: another address of it, or what both switches of HA-01 allow."""
    if extra_host is None:
        return Served(LOOPBACK, port)
    bare = ":" in extra_host and not extra_host.startswith("[")
    return Served((*LOOPBACK, (f"[{extra_host}]" if bare else extra_host).lower()), port)


def is_served(hosts: Sequence[str], here: Served) -> bool:
    """Whether the Host headers of a request (exactly one) name this server."""
    if len(hosts) != 1:
        return False
    name, port = _split(hosts[0].lower())
    return name in here.hosts and (here.port is None or port == str(here.port))


def is_ours(origins: Sequence[str], fetch_sites: Sequence[str], host: str, *, must_say: bool) -> bool:
    """Whether a request that changes something comes from a page of this origin, or from a program.

    `origins` and `fetch_sites` are the request's headers of those names, `host` its Host header. `must_say`: a form,
    which only browsers send, so that saying nothing is no excuse. `Origin: null` is somebody who hides.
    """
    if not origins and not fetch_sites:
        return not must_say
    if any(site != "same-origin" for site in fetch_sites):
        return False
    return list(origins) in ([], [f"http://{host}"])


def _split(host: str) -> tuple[str, str]:
    """Name and port of a Host header; the port of plain http when it names none."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, str(HTTP_PORT)
    return name, port
