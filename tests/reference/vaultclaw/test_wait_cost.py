"""What does a long wait cost in virtual time? A few turns of the loop for each poll, and nothing between polls.

The issue asks for a ten-minute wait in under 50 ms. A number of turns is the same on every machine; what a turn takes
is measured by the bench. Source: contract vaultclaw 14; VC-12.
"""

from __future__ import annotations

import asyncio

import pytest

from lasttick.engine.loop import VirtualLoop
from lasttick.reference.vaultclaw.tools import approvals, sessions

from .core_rig import Rig, with_rig

TURNS_PER_POLL = 2
TURNS_AROUND = 20
"""Of the session, the call's start and its answer."""


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The instant of each turn of the loop, as they come."""
    seen: list[float] = []
    count_turn = VirtualLoop.count_turn

    def counted(self: VirtualLoop) -> None:
        seen.append(self.time())
        count_turn(self)

    monkeypatch.setattr(VirtualLoop, "count_turn", counted)
    return seen


@pytest.mark.parametrize(("interval_ms", "polls"), [(0, 401), (10_000, 61)])
def test_a_ten_minute_wait_turns_a_few_times_a_poll(turns: list[float], interval_ms: int, polls: int) -> None:
    async def body(rig: Rig) -> tuple[int, float]:
        await rig.configure()
        handle = {"kind": "JOB", "job_id": "j1"}
        answer = await rig.call("approval_wait", {"handle": handle, "poll_interval_ms": interval_ms})
        assert answer["error"]["code"] == "MCP_WAIT_TIMEOUT"
        return len(rig.vault.asked), asyncio.get_running_loop().time()

    tools = (*sessions.TOOLS, *approvals.TOOLS)
    asked, end_s = with_rig(body, lambda request: {"job": {"job_id": "j1", "status": "RUNNING"}}, tools=tools)
    assert (asked, end_s) == (polls, 600.0)
    assert polls <= len(turns) <= TURNS_PER_POLL * polls + TURNS_AROUND
    interval_s = 600 / (polls - 1)
    assert {round(t_s % interval_s, 6) for t_s in turns} <= {0.0, round(interval_s, 6)}
