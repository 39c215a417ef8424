"""The memory rung: an MCP server and a client in one process, with real line-JSON bytes between them, in both eras.

The SDK's own stdio transport does the framing on the server's side; only its files are byte pipes. There are no headers
here, hence no session id: a server that needs a holder is given a resolver. Source: contract engine, "Transports".
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.server.stdio import stdio_server

from lasttick.engine.pipes import PipeEnd, pipe_pair

META = "io.modelcontextprotocol/"
VERSIONS = {"handshake": "2025-11-25", "modern": "2026-07-28"}


class _PipeFile:
    """One end of a pipe as the text file that the SDK reads lines from and writes lines to."""

    def __init__(self, end: PipeEnd) -> None:
        self._end = end

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._end.lines():
            yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._end.write(text.encode())

    async def flush(self) -> None:
        """Pipes keep nothing back."""


class PipeClient:
    """A raw JSON-RPC client on one end. `era`: handshake (initialize first) or modern (an envelope in each request)."""

    def __init__(self, end: PipeEnd, era: str) -> None:
        self._end = end
        self._era = era
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    async def open(self) -> dict[str, Any]:
        """initialize and notifications/initialized; the modern era only asks server/discover."""
        if self._era == "modern":
            return await self.request("server/discover", {})
        hello = {"protocolVersion": VERSIONS["handshake"], "capabilities": {}, "clientInfo": _INFO}
        answer = await self.request("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The whole answer, result or error."""
        self._next_id += 1
        if self._era == "modern":
            envelope = {"protocolVersion": VERSIONS["modern"], "clientInfo": _INFO, "clientCapabilities": {}}
            params = {**params, "_meta": {META + name: value for name, value in envelope.items()}}
        answer = self._waiting[self._next_id] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return await answer

    def send(self, message: dict[str, Any]) -> None:
        self._end.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def close(self) -> None:
        """End of file for the server."""
        self._end.close()
        self.drop()
        await asyncio.gather(self._reader, return_exceptions=True)

    def drop(self) -> None:
        """Hear nothing any more: whoever waits for an answer is told so at once."""
        self._reader.cancel()
        self._lose()

    async def _read(self) -> None:
        async for line in self._end.lines():
            message = json.loads(line)
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        self._lose()

    def _lose(self) -> None:
        """No answer will come any more."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the pipe was closed before the answer came"))
                waiting.exception()  # whoever asked may be gone as well
        self._waiting.clear()


_INFO = {"name": "pipe-client", "version": "1"}


async def serve_session(server: Server[Any], end: PipeEnd, session_id: str) -> None:
    """Serve one connection as the session of that id, as Streamable HTTP does; until the client's end of file."""
    file: Any = _PipeFile(end)
    async with server.lifespan(server) as state, stdio_server(file, file) as (read, write):
        options = server.create_initialization_options()
        await serve_dual_era_loop(
            server, read, write, lifespan_state=state, session_id=session_id, init_options=options
        )


@contextlib.asynccontextmanager
async def piped(server: Server[Any], era: str = "handshake") -> AsyncIterator[PipeClient]:
    """A client that is connected to `server`; the server runs until the client's end of file."""
    ours, theirs = pipe_pair()
    file: Any = _PipeFile(theirs)

    async def serve() -> None:
        async with stdio_server(file, file) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    serving = asyncio.create_task(serve())
    client = PipeClient(ours, era)
    try:
        await client.open()
        yield client
    finally:
        await client.close()
        await serving
