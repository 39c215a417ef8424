"""Does an adapter start, serve, and end as whole: agent stopped, ledger closed?"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.config import LineupConfig
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.ledger import LedgerLost
from lasttick.reference.lineup.program import run

from .adapter_rig import Rig


class Door:
    """A host that says one thing and goes away after `stays_s`."""

    def __init__(self, rig: Rig, stays_s: float) -> None:
        self.rig = rig
        self.stays_s = stays_s
        self.was_cancelled = False

    async def serve(self, adapter: Adapter) -> None:
        self.rig.adapter = adapter
        adapter.attach(self.rig.host)
        self.rig.send("lineup.v1.message", {"message_id": "m", "text": "one"})
        try:
            await asyncio.sleep(self.stays_s)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        adapter.host_gone()


def config(rig: Rig, tmp_path: Path) -> LineupConfig:
    return LineupConfig(("hermes", "acp"), rig.path, tmp_path)


def test_it_ends_with_its_host(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        begun: list[Adapter] = []
        await run(config(rig, tmp_path), rig.clock, rig.chance, rig._agent, Door(rig, 5.0), ready=begun.append)
        assert loop.time() == 5.0
        assert begun == [rig.adapter]
        assert rig.agent.has_stopped
        assert [texts[-1] for _, texts in rig.agent.prompts] == ["one"]
        assert loop.unseen_failures() == []

    run_virtual(main)


def test_it_ends_when_another_took_its_ledger(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        door = Door(rig, 1_000.0)
        running = asyncio.create_task(run(config(rig, tmp_path), rig.clock, rig.chance, rig._agent, door))
        await loop.settle()
        first, agent = rig.adapter, rig.agent
        await rig.start()
        with pytest.raises(LedgerLost):
            first.frame(b"[]", rig.clock.now_ns())
        await running
        assert door.was_cancelled
        assert agent.has_stopped
        await rig.adapter.stop()

    run_virtual(main)


def test_it_says_why_it_cannot_start(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        rig.path.write_text("not a database, but long enough to be taken for one by nobody at all")
        with pytest.raises(StartError, match=r"the ledger .* cannot be used: .*; expected .*; name another file"):
            await run(config(rig, tmp_path), rig.clock, rig.chance, rig._agent, Door(rig, 5.0))
        assert rig.agents == []

    run_virtual(main)
