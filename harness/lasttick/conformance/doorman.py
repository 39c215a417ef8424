"""How does a client without a token get through the door? This stands before it and adds the header to each request.

The official suite can send no header of its own. Everything else passes as it came, byte for byte, so that header
checks still test the server; only this doorman's own address in Host and Origin becomes the server's, which would
otherwise refuse it. One request per connection. Source: contract mcp_conformance, section 2, way 1.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

HEAD_MAX = 64 * 1024
CHUNK = 64 * 1024


@contextlib.asynccontextmanager
async def doorman(url: str, token: str) -> AsyncIterator[str]:
    """The address at which the endpoint `url` is open, until left."""
    there = urlsplit(url)
    host, port = there.hostname or "127.0.0.1", there.port or 80
    own = 0
    handling: dict[asyncio.Task[None], None] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handling[task] = None
        try:
            await _pass_on(reader, writer, host, port, own, token)
        finally:
            del handling[task]

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_MAX)
    own = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{own}{there.path}"
    finally:
        server.close()
        for task in list(handling):
            task.cancel()
        await asyncio.gather(*list(handling), return_exceptions=True)


def let_in(head: bytes, own: int, port: int, token: str) -> bytes:
    """The head of a request with the token; `own` is this port, `port` the server's."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = []
    for line in lines:
        name = line.partition(b":")[0].strip().lower()
        if name in (b"host", b"origin"):
            line = _at(line, own, port)
        if name not in (b"connection", b"authorization"):
            kept.append(line)
    added = [b"Authorization: Bearer " + token.encode("ascii"), b"Connection: close"]
    return b"\r\n".join([first, *kept, *added]) + b"\r\n\r\n"


def _at(line: bytes, own: int, port: int) -> bytes:
    """Our address becomes the server's; a foreign one stays foreign."""
    for name in (b"127.0.0.1", b"localhost", b"[::1]"):
        ours = b"%b:%d" % (name, own)
        if line.rstrip().endswith(ours):
            return line.replace(ours, b"%b:%d" % (name, port))
    return line


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, own: int, token: str
) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = await reader.readuntil(b"\r\n\r\n")
        back, forth = await asyncio.open_connection(host, port)
        try:
            forth.write(let_in(head, own, port, token))
            pumps = [asyncio.ensure_future(_pump(reader, forth)), asyncio.ensure_future(_pump(back, writer))]
            try:
                # Either side has ended: the answer is whole, or the client has left.
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            forth.close()
    writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
