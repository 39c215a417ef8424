"""HTTP client libraries on the in-memory network: the same adapter for httpx and for httpx2, which the MCP SDK uses."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from typing import Any

import httpx

from lasttick.engine.network import Exchange, Network, NetworkError


def memory_transport(network: Network, library: Any = httpx) -> Any:
    """An `AsyncBaseTransport` of `library` (httpx or httpx2) that reaches the applications of `network`."""
    return _adapter(library)(network)


@functools.cache
def _adapter(library: Any) -> Any:
    class Body(library.AsyncByteStream):
        def __init__(self, exchange: Exchange) -> None:
            self._exchange = exchange

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._exchange.body():
                    yield chunk
            except NetworkError as error:
                raise library.ReadError(str(error)) from error

        async def aclose(self) -> None:
            self._exchange.disconnect()

    class MemoryTransport(library.AsyncBaseTransport):
        def __init__(self, network: Network) -> None:
            self._network = network

        async def handle_async_request(self, request: Any) -> Any:
            origin = f"{request.url.host}:{request.url.port or 80}"
            body = await request.aread()
            try:
                exchange = await self._network.request(
                    request.method, origin, request.url.raw_path.decode("ascii"), request.headers.raw, body
                )
            except NetworkError as error:
                raise library.ConnectError(str(error), request=request) from error
            return library.Response(exchange.status, headers=exchange.headers, stream=Body(exchange))

    return MemoryTransport
