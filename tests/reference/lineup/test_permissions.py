"""Does every event of a permission card lead where the contract's table says? C-3, C-4, C-9; LU-01, 02, 08, 09."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import NS
from lasttick.model.lineup.records import Option, PromptEnd

from .adapter_rig import ALLOW, DENY, END, STATE, Rig, played

LIFE_NS = 55 * NS
TICK_NS = 1_000_000


async def asked(rig: Rig, **request: Any) -> str:
    """A turn in which the agent asks; the call_id of its card."""
    await rig.say("write a file")
    rig.agent.ask(**request)
    await rig.loop.settle()
    return str(rig.host.cards[-1]["call_id"])


def test_an_allowing_click_gives_the_agent_the_option_that_it_offered(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        actions = rig.host.cards[0]["data"]["action_group"]["actions"]
        assert actions == [{"id": "action_01", "label": "Allow edit"}, {"id": "action_02", "label": "Deny"}]
        assert rig.agent.answers == []
        assert rig.pair(call_id) == ("emitted", "pending", None, None, 0)
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "allow_once")]
        assert rig.pair(call_id) == ("completed", "resolved", "completed", "allow_once", 1)
        assert rig.host.states == [("completed", "accepted", None)]
        assert rig.audits() == [("call", "accepted", None), ("result", "accepted", None)]

    played(tmp_path, story)


def test_a_denying_click_gives_the_agent_its_own_reject_option(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.result(call_id, {"action_ids": ["action_02"]})
        assert rig.agent.answers == [(0, "deny")]
        assert rig.pair(call_id)[3] == "deny"

    played(tmp_path, story)


def test_options_of_one_kind_are_told_apart_by_id(tmp_path: Path) -> None:
    """Rule 1: two options share the kind allow_always, and the order is the agent's."""
    session, always = Option("allow_session", "Session", "allow_always"), Option("allow_always", "Ever", "allow_always")

    async def story(rig: Rig) -> None:
        call_id = await asked(rig, options=(DENY, always, session))
        await rig.result(call_id, {"action_id": "action_03"})
        assert rig.agent.answers == [(0, "allow_session")]

    played(tmp_path, story)


def test_a_cancelled_card_is_cancelled(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.result(call_id, status="cancelled")
        assert rig.agent.answers == [(0, None)]
        assert rig.pair(call_id) == ("completed", "resolved", "cancelled", "cancelled", 1)
        assert rig.host.states == [("completed", "accepted", None)]

    played(tmp_path, story)


@pytest.mark.parametrize(
    "result",
    [None, {}, {"action_id": "action_03"}, {"action_id": "allow_once"}, {"action_ids": ["action_01", "action_02"]}],
    ids=str,
)
def test_a_rejected_result_changes_nothing(tmp_path: Path, result: Any) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.result(call_id, result)
        assert rig.agent.answers == []
        assert rig.pair(call_id) == ("emitted", "pending", None, None, 0)
        ((state, disposition, reason),) = rig.host.states
        assert (state, disposition) == ("emitted", "rejected")
        assert reason is not None
        assert reason.startswith("invalid hermes interaction response: ")
        assert rig.audits()[-1] == ("result", "rejected", reason)
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "allow_once")]

    played(tmp_path, story)


@pytest.mark.parametrize("before_ns", [TICK_NS, 1_000])
def test_one_tick_before_its_deadline_a_card_is_answerable(tmp_path: Path, before_ns: int) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.until_ns(LIFE_NS - before_ns)
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "allow_once")]

    played(tmp_path, story)


@pytest.mark.parametrize("after_ns", [0, TICK_NS])
def test_at_its_deadline_a_card_is_expired(tmp_path: Path, after_ns: int) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.until_ns(LIFE_NS + after_ns)
        assert rig.agent.answers == [(0, None)]
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == [(0, None)]
        assert rig.pair(call_id) == ("expired", "expired", None, "expired", 1)
        assert rig.host.states == [("expired", None, "expired"), ("expired", "rejected", "expired")]

    played(tmp_path, story)


def test_a_passed_deadline_counts_although_no_timer_has_run(tmp_path: Path) -> None:
    """The result is read at the deadline, before anything else can run: it is too late, and expires the card."""

    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        payload = {"call_id": call_id, "status": "completed", "result": {"action_id": "action_01"}}
        frame = b'{"v":1,"type":"lineup.v1.tool.result","payload":' + repr(payload).replace("'", '"').encode() + b"}"
        rig.adapter.frame(frame, LIFE_NS)
        await rig.loop.settle()
        assert rig.agent.answers == [(0, None)]
        assert rig.host.states == [("expired", None, "expired"), ("expired", "rejected", "expired")]

    played(tmp_path, story)


@pytest.mark.parametrize("step_s", [3_600.0, -3_600.0])
def test_a_stepped_wall_clock_changes_nothing(tmp_path: Path, step_s: float) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.clock.step(step_s)
        await rig.until_ns(LIFE_NS - TICK_NS)
        assert rig.pair(call_id)[0] == "emitted"
        await rig.until_ns(LIFE_NS)
        assert rig.pair(call_id)[0] == "expired"

    played(tmp_path, story)


