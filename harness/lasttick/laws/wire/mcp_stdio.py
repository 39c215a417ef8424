"""Kind `tool` of a command: MCP as lines of JSON-RPC on its standard input and output, in both eras.

One process is one session. Source: contract laws, "Binding"; MCP 2025-11-25, "Transports", stdio.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from lasttick.laws.reply import Reply, lost
from lasttick.laws.wire.answers import BODY_MAX, TooLarge
from lasttick.laws.wire.child import GRACE_S, Child, environment, start
from lasttick.laws.wire.http import json_bytes
from lasttick.laws.wire.message import Message
from lasttick.laws.wire.place import Place
from lasttick.laws.wire.rpc import all_tools, call_params, rpc_reply
from lasttick_fakes.client.mcp import VERSIONS
from lasttick_fakes.client.reply import json_rpc

END_S = 2.0
"""How long a process may take to end after its input was closed, and again after SIGTERM."""
_META = "io.modelcontextprotocol/"


class McpStdio:
    """One process, started by `open`."""

    needs_open = True

    def __init__(self, place: Place, env: Mapping[str, str], name: str) -> None:
        assert place.command is not None
        self._argv = place.command
        self._env = environment(place.env, env)
        self._era = place.era
        self._info = {"name": name, "version": "1"}
        self._child: Child | None = None
        self._watch: asyncio.Task[None] | None = None
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._gone: str | None = None
        """Why the process can answer nothing any more."""

    async def open(self) -> Reply:
        """Start the process, then initialize and notifications/initialized, or server/discover. Raises WireError."""
        if self._child is None:
            lines = _Lines(self._heard)
            self._child = await start(self._argv, self._env, lines.feed)
            self._watch = asyncio.create_task(self._watching(self._child), name="end of an MCP process")
        if self._era == "modern":
            return await self._request("server/discover", {})
        hello = {"protocolVersion": VERSIONS["handshake"], "capabilities": {}, "clientInfo": self._info}
        reply = await self._request("initialize", hello)
        if reply.ok:
            self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply

    async def list_tools(self) -> Reply:
        return await all_tools(lambda cursor: self._request("tools/list", {} if cursor is None else {"cursor": cursor}))

    async def call(self, message: Message) -> Reply:
        return await self._request("tools/call", call_params(message))

    async def end(self) -> Reply:
        """Close its input and wait; then SIGTERM, then SIGKILL. The body tells the exit code."""
        child = self._child
        if child is None:
            return Reply(True, raw="no process was started: there is nothing to end")
        self._gone = self._gone or "its input was closed"
        child.close_stdin()
        if not await child.ended(END_S):
            child.terminate()
            await child.ended(END_S)
        await self.kill()
        code = child.exited.result()
        return Reply(True, body={"exit_code": code}, raw=f"exit {code}")

    async def kill(self) -> None:
        """Without a word. Calls in flight are lost."""
        if self._child is not None:
            self._gone = self._gone or "it was killed by this side"
            await self._child.finish()
            assert self._watch is not None
            await asyncio.wait([self._watch])

    async def _request(self, method: str, params: dict[str, Any]) -> Reply:
        if self._gone is not None:
            return lost(f"the process can not answer: {self._gone}")
        if self._era == "modern":
            envelope = {"protocolVersion": VERSIONS["modern"], "clientInfo": self._info, "clientCapabilities": {}}
            stamped = {_META + name: value for name, value in envelope.items()}
            params = {**params, "_meta": {**stamped, **params.get("_meta", {})}}
        number = next(self._ids)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        self._waiting[number] = answer
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def _write(self, message: dict[str, Any]) -> None:
        assert self._child is not None
        self._child.write(json_bytes(message) + b"\n")

    def _heard(self, line: bytes | None) -> None:
        """One line of its output; None for one that is too long, whose id nobody knows."""
        if line is None:
            self._answer_all(Reply(False, error={"message": str(TooLarge())}, raw=str(TooLarge())))
            return
        for message in json_rpc(line):
            number = message.get("id")
            if "method" in message:
                continue  # a notification, or a request of the server, which this client does not serve
            if number is None and len(self._waiting) == 1:
                number = next(iter(self._waiting))  # what it could not read was the only question there is
            if type(number) is int and number in self._waiting and not self._waiting[number].done():
                self._waiting[number].set_result(rpc_reply(message, number, line))

    def _answer_all(self, reply: Reply) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(reply)

    async def _watching(self, child: Child) -> None:
        """When the process has ended, or says nothing more: whoever waits has lost."""
        await asyncio.wait([child.exited, child.silent], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([child.exited, child.silent], timeout=GRACE_S)
        how = f"it ended with exit code {child.exited.result()}" if child.exited.done() else "it closed its output"
        said = child.last_lines()
        self._gone = self._gone or (f"{how}; its standard error: {' | '.join(said)}" if said else how)
        self._answer_all(lost(f"the process can not answer: {self._gone}"))


class _Lines:
    """Lines from pieces cut anywhere. A line over BODY_MAX is told as None, once."""

    def __init__(self, line: Callable[[bytes | None], None]) -> None:
        self._line = line
        self._rest = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> None:
        *ends, rest = data.split(b"\n")
        for end in ends:
            line, self._rest = bytes(self._rest) + end, bytearray()
            if not self._dropping:
                self._line(line)
            self._dropping = False
        if not self._dropping:
            self._rest += rest
            if len(self._rest) > BODY_MAX:
                self._rest.clear()
                self._dropping = True
                self._line(None)
