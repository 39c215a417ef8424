"""The server of a smoke run: a child process on standard input and output, and the one who calls its tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from lasttick.targets.vaultclaw.answer import ToolAnswer, tool_answer
from lasttick.targets.vaultclaw.client import PREFIX, StdioConnection
from lasttick.targets.vaultclaw.smoke.settings import Settings, SmokeUnreachable

LINE_BYTES_MAX = 2**26
ANSWER_S = 60.0
"""How long any call may take; a wait has its own time besides."""
STOP_S = 10.0


class ChildStdio:
    """See `Stdio`: the two pipes of a child."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self.reader = process.stdout

    def write(self, data: bytes) -> None:
        self._input.write(data)

    def close(self) -> None:
        self._input.close()


class ChildCaller:
    """See `Caller`. Raises SmokeUnreachable when the child is gone or silent."""

    def __init__(self, stdio: ChildStdio, settings: Settings, command: str) -> None:
        self._connection = StdioConnection(stdio)
        self._limit_s = ANSWER_S + settings.wait_timeout_ms / 1000
        self._command = command
        self._ids = 0

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /) -> ToolAnswer:
        self._ids += 1
        params = {"name": PREFIX + tool, "arguments": dict(arguments or {})}
        message = {"jsonrpc": "2.0", "id": self._ids, "method": "tools/call", "params": params}
        try:
            async with asyncio.timeout(self._limit_s if tool == "approval_wait" else ANSWER_S):
                line = await self._connection.exchange(json.dumps(message).encode(), answered=True)
            answer = json.loads(line or b"")
        except (AssertionError, OSError, TimeoutError, ValueError) as error:
            raise SmokeUnreachable(
                f"{self._command} did not answer {tool}: {str(error) or type(error).__name__}",
                "a vault MCP server that speaks on its standard input and output, and says there nothing else",
                "see above what it said on standard error; start it by hand to see more",
            ) from None
        return tool_answer(answer if isinstance(answer, dict) else None)


@contextlib.asynccontextmanager
async def child(command: Sequence[str], environ: Mapping[str, str], settings: Settings) -> AsyncIterator[ChildCaller]:
    """Run the command while this lasts; what it says on standard error goes to ours. Raises SmokeUnreachable."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=dict(environ),
            limit=LINE_BYTES_MAX,
        )
    except OSError as error:
        raise SmokeUnreachable(
            f"{command[0]} cannot be started: {error.strerror or error}",
            "the command of a vault MCP server",
            "correct --target, or drop it for the reference",
        ) from error
    stdio = ChildStdio(process)
    try:
        yield ChildCaller(stdio, settings, command[0])
    finally:
        stdio.close()
        try:
            async with asyncio.timeout(STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
