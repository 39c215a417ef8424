"""`python -m lasttick_fakes.hermes chat -Q -t humanwork -q PROMPT`: the fake as a program, with real children.

`HERMES_FAKE_VERSION` (0.17.0 or 0.19.0) chooses whose habits it has. Its home gets `logs/mcp-stderr.log`, as the real
program's does.
"""

from __future__ import annotations

import asyncio
import os
import sys

from lasttick.ports import Finished
from lasttick_fakes.hermes.children import Children, real_shell
from lasttick_fakes.hermes.config import home_of
from lasttick_fakes.hermes.program import run_hermes
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, HABITS

VERSION_VARIABLE = "HERMES_FAKE_VERSION"


async def _run(argv: list[str], env: dict[str, str]) -> Finished:
    version = env.get(VERSION_VARIABLE) or DEFAULT_VERSION
    if version not in HABITS:
        return Finished(
            2, "", f"{VERSION_VARIABLE}={version!r}; expected one of {', '.join(HABITS)}; set one of these\n"
        )
    children = Children(home_of(env) / "logs" / "mcp-stderr.log")
    try:
        return await run_hermes(argv, env, children=children, transport=None, version=version, shell=real_shell)
    finally:
        await children.close()


def main() -> int:
    finished = asyncio.run(_run(["hermes", *sys.argv[1:]], dict(os.environ)))
    sys.stdout.buffer.write(finished.stdout.encode("utf-8", "replace"))
    sys.stderr.buffer.write(finished.stderr.encode("utf-8", "replace"))
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main())
