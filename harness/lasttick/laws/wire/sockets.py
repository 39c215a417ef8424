"""Real connections of one caller: a pool for http and one for https, each made when first needed."""

from __future__ import annotations

import ssl

import httpx

KEEP_S = 1.0
"""A connection idle for longer is not used again: servers close theirs after 2 to 5 s, and a request that crosses that
close is lost for nothing."""


class Sockets(httpx.AsyncBaseTransport):
    """Connects to whatever the request names, by no proxy, any number at once; never sends a request twice."""

    def __init__(self) -> None:
        self._pools: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        scheme = request.url.scheme
        if scheme not in self._pools:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEP_S)
            self._pools[scheme] = httpx.AsyncHTTPTransport(
                verify=_tls(scheme), trust_env=False, limits=limits, retries=0
            )
        return await self._pools[scheme].handle_async_request(request)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()


def _tls(scheme: str) -> ssl.SSLContext:
    """For http it is never used, so it is an empty one (the usual one takes 40 ms)."""
    return ssl.create_default_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
