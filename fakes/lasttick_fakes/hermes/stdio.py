"""How does the agent speak MCP with a child? JSON lines, ids from 0, handshake of 2025-11-25, one reader.

The bytes are those of the recorded frames (order of the members included). Lines that are no JSON are passed over;
requests of the server are answered (`ping` with nothing, others with an error); notifications are ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any

from lasttick.ports import LineStream
from lasttick_fakes.hermes.sessions import INITIALIZE, ConnectionClosed, RpcError


class StdioSession:
    """One connection. Needs a running loop; `close` ends it."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._closed = False
        self._reader = asyncio.create_task(self._read(), name="hermes reads a server")

    async def preflight(self) -> None:
        """Nothing to look at before a child is spoken to."""

    async def initialize(self) -> Mapping[str, Any]:
        """The handshake; the server's side of it. Raises RpcError."""
        answer = await self.request("initialize", INITIALIZE)
        self._send({"method": "notifications/initialized", "jsonrpc": "2.0"})
        return answer

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The result. Raises RpcError. A caller that stops waiting says nothing to the server (section 3.5)."""
        if self._closed:
            raise ConnectionClosed
        number, self._next_id = self._next_id, self._next_id + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"method": method, **({} if params is None else {"params": params}), "jsonrpc": "2.0", "id": number}
        try:
            self._send(message)
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End of file for the server; what it still says is not heard."""
        self._reader.cancel()
        await asyncio.wait([self._reader])
        self._stream.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
            self._stream.write(text.encode("utf-8", "replace") + b"\n")
        except (OSError, RuntimeError) as error:
            raise ConnectionClosed from error

    async def _read(self) -> None:
        try:
            async for line in self._stream.lines():
                with contextlib.suppress(ValueError, RecursionError):
                    self._hear(json.loads(line))
        finally:
            self._closed = True
            for answer in list(self._waiting.values()):
                if not answer.done():
                    answer.set_exception(ConnectionClosed())

    def _hear(self, message: Any) -> None:
        if not isinstance(message, Mapping):
            return
        if "method" in message:
            if "id" in message:
                self._answer(message)
            return
        number = message.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error, result = message.get("error"), message.get("result")
        if isinstance(error, Mapping):
            answer.set_exception(RpcError(str(error.get("message", ""))))
        elif isinstance(result, Mapping):
            answer.set_result(result)
        else:
            answer.set_exception(RpcError("the answer has neither result nor error"))

    def _answer(self, request: Mapping[str, Any]) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        with contextlib.suppress(ConnectionClosed):
            self._send(answer)
