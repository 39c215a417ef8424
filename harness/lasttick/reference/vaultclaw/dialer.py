"""What carries the calls to the vault? One connection pool for each way to dial, shared by all tenants of a server.

A transport and no client: a client keeps cookies, follows redirects and reads the environment's proxies, none of which
may happen between tenants. Source: contract vaultclaw 8.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx

Transports = Callable[[str | None], httpx.AsyncBaseTransport | None]
"""From the path of a Unix socket, or None for TCP, to what dials; None: httpx's own transport."""


class Dialer:
    """Makes each transport once. `aclose` when the server stops."""

    def __init__(self, transports: Transports | None = None) -> None:
        self._transports = transports
        self._made: dict[str | None, httpx.AsyncBaseTransport] = {}

    def transport(self, socket_path: str | None) -> httpx.AsyncBaseTransport:
        made = self._made.get(socket_path)
        if made is None:
            given = None if self._transports is None else self._transports(socket_path)
            made = self._made[socket_path] = _own(socket_path) if given is None else given
        return made

    async def aclose(self) -> None:
        for transport in self._made.values():
            await transport.aclose()
        self._made.clear()


def _own(socket_path: str | None) -> httpx.AsyncBaseTransport:
    # Without a bound on connections: one tenant's waits may not stand in the way of another's calls.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=5.0)
    return httpx.AsyncHTTPTransport(uds=socket_path, trust_env=False, retries=0, limits=limits)
