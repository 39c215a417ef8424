"""`lasttick check --only VC-22`: the smoke suite of the vault MCP server, before the vault that the environment names.

The server is `lasttick serve vaultclaw`, or another command. Source: requirements of system VC, VC-22.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence

from lasttick.cli.errors import UsageError
from lasttick.mutants import UnknownMutant, find
from lasttick.targets.vaultclaw.smoke import settings, suite
from lasttick.targets.vaultclaw.smoke.child import child

TAKEN = ("VC_AGENT_TOKEN", "VC_BASE_URL", "VAULT_UNIX_SOCKET", "ACCORDS_MCP_HTTP_ADDR")
"""The suite configures its session by itself, and speaks with the server on standard input and output."""
EXPECTED = "vaultclaw=cmd:COMMAND or vaultclaw=mutant:ID"


def smoke(target: str | None) -> int:
    """Raises UsageError, SmokeRefused, SmokeUnreachable; each carries its exit code."""
    return asyncio.run(_smoke(command_of(target), settings.read(os.environ)))


async def _smoke(command: Sequence[str], asked: settings.Settings) -> int:
    with tempfile.TemporaryDirectory(prefix="lasttick-smoke-") as folder:
        async with child(command, environ(os.environ, folder), asked) as caller:
            outcomes = await suite.run(caller, asked, _say)
    code = suite.exit_code(outcomes)
    print(f"\n{suite.summary(outcomes)}; exit code {code}")
    return code


def command_of(target: str | None) -> list[str]:
    """The server's command line from `--target`. Raises UsageError."""
    own = [sys.executable, "-m", "lasttick", "serve", "vaultclaw"]
    if target is None:
        return own
    system, _, what = target.partition("=")
    kind, _, value = what.partition(":")
    try:
        words = shlex.split(value)
    except ValueError:
        words = []
    if system != "vaultclaw" or kind not in ("cmd", "mutant") or not words:
        raise UsageError(f"--target is {target!r}", EXPECTED, "drop it for the reference")
    if kind == "cmd":
        return words
    try:
        return [*own, "--mutant", find(value).id]
    except UnknownMutant as error:
        raise UsageError(f"--target is {target!r}: {error}", EXPECTED, "name one of these") from None


def environ(given: Mapping[str, str], folder: str) -> dict[str, str]:
    """Of the server: what we have, but the token, and a catalog that is thrown away."""
    kept = {name: value for name, value in given.items() if name not in TAKEN}
    return {**kept, "ACCORDS_MCP_CATALOG_DIR": folder}


def _say(line: str) -> None:
    print(line, flush=True)
