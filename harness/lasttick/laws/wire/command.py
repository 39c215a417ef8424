"""Kind `run`: a command, its standard output the body. Source: contract laws, "Binding"."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from lasttick.laws.reply import Reply
from lasttick.laws.wire.answers import BODY_MAX, TooLarge, lines_of, shortened, text_of, value_of
from lasttick.laws.wire.child import GRACE_S, environment, start
from lasttick.laws.wire.message import Message


async def run(message: Message, *env: Mapping[str, str]) -> Reply:
    """Run to its end. Cancelled (so on a time-out), it kills the whole process group. Raises WireError.

    What the command leaves running in the background lives on: it may have restarted the target.
    """
    output = bytearray()
    full: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def heard(data: bytes) -> None:
        output.extend(data)
        if len(output) > BODY_MAX and not full.done():
            full.set_result(None)

    child = await start(message.argv, environment(*env, message.env), heard, stdin=message.stdin is not None)
    try:
        if message.stdin is not None:
            child.write(message.stdin.encode("utf-8", "replace"))
            child.close_stdin()
        await asyncio.wait([child.exited, full], return_when=asyncio.FIRST_COMPLETED)
        if not full.done():
            await asyncio.wait([child.silent, full], timeout=GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if full.done():
            return Reply(False, error={"message": str(TooLarge())}, raw=str(TooLarge()))
        return _reply(child.exited.result(), bytes(output), child.last_lines())
    finally:
        await child.finish()


def _reply(code: int, output: bytes, stderr: list[str]) -> Reply:
    text = text_of(output)
    # One line break at the end is the shell's habit, and no part of a value.
    body = value_of(text.removesuffix("\n").removesuffix("\r"))
    error = None
    raw = f"exit {code} {shortened(text)}"
    if code != 0:
        error = {"message": stderr[-1] if stderr else f"exit code {code}", "body": {"exit_code": code}}
        raw += "".join(f"\nstderr: {line}" for line in stderr)
    return Reply(code == 0, body=body, error=error, lines=lines_of(text), raw=raw)
