"""What does a server say on its own? The GET stream of a session, message by message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx

from lasttick_fakes.client.reply import LostTransport, Reply, SseParser, json_rpc


class EventStream:
    """An open GET stream. Iterate for its JSON-RPC messages; `close` drops the connection, as a leaving client does.

    `refused` is the whole answer when the server gave no stream (404, 405, 409 ...), else None.
    """

    def __init__(self, response: httpx.Response, refused: Reply | None, url: str) -> None:
        self._response = response
        self._url = url
        self.http_status = response.status_code
        self.headers = response.headers
        self.refused = refused

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        if self.refused is not None:
            return
        parser = SseParser()
        try:
            async for chunk in self._response.stream:  # type: ignore[union-attr]
                for data in parser.feed(chunk):
                    for message in json_rpc(data):
                        yield message
        except (httpx.TransportError, OSError) as cause:
            raise LostTransport("GET", self._url, cause) from cause

    async def close(self) -> None:
        await self._response.aclose()
