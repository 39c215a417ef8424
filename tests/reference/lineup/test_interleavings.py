"""Whatever comes in whatever order: one answer for a permission, and an allowing one only for a click. LU-08, LU-15."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from lasttick.engine.chance import Chance
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lineup.records import PromptEnd

from .adapter_rig import Rig, block

CARDS = st.sampled_from([0, 0, 1, 1, 2, 3])
"""The first cards of a story are those that most events can still find open."""
RESULTS = st.sampled_from(
    [
        {"action_id": "action_01"},
        {"action_id": "action_01"},
        {"action_ids": ["action_01"]},
        {"action_ids": ["action_02"]},
        {"action_id": "action_09"},
        {"action_ids": ["action_01", "action_02"]},
        {"values": {"text": "yes"}},
        None,
    ]
)
HOSTS = st.sampled_from(["a", "a", "a", "b"])
CLICK = st.tuples(st.just("result"), CARDS, RESULTS, HOSTS)
EVENTS = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, 3)),
    CLICK,
    CLICK,
    CLICK,
    st.tuples(st.just("cancelled"), CARDS, HOSTS),
    st.tuples(st.just("wait"), st.sampled_from([0.001, 20.0, 54.999, 55.0, 300.0])),
    st.tuples(st.just("cancel")),
    st.tuples(st.just("say")),
    st.tuples(st.just("end"), st.sampled_from([PromptEnd("end_turn", True), PromptEnd(None, error_code=-32603)])),
    st.tuples(st.just("die")),
    st.tuples(st.just("restart")),
)


@settings(max_examples=80, deadline=None)
@example([(("cancel",), False), (("end", PromptEnd(None, error_code=-32603)), False)])
@example([(("result", 0, {"action_id": "action_01"}, "a"), False), (("die",), False), (("restart",), False)])
@example([(("wait", 55.0), False), (("result", 0, {"action_id": "action_01"}, "a"), True), (("cancel",), True)])
@given(st.lists(st.tuples(EVENTS, st.booleans()), max_size=25))
def test_one_answer_for_each_permission_and_no_approval_without_a_click(events: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_virtual(lambda loop: _interleaved(loop, Path(folder), events), bound_s=1e6)


async def _interleaved(loop: VirtualLoop, folder: Path, events: list[Any]) -> None:
    """The events, some of them at one instant: an event that does not settle lets the next one in before anything
    else can run."""
    rig = Rig(loop, folder / "ledger.sqlite")
    await rig.start()
    await rig.say("go on", "a")
    asked: list[tuple[int, int, str]] = []
    for (kind, *what), settles in [(("ask", 0), True), *events]:
        _do(rig, asked, kind, what)
        if kind == "restart":
            await rig.adapter.stop()
            await rig.start()
        elif kind == "wait":
            await loop.advance(what[0])
        elif settles:
            await loop.settle()
    await loop.settle()
    _check(rig, asked)
    await loop.advance(60.0)
    _check(rig, asked)
    await rig.adapter.stop()
    assert loop.unseen_failures() == []


def _do(rig: Rig, asked: list[tuple[int, int, str]], kind: str, what: list[Any]) -> None:
    agent = rig.agents[-1] if rig.agents else None
    is_there = agent is not None and not agent.is_dead and not agent.has_stopped
    if kind == "ask" and agent is not None and is_there and agent.is_prompted:
        if (agent.number, what[0]) not in [(number, rpc_id) for number, rpc_id, _ in asked]:
            asked.append((agent.number, what[0], agent.session))
        agent.ask(what[0])
    elif kind == "result":
        _send(rig, what[0], {"status": "completed", "result": what[1]}, what[2])
    elif kind == "cancelled":
        _send(rig, what[0], {"status": "cancelled"}, what[1])
    elif kind == "cancel":
        rig.send("lineup.v1.cancel", {}, "a")
    elif kind == "say":
        rig.send("lineup.v1.message", {"message_id": f"n{len(rig.history)}-{rig.clock.now_ns()}", "text": "more"}, "a")
    elif kind == "end" and agent is not None and is_there and agent.can_end:
        agent.ends(what[0])
    elif kind == "die" and agent is not None and is_there:
        agent.dies()


def _send(rig: Rig, card: int, payload: dict[str, Any], conversation_id: str) -> None:
    calls = rig.rows("SELECT call_id FROM tool_calls ORDER BY rowid")
    call_id = calls[card][0] if card < len(calls) else f"call_nobody_{card}"
    rig.send("lineup.v1.tool.result", {"call_id": call_id, **payload}, conversation_id)


def _check(rig: Rig, asked: list[tuple[int, int, str]]) -> None:
    """LU-08 against what the agents got, and the ledger's own account of it."""
    for agent in rig.agents:
        counts = Counter(rpc_id for rpc_id, _ in agent.answers)
        assert all(count == 1 for count in counts.values()), f"answered twice: {agent.answers}"
        ended = agent.is_dead or agent.has_stopped
        for number, rpc_id, _ in asked:
            if number == agent.number and not ended:
                state, reason = _state(rig, number, rpc_id)
                unanswered = state == "emitted" or reason in ("turn ended", "agent gone")
                assert counts[rpc_id] == (0 if unanswered else 1), f"{rpc_id} is {state} ({reason}), {agent.answers}"
    allowed = [answer for agent in rig.agents for answer in agent.answers if answer[1] == "allow_once"]
    clicks = rig.rows(
        "SELECT body FROM tool_audit WHERE phase = 'result' AND disposition = 'accepted' AND body LIKE '%action_01%'"
    )
    assert len(allowed) <= len(clicks), "an approval without an accepted click"
    if allowed:
        event("approved")
    for state, interaction in rig.rows(
        "SELECT c.state, i.state FROM tool_calls c JOIN hermes_interactions i USING (call_id)"
    ):
        event(f"{state}/{interaction}")
        assert (state, interaction) in [
            ("emitted", "pending"),
            ("completed", "resolved"),
            ("expired", "expired"),
            ("aborted", "aborted"),
        ]


