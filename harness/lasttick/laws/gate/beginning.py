"""What comes before and after the laws of one profile: no other run beside it, the target answers, what an earlier run
has left on it is ended, and so is what this run leaves.

Source: contract laws, "Subjects", "Real time".
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.errors import GateError
from lasttick.laws.gate.journal import FOLDER, JournalFile, journal_file, read_journal, write_journal
from lasttick.laws.gate.leftovers import Left, end_leftovers
from lasttick.laws.gate.preflight import Seen, look, refuse_tolerance
from lasttick.laws.profiles.load import Loaded, resolve_run_vars

RUN_CHARS = 4


@dataclass(slots=True)
class Beginning:
    """`ended`: how many leftovers of earlier runs were ended; `left`: those that could not be. Hold it while laws
    are played, then `finish` it."""

    loaded: Loaded
    config: Path
    seen: Seen
    lock: FileLock
    ended: int = 0
    left: list[Left] = field(default_factory=list)

    def finish(self) -> list[Left]:
        """End whatever is still open, also of workers that died. Returns what could not be ended."""
        try:
            return asyncio.run(_clean(self.loaded, self.config))[1]
        finally:
            self.lock.release()


def begin(loaded: Loaded, config: Path) -> Beginning:
    """Raises GateError (exit code 2), Unreachable (3), ProfileError."""
    lock = _only_one(config)
    try:
        return asyncio.run(_begin(loaded, config, lock))
    except BaseException:
        lock.release()
        raise


async def deploy(loaded: Loaded, config: Path) -> Deployment:
    """The target, with a journal on disk. Raises ProfileError when a run var has no value."""
    loaded = await resolve_run_vars(loaded)
    deployment = _deployment(loaded)
    deployment.lock_dir = config.parent / FOLDER / f"{config.stem}.locks"
    deployment.journal = JournalFile(journal_file(config), deployment.run, loaded.place, deployment.redact)
    return deployment


async def end_all(deployment: Deployment) -> list[Left]:
    """End what this deployment has opened and not ended. Returns what could not be."""
    journal = deployment.journal
    assert isinstance(journal, JournalFile)
    left = await end_leftovers(deployment, entries := journal.left())
    kept = [one.entry for one in left]
    for entry in entries:
        if entry not in kept:
            journal.closed(entry.number)
    journal.close()
    return left


async def measure(loaded: Loaded, config: Path) -> Seen:
    """Only look. Raises GateError, Unreachable."""
    deployment = await deploy(loaded, config)
    try:
        seen = await look(deployment, loaded)
    finally:
        await end_all(deployment)
    refuse_tolerance(loaded, seen)
    return seen


async def _begin(loaded: Loaded, config: Path, lock: FileLock) -> Beginning:
    loaded = await resolve_run_vars(loaded)
    seen = await measure(loaded, config)
    ended, left = await _clean(loaded, config)
    return Beginning(loaded, config, seen, lock, ended, left)


async def _clean(loaded: Loaded, config: Path) -> tuple[int, list[Left]]:
    """End what earlier runs left on this target; what they left elsewhere stays written down."""
    path = journal_file(config)
    entries = read_journal(path)
    # What was left at one address is not sent to another.
    here = [entry for entry in entries if entry.target == loaded.place]
    left = await end_leftovers(_deployment(loaded), here)
    again = [one.entry for one in left]
    write_journal(path, [entry for entry in entries if entry not in here or entry in again])
    return len(here) - len(left), left


def _deployment(loaded: Loaded) -> Deployment:
    return Deployment(loaded.profile, run=_short_word(), secrets=loaded.secrets, locate=loaded.where)


def _only_one(config: Path) -> FileLock:
    folder = config.parent / FOLDER
    lock = FileLock(folder / f"{config.stem}.lock", thread_local=False)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise GateError(
            f"a check with {config.name} is running already",
            "one at a time: each ends what it finds in the journal",
            "wait for it, or give this one a profile of another name",
        ) from error
    return lock


def _short_word() -> str:
    """Tells the marks of this run from those of any other; chance of the real world on purpose."""
    from lasttick.engine.clock import SystemEntropy

    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    return "".join(letters[byte % len(letters)] for byte in SystemEntropy().token_bytes(RUN_CHARS))