def test_a_cancel_answers_the_agent_before_it_cancels_the_session(tmp_path: Path) -> None:
    """While a permission is open the agent's cancel leaves a stuck session; it does not withdraw the request."""

    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.agent.ask(1)
        await rig.cancel()
        assert rig.history[1:] == [("answer", 0, None), ("answer", 1, None), ("cancel", "s0-0")]
        assert rig.pair(call_id) == ("aborted", "aborted", None, "cancelled by the user", 1)
        assert rig.host.states == [("aborted", None, "cancelled by the user")] * 2
        await rig.result(call_id, {"action_id": "action_01"})
        assert len(rig.agent.answers) == 2
        assert rig.host.states[-1] == ("aborted", "rejected", "aborted")

    played(tmp_path, story)


@pytest.mark.parametrize("end", [END, PromptEnd("cancelled"), PromptEnd(None, error_code=-32603)], ids=repr)
def test_a_card_ends_with_its_prompt(tmp_path: Path, end: PromptEnd) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.agent.ends(end)
        await rig.loop.settle()
        assert rig.agent.answers == []
        assert rig.pair(call_id) == ("aborted", "aborted", None, "turn ended", 0)
        assert rig.host.states == [("aborted", None, "turn ended")]
        await rig.until_ns(LIFE_NS)
        assert rig.agent.answers == []

    played(tmp_path, story)


@pytest.mark.parametrize("tells", [True, False])
def test_a_card_ends_with_its_agent(tmp_path: Path, tells: bool) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.agent.dies(tells=tells)
        await rig.loop.settle()
        assert rig.pair(call_id) == ("aborted", "aborted", None, "agent gone", 0)
        assert rig.host.states == [("aborted", None, "agent gone")]
        assert "turn lost: the agent ended; send the message again" in rig.host.texts("system")
        await rig.say("again")
        assert len(rig.agents) == 2
        rig.agent.ask(0)
        await rig.loop.settle()
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == []
        await rig.result(rig.host.cards[-1]["call_id"], {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "allow_once")]

    played(tmp_path, story)


def test_a_duplicate_is_no_second_decision(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.result(call_id, {"action_id": "action_02"})
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.agent.answers == [(0, "deny")]
        assert rig.host.states[-1] == ("completed", "rejected", "already resolved")

    played(tmp_path, story)


def test_a_foreign_result_decides_nothing_and_shows_nothing(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        await rig.result(call_id, {"action_id": "action_01"}, conversation_id="other")
        await rig.result("call_nobody", {"action_id": "action_01"})
        assert rig.agent.answers == []
        assert rig.pair(call_id)[0] == "emitted"
        assert rig.host.states == [(None, "rejected", "wrong conversation"), (None, "rejected", "unknown call")]
        assert [frame.get("conversation_id") for frame in rig.host.frames if frame["type"] == STATE] == ["other", None]

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"options": ()}, "no options"),
        ({"options": (ALLOW, ALLOW)}, 'repeated optionId "allow_once"'),
        ({"session_id": "s-nobody"}, "unknown session"),
    ],
    ids=str,
)
def test_a_bad_request_is_cancelled_without_a_card(tmp_path: Path, request_: Any, reason: str) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("write a file")
        rig.agent.ask(**request_)
        await rig.loop.settle()
        assert rig.agent.answers == [(0, None)]
        assert rig.host.cards == []
        assert rig.audits() == [("call", "rejected", reason)]
        assert rig.rows("SELECT * FROM tool_calls") == rig.rows("SELECT * FROM hermes_interactions") == []

    played(tmp_path, story)


def test_a_request_id_is_answered_once_even_when_the_agent_repeats_it(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.agent.ask(0)
        await rig.result(call_id, {"action_id": "action_01"})
        rig.agent.ask(0)
        await rig.loop.settle()
        assert rig.agent.answers == [(0, "allow_once")]
        assert len(rig.host.cards) == 1
        assert rig.audits().count(("call", "rejected", "repeated request id")) == 2

    played(tmp_path, story)


def test_ids_that_look_alike_are_two_requests(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("write files")
        rig.agent.ask(0)
        rig.agent.ask("0")
        await rig.loop.settle()
        await rig.result(rig.host.cards[1]["call_id"], {"action_id": "action_01"})
        assert rig.agent.answers == [("0", "allow_once")]

    played(tmp_path, story)


def test_an_answer_that_may_not_have_arrived_is_told(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        call_id = await asked(rig)
        rig.agent.refuses_to_send = True
        await rig.result(call_id, {"action_id": "action_01"})
        assert rig.pair(call_id) == ("completed", "resolved", "completed", "allow_once", 0)
        assert "recorded, may not have reached the agent" in rig.host.texts("system")

    played(tmp_path, story)
