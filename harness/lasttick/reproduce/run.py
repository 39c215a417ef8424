"""One exchange against the adapter with the old defect, then against the fixed one, into an evidence folder.

Virtual time, seeded: the same exchange with the same seed leaves the same evidence. Source: contract lineup C-11.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from lasttick.evidence.files import write_text
from lasttick.evidence.traces import write_trace
from lasttick.mutants import Mutant
from lasttick.mutants import find as find_mutant
from lasttick.reproduce import summary
from lasttick.reproduce.exchanges import Exchange
from lasttick.reproduce.kept import LEDGER
from lasttick.reproduce.stories import play
from lasttick.reproduce.summary import BROKEN, FIXED, Summary
from lasttick.targets.run import ScenarioRun
from lasttick.targets.world import World

SUMS = "SHA256SUMS"


class NotPlayed(Exception):
    """The exchange did not come to its end. The message has three parts."""

    exit_code = 1


def reproduce(exchange: Exchange, folder: Path, *, seed: int) -> Summary:
    """Play both, write everything into `folder`, which is empty. The fixed adapter of an exchange that left a card open
    starts on the broken one's ledger. Raises EvidenceError, NotPlayed."""
    _play(exchange, folder, BROKEN, seed, find_mutant(exchange.mutant), None)
    old = (folder / BROKEN / LEDGER).read_bytes() if exchange.story == "multi" else None
    _play(exchange, folder, FIXED, seed, None, old)
    found = summary.summarize(exchange, folder)
    summary.write(found, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    write_text(folder / SUMS, [f"{_sum(path)}  {path.relative_to(folder).as_posix()}\n" for path in files])
    return found


def _play(
    exchange: Exchange, folder: Path, side: str, seed: int, mutant: Mutant | None, old_ledger: bytes | None
) -> None:
    out = folder / side
    out.mkdir(parents=True)

    async def story(world: World) -> None:
        await play(world, exchange, out, old_ledger)

    name = f"reproduce/{exchange.id}/{side}"
    run = ScenarioRun(story, scenario_id=name, seed=seed, mode="virtual", mutant=mutant)
    try:
        run.example()
    except AssertionError as error:
        raise NotPlayed(
            f"{exchange.id} did not come to its end on the {side} adapter: {error}\n  expected: the exchange as it was "
            f"recorded (contract lineup C-11)\n  next: look at {folder / side}"
        ) from error
    write_trace(folder, name, run.events)


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
