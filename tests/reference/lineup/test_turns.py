"""In which order, and in what form, does the agent get what a person says? C-5; rule 5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lasttick.model.lineup import instructions
from lasttick.model.lineup.records import PromptEnd

from .adapter_rig import Rig, block, played

INVENTORY = "lineup.v1.client.inventory"
POMODORO = [{"tool": "pomodoro.start", "arguments": {"minutes": {"type": "number", "required": True}}}]
TIMEOUT = instructions.RESPONSE_TIMEOUT


def texts(rig: Rig) -> list[list[str]]:
    """The prompts of all agents, with their instructions shortened to the revision in them."""
    prompts = [texts for agent in rig.agents for _, texts in agent.prompts]
    return [[_short(text) for text in prompt] for prompt in prompts]


def _short(text: str) -> str:
    if text.startswith("LineUp: you can ask"):
        return "instructions " + text.split("Inventory revision: ")[1].split("\n")[0]
    return text


def test_texts_wait_for_each_other_in_one_queue(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        for text in ("one", "two", "three"):
            await rig.say(text)
        assert texts(rig) == [["instructions none", "one"]]
        for n in (2, 3):
            rig.agent.replies("ok")
            await rig.loop.settle()
            assert len(texts(rig)) == n
        assert texts(rig)[1:] == [["two"], ["three"]]
        assert rig.host.texts("agent") == ["ok", "ok"]

    played(tmp_path, story)


def test_a_result_waits_in_the_same_queue(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.agent.replies(block())
        await rig.loop.settle()
        await rig.say("two")
        await rig.result("call_model_1", {"action_id": "focus"})
        await rig.say("three")
        for _ in range(3):
            rig.agent.replies("ok")
            await rig.loop.settle()
        payload = {"call_id": "call_model_1", "status": "completed", "result": {"action_ids": ["focus"]}}
        sent = {"v": 1, "type": "lineup.v1.tool.result", "payload": payload}
        assert texts(rig)[1::2] == [["two"], ["three"]]
        ((text,),) = texts(rig)[2:3]
        assert json.loads(text) == sent

    played(tmp_path, story)


def test_conversations_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one", "a")
        await rig.say("two", "b")
        assert [session for session, _ in rig.agent.prompts] == ["s0-0", "s0-1"]
        rig.agent.replies("for b", session_id="s0-1")
        await rig.loop.settle()
        (frame,) = rig.host.frames
        assert (frame["conversation_id"], frame["payload"]["text"]) == ("b", "for b")

    played(tmp_path, story)


def test_a_repeated_message_id_is_ignored_and_recorded_also_after_a_restart(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one", message_id="m")
        rig.agent.replies("ok")
        await rig.say("again", message_id="m")
        await rig.say("elsewhere", "other", message_id="m")
        await rig.adapter.stop()
        await rig.start()
        await rig.say("again", message_id="m")
        assert [prompt[-1] for prompt in texts(rig)] == ["one", "elsewhere"]
        refused = rig.rows("SELECT body FROM messages WHERE type = 'refused'")
        assert [json.loads(body)["reason"] for (body,) in refused] == ["repeated message_id"] * 2

    played(tmp_path, story)


def test_instructions_come_first_and_after_each_change_of_the_inventory(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        async def turn(text: str) -> None:
            await rig.say(text)
            rig.agent.replies("ok")
            await rig.loop.settle()

        await turn("one")
        rig.send(INVENTORY, {"revision": "r1", "capabilities": POMODORO})
        await turn("two")
        await turn("three")
        rig.send(INVENTORY, {"revision": "r1", "capabilities": POMODORO})
        await turn("four")
        rig.adapter.host_gone()
        rig.adapter.attach(rig.host)
        await turn("five")
        assert texts(rig) == [
            ["instructions none", "one"],
            ["instructions r1", "two"],
            ["three"],
            ["four"],
            ["instructions none", "five"],
        ]

    played(tmp_path, story)


def test_a_command_is_sent_alone_and_instructions_wait(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("/help")
        rig.agent.replies("commands", PromptEnd("end_turn"))
        await rig.say("one")
        assert texts(rig) == [["/help"], ["instructions none", "one"]]

    played(tmp_path, story)


def test_an_internal_error_after_a_cancel_means_a_new_session(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        await rig.cancel()
        assert rig.agent.cancels == ["s0-0"]
        rig.agent.ends(PromptEnd(None, error_code=-32603))
        await rig.loop.settle()
        assert rig.host.texts("system") == [instructions.SESSION_REPLACED], "a cancel is no failure of the agent"
        await rig.say("two")
        assert rig.agent.prompts[-1][0] == "s0-1"
        assert texts(rig)[-1] == ["instructions none", "two"]

    played(tmp_path, story)


def test_a_cancel_that_ends_well_keeps_the_session(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        await rig.cancel()
        rig.agent.replies("half", PromptEnd("cancelled", has_usage=True))
        await rig.say("two")
        assert [session for session, _ in rig.agent.prompts] == ["s0-0", "s0-0"]
        assert rig.host.texts("system") == []
        assert rig.host.texts("agent") == ["half"]

    played(tmp_path, story)


def test_an_internal_error_without_a_cancel_is_told_and_keeps_the_session(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.agent.replies("half", PromptEnd(None, error_code=-32603))
        await rig.say("two")
        assert rig.host.texts("agent") == ["half"]
        assert [session for session, _ in rig.agent.prompts] == ["s0-0", "s0-0"]
        assert rig.host.texts("system") == ["the agent gave no answer (error -32603); send the message again"]

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("said", "reply", "end", "stuck"),
    [
        ("one", "Queued for the next turn. (1 queued)", PromptEnd("end_turn"), True),
        ("one", "Queued for the next turn. (1 queued)", PromptEnd("end_turn", has_usage=True), False),
        ("one", "Queued for the next turn. (1 queued)", PromptEnd("cancelled"), False),
        ("one", "It is Queued for the next turn", PromptEnd("end_turn"), False),
        ("/queue one", "Queued for the next turn. (1 queued)", PromptEnd("end_turn"), False),
    ],
)
def test_a_stuck_session_is_noticed_and_left(
    tmp_path: Path, said: str, reply: str, end: PromptEnd, stuck: bool
) -> None:
    async def story(rig: Rig) -> None:
        await rig.say(said)
        rig.agent.replies(reply, end)
        await rig.say("two")
        assert (rig.agent.prompts[-1][0] == "s0-1") is stuck
        told = rig.host.texts("system")
        assert (
            told[:1] == ["turn lost: the agent's session was stuck and did not run it; send the message again"]
        ) is (stuck)
        assert (reply in rig.host.texts("agent")) is not stuck

    played(tmp_path, story)


def test_silence_ends_a_turn_at_its_time_out(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        await rig.loop.until(100.0)
        rig.agent.says("x", kind="agent_thought_chunk")
        await rig.loop.until(399.999)
        assert rig.host.texts("system") == []
        await rig.loop.until(400.0)
        assert rig.host.texts("system") == [TIMEOUT]
        assert rig.agent.cancels == ["s0-0"]
        rig.agent.says("late", session_id="s0-0")
        await rig.say("two")
        assert rig.agent.prompts[-1][0] == "s0-1"
        rig.agent.replies("ok")
        await rig.loop.settle()
        assert rig.host.texts("agent") == ["ok"]

    played(tmp_path, story)


def test_the_time_out_does_not_count_while_a_card_is_open(tmp_path: Path) -> None:
    """Quiet for 40 s, then a card for its whole life, then 10 s more: 50 s of silence, as they were meant."""

    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.agent.says("x")
        await rig.loop.until(40.0)
        rig.agent.ask()
        await rig.loop.until(95.0)
        assert [state for state, _, _ in rig.host.states] == ["expired"]
        await rig.loop.until(144.999)
        assert rig.host.texts("system") == []
        await rig.loop.until(145.0)
        assert rig.host.texts("system") == [TIMEOUT]

    played(tmp_path, story, timeout_s=50.0)


def test_a_refused_permission_is_a_frame_too(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        await rig.loop.until(40.0)
        rig.agent.ask(options=())
        await rig.loop.until(89.999)
        assert rig.host.texts("system") == []
        await rig.loop.until(90.0)
        assert rig.host.texts("system") == [TIMEOUT]

    played(tmp_path, story, timeout_s=50.0)


def test_the_time_out_of_one_conversation_is_not_held_by_another(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one", "a")
        await rig.say("two", "b")
        rig.agent.ask(session_id="s0-1")
        await rig.loop.until(50.0)
        told = [f["conversation_id"] for f in rig.host.frames if f["payload"].get("text") == TIMEOUT]
        assert told == ["a"]
        assert rig.agent.cancels == ["s0-0"]

    played(tmp_path, story, timeout_s=50.0)


def test_an_agent_that_ended_unseen_is_started_again_for_the_next_text(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.agent.replies("ok")
        await rig.loop.settle()
        rig.agent.dies(tells=False)
        await rig.say("two", "fresh")
        assert len(rig.agents) == 2
        assert rig.agents[0].has_stopped
        assert texts(rig)[-1] == ["instructions none", "two"]
        assert rig.rows("SELECT epoch FROM meta") == [(2,)]

    played(tmp_path, story)


def test_an_agent_that_cannot_be_started_is_told_and_tried_again(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.cannot_start = 2
        await rig.say("one")
        assert rig.host.texts("system") == ["the agent could not be started (no such program); send the message again"]
        assert [agent.has_stopped for agent in rig.agents] == [True, True]
        await rig.say("two")
        assert texts(rig) == [["instructions none", "two"]]

    played(tmp_path, story)


def test_two_conversations_that_lose_one_agent_share_the_next(tmp_path: Path) -> None:
    """Both notice on their own that it ended; the second must not take the new one for the old."""

    async def story(rig: Rig) -> None:
        await rig.say("zero", "z")
        rig.agent.dies(tells=False)
        rig.send("lineup.v1.message", {"message_id": "m", "text": "one"}, "a")
        rig.send("lineup.v1.message", {"message_id": "m", "text": "two"}, "b")
        await rig.loop.settle()
        assert len(rig.agents) == 2
        assert sorted(texts[-1] for _, texts in rig.agent.prompts) == ["one", "two"]

    played(tmp_path, story)


def test_an_answer_to_a_card_waits_for_an_agent(tmp_path: Path) -> None:
    """Its agent ends before the result is sent, and two more cannot be started."""

    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.agent.replies(block())
        await rig.say("two")
        await rig.result("call_model_1", {"action_id": "focus"})
        rig.cannot_start = 2
        rig.agent.dies()
        await rig.loop.settle()
        assert any("your answer is kept" in text for text in rig.host.texts("system"))
        assert rig.rows("SELECT prompt_started_at FROM tool_calls") == [(None,)]
        await rig.say("three")
        assert json.loads(texts(rig)[-1][-1])["payload"]["call_id"] == "call_model_1"
        rig.agent.replies("ok")
        await rig.loop.settle()
        assert texts(rig)[-1] == ["three"]

    played(tmp_path, story)


def test_a_cancel_before_the_prompt_is_sent_withdraws_it(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        rig.send("lineup.v1.message", {"message_id": "m", "text": "one"})
        rig.send("lineup.v1.cancel", {})
        await rig.loop.settle()
        assert rig.agent.prompts == []
        await rig.say("two")
        assert texts(rig) == [["instructions none", "two"]]

    played(tmp_path, story)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b'{"v":1}', b"\xff\xfe", b'{"v":1,"v":1}', b"9" * 2_000_000, b"null\n"], ids=len
)
def test_a_frame_that_cannot_be_read_is_recorded_and_the_link_stays(tmp_path: Path, data: bytes) -> None:
    async def story(rig: Rig) -> None:
        rig.adapter.frame(data, rig.clock.now_ns())
        await rig.say("one")
        assert len(rig.agent.prompts) == 1
        ((phase, disposition, reason),) = rig.audits()
        assert (phase, disposition) == ("result", "rejected")
        assert reason

    played(tmp_path, story)


def test_a_host_that_comes_back_gets_what_nobody_took(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await rig.say("one")
        rig.host.is_gone = True
        rig.agent.says("before the card")
        rig.agent.ask(0)
        await rig.loop.settle()
        rig.adapter.host_gone()
        await rig.loop.until(60.0)
        rig.agent.ask(1)
        rig.agent.replies("ok")
        await rig.loop.settle()
        rig.host.is_gone = False
        rig.adapter.attach(rig.host)
        await rig.loop.settle()
        shown: list[Any] = [frame["type"].rpartition(".")[2] for frame in rig.host.frames]
        assert shown == ["state", "state", "message"], "cards that were closed meanwhile are not shown"

    played(tmp_path, story)