def _state(rig: Rig, number: int, rpc_id: int) -> tuple[str, str | None]:
    """Of the request of that process: sessions are named after it."""
    rows = rig.rows(
        "SELECT c.state, i.outcome FROM tool_calls c JOIN hermes_interactions i USING (call_id) "
        "WHERE i.rpc_id = ? AND i.session_id LIKE ?",
        json.dumps(rpc_id),
        f"s{number}-%",
    )
    ((state, reason),) = rows or [("refused", None)]
    return state, reason


def test_200_conversations_with_equal_ids_never_resolve_each_other(tmp_path: Path) -> None:
    """All permissions have ids from 0 on, all models want the same call_id, results come in any order with doubles."""
    order = Chance(11).stream("data")

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        await rig.start()
        names = [f"c{i}" for i in range(200)]
        for name in names:
            rig.send("lineup.v1.message", {"message_id": "m", "text": "go on"}, name)
        await loop.settle()
        sessions = dict(zip(names, rig.agent.sessions, strict=True))
        for rpc_id, name in enumerate(names):
            rig.agent.ask(rpc_id, session_id=sessions[name])
        await loop.settle()
        cards = {f["conversation_id"]: f["payload"]["call_id"] for f in rig.host.frames}
        wanted = {name: ("action_01", "action_02")[i % 2] for i, name in enumerate(names)}
        clicks = [(name, owner) for name in names for owner in (name, name, order.choice(names))]
        order.shuffle(clicks)
        for name, owner in clicks:
            payload = {"call_id": cards[owner], "status": "completed", "result": {"action_id": wanted[name]}}
            rig.send("lineup.v1.tool.result", payload, name)
        await loop.settle()
        options = {"action_01": "allow_once", "action_02": "deny"}
        assert sorted(rig.agent.answers) == [(i, options[wanted[name]]) for i, name in enumerate(names)]
        assert rig.rows("SELECT DISTINCT state, result_status FROM tool_calls") == [("completed", "completed")]
        for name in names:
            rig.agent.replies(block("call_same"), session_id=sessions[name])
        await loop.settle()
        (owner,) = [f["conversation_id"] for f in rig.host.frames if f["payload"].get("call_id") == "call_same"]
        assert rig.audits().count(("call", "rejected", "duplicate call_id")) == 199
        for name in [*names, owner]:
            payload = {"call_id": "call_same", "status": "completed", "result": {"action_id": "focus"}}
            rig.send("lineup.v1.tool.result", payload, name)
        await loop.settle()
        assert [session for session, _ in rig.agent.prompts[200:]] == [sessions[owner]]
        await rig.adapter.stop()
        assert loop.unseen_failures() == []

    run_virtual(main)
