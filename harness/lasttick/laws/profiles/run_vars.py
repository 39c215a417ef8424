"""Vars that a program knows: `vars = { token = { run = ["lab", "token", "alice"] } }`, asked once, before the run.

No shell; what the program prints, without the white space around it, is the value, and a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from typing import Any

from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.profiles.problems import Problem, ProfileError, Source
from lasttick.laws.profiles.profile import Profile

LIMIT_S = 10.0
DEATH_S = 1.0
"""How long a killed program may take to be gone."""
BYTES_MAX = 64 * 1024
BY_HAND = "run it by hand, as it is written there"
EXPECTED = f"a program that prints the value within {LIMIT_S:g} s and ends with exit code 0 (docs/check.md, Templates)"


class _Failed(Exception):
    """Why there is no value; the second argument is what to do next."""


def run_vars(profile: Profile) -> list[tuple[Path, list[str]]]:
    """Where each run var stands, and its argv, in the order of the file: `[vars]` first."""
    tables: list[tuple[Path, dict[str, Any]]] = [(("vars",), profile.vars)]
    tables += [(("callers", name, "vars"), caller.vars) for name, caller in profile.callers.items()]
    return [
        ((*path, name), value["run"])
        for path, table in tables
        for name, value in table.items()
        if isinstance(value, dict) and "run" in value
    ]


async def resolve_run_vars(loaded: Loaded) -> Loaded:
    """The same profile with every run var replaced by its value, which is then among the secrets.

    A secret is named by its place: `vars.token`, `callers.alice.vars.token`. Raises ProfileError.
    """
    profile, source = loaded.profile, Source(loaded.name, loaded.text)
    values: dict[Path, str] = {}
    problems: list[Problem] = []
    for path, argv in run_vars(profile):
        try:
            values[path] = await _ask(argv)
        except _Failed as error:
            what, next_step = error.args
            problems.append(source.problem(path, f"{argv[0]} gave no value: {what}", EXPECTED, next_step))
    if problems:
        raise ProfileError(*problems)
    if not values:
        return loaded
    filled = profile.model_copy(
        update={
            "vars": _with(profile.vars, ("vars",), values),
            "callers": {
                name: caller.model_copy(update={"vars": _with(caller.vars, ("callers", name, "vars"), values)})
                for name, caller in profile.callers.items()
            },
        }
    )
    secrets = {".".join(map(str, path)): value for path, value in values.items()}
    return Loaded(filled, loaded.name, loaded.text, {**loaded.secrets, **secrets})


def _with(table: dict[str, Any], path: Path, values: dict[Path, str]) -> dict[str, Any]:
    return {name: values.get((*path, name), value) for name, value in table.items()}


async def _ask(argv: Sequence[str]) -> str:
    """What the program prints. Its own process group ends with it, or with the limit. Raises _Failed."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _Failed(f"it cannot be started ({reason})", "install it, or correct the path in run") from error
    try:
        async with asyncio.timeout(LIMIT_S):
            out, err = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            code = await process.wait()
    except TimeoutError:
        await _kill(process)
        raise _Failed(f"it did not end within {LIMIT_S:g} s", BY_HAND) from None
    except asyncio.CancelledError:
        await _kill(process)
        raise
    if code != 0:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or ["nothing on standard error"]
        raise _Failed(f"exit code {code}, {last[0].strip()[:200]}", BY_HAND)
    return _value(out)


async def _kill(process: asyncio.subprocess.Process) -> None:
    """The program and whatever it started, which may hold its output open; reading to the end closes the pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.communicate(), DEATH_S)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    """To the end; of more than BYTES_MAX the last bytes, one too many, so that the reader knows."""
    assert stream is not None
    kept = b""
    while chunk := await stream.read(BYTES_MAX):
        kept = (kept + chunk)[-BYTES_MAX - 1 :]
    return kept


def _value(out: bytes) -> str:
    if len(out) > BYTES_MAX:
        raise _Failed(f"it printed more than {BYTES_MAX} bytes", BY_HAND)
    try:
        value = out.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise _Failed("what it printed is not UTF-8", BY_HAND) from error
    if not value:
        raise _Failed("it printed nothing", BY_HAND)
    return value
