"""How is a host joined to an adapter? By lines of JSON on byte streams, or by a WebSocket: one frame per piece."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from lasttick.ports import LineStream

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

FRAME_BYTES_READ_MAX = 1 << 24
"""More than an adapter may send, so that a frame that is too long is seen and said, and does not just end the wire."""


class Wire(Protocol):
    """One connection, as the host holds it."""

    async def send(self, frame: bytes) -> None:
        """Raises ConnectionError when the adapter is gone."""
        ...

    def frames(self) -> AsyncIterator[bytes]:
        """What the adapter sends, frame by frame, until it is gone."""
        ...

    async def close(self) -> None: ...


class LineWire:
    """Over a pair of byte streams, one object per line."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream

    async def send(self, frame: bytes) -> None:
        self._stream.write(frame + b"\n")

    def frames(self) -> AsyncIterator[bytes]:
        return self._stream.lines()

    async def close(self) -> None:
        self._stream.close()


class SocketWire:
    """Over a WebSocket. What is no text goes out as a binary frame, as a host that is out of its mind would send it."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frame: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            text: str | bytes = frame.decode("utf-8")
        except UnicodeDecodeError:
            text = frame
        try:
            await self._connection.send(text)
        except ConnectionClosed as error:
            raise ConnectionResetError("the adapter closed the WebSocket") from error

    async def frames(self) -> AsyncIterator[bytes]:
        from websockets.exceptions import ConnectionClosedError

        with contextlib.suppress(ConnectionClosedError):  # an end like any other; why is the adapter's to say
            async for frame in self._connection:
                yield frame.encode("utf-8") if isinstance(frame, str) else frame

    async def close(self) -> None:
        await self._connection.close()


async def connect_socket(url: str) -> SocketWire:
    """Raises OSError when nobody listens there, or it is no WebSocket."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidURI

    try:
        connection = await connect(url, max_size=FRAME_BYTES_READ_MAX, compression=None, ping_interval=None, proxy=None)
    except (InvalidHandshake, InvalidURI, TimeoutError) as error:
        raise ConnectionError(f"{url} gave no WebSocket: {error}") from error
    return SocketWire(connection)
