"""`python -m lasttick_fakes.hermes chat -Q -t humanwork -q PROMPT`, or `acp`: the fake as a program.

`HERMES_FAKE_VERSION` (0.17.0 or 0.19.0) chooses whose habits it has. Its servers are real children. Its home gets
`logs/mcp-stderr.log`, as the real program's does.
"""

from __future__ import annotations

import asyncio
import os
import sys

from lasttick.ports import Finished
from lasttick_fakes.hermes.acp import process
from lasttick_fakes.hermes.children import Children, real_shell
from lasttick_fakes.hermes.config import home_of
from lasttick_fakes.hermes.program import run_hermes
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, HABITS

VERSION_VARIABLE = "HERMES_FAKE_VERSION"


async def _run(argv: list[str], env: dict[str, str], version: str) -> Finished:
    children = Children(home_of(env) / "logs" / "mcp-stderr.log")
    try:
        return await run_hermes(argv, env, children=children, transport=None, version=version, shell=real_shell)
    finally:
        await children.close()


def main() -> int:
    argv, env = sys.argv[1:], dict(os.environ)
    version = env.get(VERSION_VARIABLE) or DEFAULT_VERSION
    if version not in HABITS:
        known = ", ".join(HABITS)
        sys.stderr.write(f"{VERSION_VARIABLE}={version!r}; expected one of {known}; set one of these\n")
        return 2
    if argv[:1] == ["acp"]:
        return process.run(argv, env, version)
    finished = asyncio.run(_run(["hermes", *argv], env, version))
    sys.stdout.buffer.write(finished.stdout.encode("utf-8", "replace"))
    sys.stderr.buffer.write(finished.stderr.encode("utf-8", "replace"))
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main())
