"""Servers for the tests of the wires: real loopback sockets that answer with any bytes, and small MCP parts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from lasttick.laws.reply import Reply
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message
from lasttick.laws.wire.place import Place

Answer = Callable[[asyncio.StreamWriter, int], Awaitable[None]]
"""Writes to the connection; the second argument is the number of the request, from 1."""


@dataclass
class Hostile:
    url: str
    requests: list[bytes] = field(default_factory=list)
    """Head and body of each."""
    connections: int = 0
    """How many there were, and how many the client still holds."""
    open: int = 0


@asynccontextmanager
async def hostile(answer: Answer) -> AsyncIterator[Hostile]:
    """A socket server: after each whole request `answer` writes what it likes; the connection stays open until it
    closes it."""
    tasks: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        server.connections += 1
        server.open += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                body = await reader.readexactly(int(length[0].split(b":")[1])) if length else b""
                server.requests.append(head + body)
                await answer(writer, len(server.requests))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            server.open -= 1
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    server = Hostile(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp")
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def says(data: bytes, *, then: str = "close") -> Answer:
    """Writes `data`, then closes the connection, or leaves it open (`then="hang"`)."""

    async def answer(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(data)
        if then == "close":
            await writer.drain()
            writer.close()

    return answer


def http(
    body: bytes, *, status: str = "200 OK", kind: str = "application/json", length: int | None = None, extra: str = ""
) -> bytes:
    """One HTTP answer. `length`: what its Content-Length says, the true one if left out."""
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n{extra}\r\n"
    return head.encode() + body


def chunked(*chunks: bytes, whole: bool = True, kind: str = "text/event-stream") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + (b"0\r\n\r\n" if whole else b"")


def rpc(result: Any, *, id: Any = 1, **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result, **more}).encode()


def sent(kind: str, **more: Any) -> Message:
    """One message of each HTTP-borne kind, to be sent to any server."""
    what = {"http": "POST /leases", "tool": "tap"}[kind]
    given: dict[str, Any] = {"timeout_s": 5.0, **({"json": {"a": 1}} if kind == "http" else {"args": {"a": 1}})}
    return Message(kind, what, **{**given, **more})  # type: ignore[arg-type]


async def reply_of(kind: str, answer: Answer, **more: Any) -> tuple[Reply, Hostile]:
    """Send one message of `kind` to a server that gives `answer`. The modern era: a call is one request."""
    async with hostile(answer) as server:
        wire = CallerWire(Place(server.url, era="modern"), headers={"Authorization": "Bearer alice"}, name="alice")
        try:
            return await wire.send(sent(kind, **more)), server
        finally:
            await wire.close()
