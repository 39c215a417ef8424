"""A chat host on a WebSocket of this machine: one frame per text message, one host at a time, which may come back.

A web page must not press the buttons: browsers name the page they come from, and whoever does is refused.
Source: contract lineup C-1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from lasttick.model.address import is_loopback
from lasttick.model.errors import shown
from lasttick.ports import Clock
from lasttick.reference.lineup.host_lines import Attach, frame_text
from lasttick.reference.lineup.links import HostEvents

MESSAGE_BYTES_MAX = 1 << 24
"""Up to here a message is read and refused as a frame; a longer one ends the connection, with close code 1009."""
CLOSE_S = 2.0


class WebsocketHost:
    """`links.HostLink` over one connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Raises ConnectionError when the host is gone."""
        try:
            await self._connection.send(frame_text(frame))
        except ConnectionClosed as error:
            raise ConnectionError(f"the host is gone: {error}") from error


class HostWebsocket:
    """The server. Every connection is attached as a link of its own, so that an inventory ends with its link."""

    def __init__(
        self, events: HostEvents, attach: Attach, clock: Clock, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        """Raises ValueError for a host that others can reach."""
        if not is_loopback(host):
            raise ValueError(
                f"the host link would listen on {shown(host)}; expected a loopback address, since whoever connects may "
                "approve; use 127.0.0.1 or ::1"
            )
        self._events = events
        self._attach = attach
        self._clock = clock
        self._address = (host, port)
        self._server: Server | None = None
        self._current: ServerConnection | None = None

    async def start(self) -> int:
        """Listen; the port. Raises OSError when it is taken."""
        host, port = self._address
        self._server = await serve(
            self._serve,
            host,
            port,
            origins=[None],
            max_size=MESSAGE_BYTES_MAX,
            compression=None,
            close_timeout=CLOSE_S,
            server_header=None,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, connection: ServerConnection) -> None:
        if self._current is not None:
            await connection.close(CloseCode.TRY_AGAIN_LATER, "another host is connected; expected one at a time")
            return
        self._current = connection
        self._attach(WebsocketHost(connection))
        try:
            async for message in connection:
                if not isinstance(message, str):
                    await connection.close(CloseCode.UNSUPPORTED_DATA, "expected text messages")
                    break
                self._events.frame(message.encode(), self._clock.now_ns())
        except ConnectionClosed:
            pass
        finally:
            self._current = None
            self._events.host_gone()
