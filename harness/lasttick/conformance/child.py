"""How does a program of others run to its end, and never longer than it may?"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class SuiteFailed(Exception):
    """A program of others did not do its work; the message has what it said last."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Ended:
    """`said` is standard error, empty where it was joined to standard output."""

    code: int
    out: str
    said: str


async def run_to_end(
    command: Sequence[str],
    limit_s: float,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    joined: bool = False,
) -> Ended:
    """Run without input. `joined`: standard error goes to standard output. Raises SuiteFailed, and kills it then."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT if joined else asyncio.subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1", **(environ or {})},
            cwd=folder,
        )
    except OSError as error:
        raise SuiteFailed(
            f"{command[0]} does not start: {error}\n  expected: a Node that runs\n  next: lasttick doctor"
        ) from error
    try:
        out, said = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        raise SuiteFailed(
            f"`{' '.join(command)}` did not end within {limit_s:g} s\n  expected: a few seconds (contract "
            "mcp_conformance, sections 2 and 5)\n  next: run that command by hand"
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    assert process.returncode is not None, "it has ended"
    return Ended(process.returncode, out.decode(errors="replace"), (said or b"").decode(errors="replace"))
