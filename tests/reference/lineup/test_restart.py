"""Killed at every commit and every frame: is nothing repeated, and nothing doubtful left untold? C-8; LU-10, LU-15."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lineup import instructions
from lasttick.model.lineup.states import LEGAL
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.ledger import Ledger, LedgerLost
from lasttick.reference.lineup.restart import CARD_CLOSED

from .adapter_rig import Crash, Rig, block

Story = Callable[[Rig], Coroutine[Any, Any, None]]


class Steps:
    """Counts the instants of a run; dies at the one with this number (from 1; 0: never)."""

    def __init__(self, dies_at: int = 0) -> None:
        self.dies_at = dies_at
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self.dies_at:
            raise Crash(name)


class Run:
    """A story up to the instant at which its adapter was killed, then a new adapter on the same file."""

    def __init__(self, tmp_path: Path, story: Story, dies_at: int, after: Story | None = None) -> None:
        self.steps = Steps(dies_at)
        self.before_frames: list[dict[str, Any]] = []

        async def main(loop: VirtualLoop) -> None:
            path = tmp_path / f"ledger-{dies_at}.sqlite"
            self.rig = rig = Rig(loop, path)
            try:
                await rig.start(self.steps)
                await story(rig)
            except Crash:
                pass
            await loop.settle()
            self.is_dead = len(self.steps.names) >= dies_at > 0
            if self.is_dead:
                assert len(self.steps.names) == dies_at, "nothing happens after death"
            self.before = rig.host
            self.old_agents = len(rig.agents)
            self.answers = [answer for agent in rig.agents for answer in agent.answers]
            await rig.adapter.stop()
            await rig.start()
            if after is not None:
                await after(rig)
            self.after = rig.host
            await rig.adapter.stop()
            await loop.settle()
            failures = loop.unseen_failures()
            assert all(isinstance(failure, Crash) for failure in failures), failures

        run_virtual(main)

    @property
    def texts(self) -> list[str]:
        """All system messages that the person saw, before and after."""
        return [*self.before.texts("system"), *self.after.texts("system")]

    @property
    def prompted(self) -> list[str]:
        """Results that any agent got as a prompt."""
        all_texts = [texts[-1] for agent in self.rig.agents for _, texts in agent.prompts]
        return [text for text in all_texts if "lineup.v1.tool.result" in text and text.startswith("{")]


async def permission_story(rig: Rig) -> None:
    await rig.say("write a file")
    if not rig.agents or not rig.agent.is_prompted:
        return
    rig.agent.ask(0)
    await rig.loop.settle()
    if rig.host.cards:
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "action_01"})
    if rig.agent.is_prompted:
        rig.agent.replies("done")
        await rig.loop.settle()


async def model_story(rig: Rig) -> None:
    await rig.say("ask me")
    if not rig.agents or not rig.agent.is_prompted:
        return
    rig.agent.replies(f"Choose:\n{block()}")
    await rig.loop.settle()
    if not rig.host.cards:
        return
    await rig.result("call_model_1", {"action_id": "focus"})
    if rig.agent.is_prompted:
        rig.agent.replies("thank you")
        await rig.loop.settle()


async def same_again(rig: Rig) -> None:
    """The host sends the same results again, and an agent gets to answer whatever it was asked."""
    for (call_id,) in rig.rows("SELECT call_id FROM tool_calls"):
        action = "focus" if call_id == "call_model_1" else "action_01"
        await rig.result(call_id, {"action_id": action})
    if rig.agents and rig.agent.is_prompted:
        rig.agent.replies("thank you")
        await rig.loop.settle()


def points(tmp_path: Path, story: Story) -> list[str]:
    """The instants of a whole run, in order."""
    folder = tmp_path / "whole"
    folder.mkdir()
    steps = Steps()

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, folder / "ledger.sqlite")
        await rig.start(steps)
        await story(rig)
        await rig.adapter.stop()
        assert loop.unseen_failures() == []

    run_virtual(main)
    return steps.names


@pytest.mark.parametrize("story", [permission_story, model_story])
def test_killed_anywhere_nothing_is_repeated_and_every_doubt_is_told(tmp_path: Path, story: Story) -> None:
    names = points(tmp_path, story)
    print(f"{story.__name__}: {len(names)} instants")
    assert len(names) > 20
    seen: set[str] = set()
    for number, name in enumerate(names, 1):
        run = Run(tmp_path, story, number, same_again)
        assert run.is_dead, f"{number} {name}: the run is not the one that was counted"
        at = f"killed at {number}, {name}"
        rig = run.rig
        for state, interaction, source in rig.rows(
            "SELECT c.state, i.state, c.source FROM tool_calls c LEFT JOIN hermes_interactions i USING (call_id)"
        ):
            assert interaction == (None if source == "model" else LEGAL[state]), at
            assert state != "emitted", at
        assert len(run.answers) <= 1, at
        assert [a for agent in rig.agents[run.old_agents :] for a in agent.answers] == [], f"{at}: answered again"
        assert len(run.prompted) <= 1, f"{at}: the result was prompted twice"
        seen.add(_outcome(run, at))
    wanted = {permission_story: {"nothing", "aborted", "in doubt", "sent"}, model_story: _OF_MODEL}[story]
    assert seen == wanted


_OF_MODEL = {"nothing", "aborted", "sent after", "in doubt", "delivered"}


def _outcome(run: Run, at: str) -> str:
    """The row of C-8 that this run shows, with its own check."""
    rig = run.rig
    for (seq,) in rig.rows("SELECT seq FROM messages WHERE dir = 'in' AND type = 'lineup.v1.message'"):
        ends = [json.loads(b) for (b,) in rig.rows("SELECT body FROM messages WHERE type IN ('session/prompt','told')")]
        ended = any(b.get("turn") == seq and ("stop_reason" in b or "end" in b or "text" in b) for b in ends)
        assert ended, f"{at}: nobody knows what became of turn {seq}"
        lost = any(b.get("turn") == seq and b.get("text") == instructions.TURN_LOST for b in ends)
        assert lost == (instructions.TURN_LOST in run.texts), at
    rows = rig.rows(
        "SELECT c.source, c.state, i.sent_at IS NOT NULL, c.prompt_started_at IS NOT NULL, c.delivered_at IS NOT NULL "
        "FROM tool_calls c LEFT JOIN hermes_interactions i USING (call_id)"
    )
    if not rows:
        return "nothing"
    ((source, state, sent, started, delivered),) = rows
    if state == "aborted":
        assert run.answers == [], at
        assert CARD_CLOSED in run.texts, at
        assert ("aborted", "rejected", "aborted") in run.after.states, at
        return "aborted"
    assert ("completed", "rejected", "already resolved") in run.after.states, at
    doubt = instructions.MAY_NOT_HAVE_REACHED if source == "permission" else instructions.NOT_REPEATED
    if source == "permission":
        assert (doubt in run.texts) is not bool(sent), at
        return "sent" if sent else "in doubt"
    assert started, at
    if not delivered:
        assert doubt in run.texts, at
        return "in doubt"
    assert doubt not in run.texts, at
    return "sent after" if len(run.rig.agents) > run.old_agents else "delivered"


def test_a_doubt_is_told_once_and_not_at_every_start(tmp_path: Path) -> None:
    names = points(tmp_path, permission_story)
    number = names.index("before frame: agent session/request_permission") + 1

    async def twice(rig: Rig) -> None:
        assert rig.host.texts("system") == [instructions.MAY_NOT_HAVE_REACHED, instructions.TURN_LOST]
        await rig.adapter.stop()
        await rig.start()
        assert rig.host.frames == []

    Run(tmp_path, permission_story, number, twice)


def test_what_a_killed_adapter_did_not_say_the_next_one_says(tmp_path: Path) -> None:
    """Killed while it recovers, before any host was told: the message of the recovery is still to be sent."""

    async def story(rig: Rig) -> None:
        await rig.say("one")
        await rig.adapter.stop()
        with pytest.raises(Crash):
            await rig.start(_dies_at("after commit: recovery"))
        assert rig.host.frames == []

    async def after(rig: Rig) -> None:
        assert rig.host.texts("system") == [instructions.TURN_LOST]

    Run(tmp_path, story, 0, after)


def _dies_at(name: str) -> Callable[[str], None]:
    def step(now: str) -> None:
        if now == name:
            raise Crash(name)

    return step


def test_a_new_epoch_does_not_know_the_ids_of_the_old_one(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("write a file")
        rig.agent.ask(0)
        await rig.loop.settle()

    async def after(rig: Rig) -> None:
        (old,) = [call_id for (call_id,) in rig.rows("SELECT call_id FROM tool_calls")]
        await rig.say("write a file")
        rig.agent.ask(0)
        await rig.loop.settle()
        await rig.result(old, {"action_id": "action_01"})
        assert rig.agent.answers == []
        assert rig.host.states[-1] == ("aborted", "rejected", "aborted")
        await rig.result(rig.host.cards[-1]["call_id"], {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "allow_once")]
        assert rig.rows("SELECT epoch, rpc_id FROM hermes_interactions ORDER BY epoch") == [(1, "0"), (2, "0")]

    Run(tmp_path, story, 0, after)


def test_a_second_adapter_on_the_ledger_ends_the_first(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        await rig.start()
        await rig.say("write a file")
        agent = rig.agent
        agent.ask(0)
        await loop.settle()
        first, card = rig.adapter, rig.host.cards[0]
        await rig.start()
        frame = {"call_id": card["call_id"], "status": "completed", "result": {"action_id": "action_01"}}
        data = json.dumps({"v": 1, "type": "lineup.v1.tool.result", "payload": frame}).encode()
        with pytest.raises(LedgerLost, match=r"epoch 1 of .* is over, 2 has begun; expected one adapter"):
            first.frame(data, rig.clock.now_ns())
        await first.ended()
        first.frame(data, rig.clock.now_ns())
        await loop.settle()
        assert agent.answers == []
        await first.stop()
        await rig.adapter.stop()
        assert loop.unseen_failures() == []

    run_virtual(main)


def test_a_ledger_with_a_pair_that_cannot_be_is_not_taken_over(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        ledger = Ledger(rig.path, rig.clock)
        ledger._db.execute(
            "INSERT INTO tool_calls VALUES ('c', 'default', 'permission', 'choice', '{}', '{}', 'emitted', NULL, NULL, "
            "'2026-01-01T00:00:00Z', NULL, NULL)"
        )
        ledger.close()
        with pytest.raises(StartError, match="emitted/None; expected one of"):
            await rig.start()

    run_virtual(main)


def test_a_multi_choice_row_of_an_older_adapter_takes_no_answer(tmp_path: Path) -> None:
    """A04A-11: the row is aborted at the start, and its tail answer rejected."""

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        ledger = Ledger(rig.path, rig.clock)
        schema = json.dumps({"kind": "choice", "mode": "multi-choice", "action_ids": ["study"], "interaction": False})
        ledger._db.execute(
            "INSERT INTO tool_calls VALUES ('call_choice_multi_02', 'default', 'model', 'choice', '{}', ?, 'emitted', "
            "NULL, NULL, '2026-01-01T00:00:00Z', NULL, NULL)",
            (schema,),
        )
        ledger.close()
        await rig.start()
        await rig.result("call_choice_multi_02", {"action_id": "study"})
        assert rig.host.states == [("aborted", None, "adapter restarted"), ("aborted", "rejected", "aborted")]
        assert rig.agents == []
        await rig.adapter.stop()
        assert loop.unseen_failures() == []

    run_virtual(main)
