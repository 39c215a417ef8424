"""What does a person get of a reply, and what does the model hear of its card? C-2, C-4, C-6; LU-05, LU-12, LU-13."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lasttick.model.lineup import instructions
from lasttick.model.lineup.records import PromptEnd

from .adapter_rig import Rig, block, played

GROUP = {"mode": "multi-choice", "actions": [{"id": "a", "label": "A"}]}
REFUSAL = "The agent's card was refused: {}. Please give your answer as text."


async def replied(rig: Rig, *chunks: str, end: PromptEnd | None = None) -> None:
    await rig.say("go on")
    for chunk in chunks[:-1]:
        rig.agent.says(chunk)
    rig.agent.replies(chunks[-1], end or PromptEnd("end_turn", has_usage=True))
    await rig.loop.settle()


def test_a_block_becomes_text_and_card_at_the_end_of_the_prompt(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        whole = f"Choose:\n{block()}\n"
        await rig.say("go on")
        for i in range(0, len(whole), 7):
            rig.agent.says(whole[i : i + 7])
        rig.agent.says("not counted", kind="agent_thought_chunk")
        await rig.loop.settle()
        assert rig.host.frames == []
        rig.agent.ends()
        await rig.loop.settle()
        assert [frame["type"] for frame in rig.host.frames] == ["lineup.v1.message", "lineup.v1.tool.call"]
        assert rig.host.texts("agent") == ["Choose:\n"]
        assert rig.host.cards == [json.loads(block())["payload"]]
        assert rig.pair("call_model_1") == ("emitted", None, None, None, 0)
        assert rig.audits() == [("call", "accepted", None)]

    played(tmp_path, story)


def test_a_model_card_outlives_its_prompt_and_its_answer_is_delivered(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await replied(rig, block())
        await replied(rig, "meanwhile")
        await rig.result("call_model_1", {"action_id": "other"})
        marks = "SELECT prompt_started_at IS NOT NULL, delivered_at IS NOT NULL FROM tool_calls"
        assert rig.rows(marks) == [(1, 0)]
        rig.agent.replies("thank you")
        await rig.loop.settle()
        assert rig.rows(marks) == [(1, 1)]
        assert rig.host.states == [("completed", "accepted", None)]
        await rig.result("call_model_1", {"action_id": "focus"})
        assert len(rig.agent.prompts) == 3
        assert rig.host.states[-1] == ("completed", "rejected", "already resolved")

    played(tmp_path, story)


@pytest.mark.parametrize("how", ["expired", "aborted", "cancelled"])
def test_an_unanswered_card_is_a_notice_and_a_cancelled_one_a_prompt(tmp_path: Path, how: str) -> None:
    async def story(rig: Rig) -> None:
        await replied(rig, block())
        if how == "expired":
            await rig.loop.until(600.0)
        elif how == "aborted":
            await rig.cancel()
        else:
            await rig.result("call_model_1", status="cancelled")
            assert json.loads(rig.agent.prompts[-1][1][0])["payload"] == {
                "call_id": "call_model_1",
                "status": "cancelled",
                "result": None,
            }
            return
        assert len(rig.agent.prompts) == 1
        await rig.say("/help")
        rig.agent.replies("help", PromptEnd("end_turn"))
        await rig.say("next")
        assert [texts for _, texts in rig.agent.prompts[1:]] == [
            ["/help"],
            [instructions.closed_notice("call_model_1", how), "next"],
        ]
        assert rig.agent.cancels == []

    played(tmp_path, story)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (block(data={"action_group": GROUP}), "multi-choice not supported"),
        (f"```json\n{block(data={'action_group': GROUP})}\n```", "multi-choice not supported"),
        (block(tool="shell"), "not in inventory"),
        (f"{block('call_a')}\n{block('call_b')}", "several blocks"),
        (f"See {block()}", "block not alone"),
        (block(title=""), "title: 0 characters; expected 1 to 200"),
    ],
    ids=["multi", "fenced", "tool", "several", "sentence", "title"],
)
def test_a_refused_card_leaves_no_row_and_is_told_to_both(tmp_path: Path, reply: str, reason: str) -> None:
    async def story(rig: Rig) -> None:
        await replied(rig, reply)
        assert rig.host.cards == []
        assert rig.rows("SELECT * FROM tool_calls") == []
        assert set(rig.audits()) == {("call", "rejected", reason)}
        assert rig.host.texts("system") == [REFUSAL.format(reason)]
        assert len(rig.agent.prompts) == 1, "the model is not asked again by itself"
        await rig.say("then tell me")
        assert rig.agent.prompts[-1][1] == [instructions.refusal_notice(reason), "then tell me"]

    played(tmp_path, story)


def test_an_id_that_was_used_before_is_refused_also_after_a_restart(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await replied(rig, block())
        await rig.result("call_model_1", {"action_id": "focus"})
        rig.agent.replies(block())
        await rig.loop.settle()
        assert len(rig.host.cards) == 1
        await rig.adapter.stop()
        await rig.start()
        await replied(rig, block())
        assert rig.host.cards == []
        assert rig.audits().count(("call", "rejected", "duplicate call_id")) == 2
        assert rig.host.texts("system")[-1] == REFUSAL.format("duplicate call_id")

    played(tmp_path, story)


def test_a_tool_of_the_inventory_is_there_only_while_it_is_published(tmp_path: Path) -> None:
    tool = {"tool": "pomodoro.start", "data": {"arguments": {"minutes": 25}}}
    capability = {"tool": "pomodoro.start", "arguments": {"minutes": {"type": "number", "required": True}}}

    async def story(rig: Rig) -> None:
        await replied(rig, block("call_1", **tool))
        assert rig.host.cards == []
        rig.send("client.inventory", {"revision": "r1", "capabilities": [capability]})
        await replied(rig, block("call_2", **tool))
        await rig.result("call_2", {"output": {"started": True}})
        rig.agent.replies("started")
        await rig.loop.settle()
        assert rig.pair("call_2")[0] == "completed"
        await rig.say("again")
        rig.adapter.host_gone()
        rig.agent.replies(block("call_gone", **tool))
        await rig.loop.settle()
        assert rig.rows("SELECT call_id FROM tool_calls") == [("call_2",)], "it went with its host"
        await rig.adapter.stop()
        await rig.start()
        await replied(rig, block("call_3", **tool))
        assert rig.host.cards == []
        await replied(rig, block("call_4"))
        assert [card["call_id"] for card in rig.host.cards] == ["call_4"], "built-in cards need no inventory"

    played(tmp_path, story)


def test_a_turn_that_ends_with_nothing_is_told(tmp_path: Path) -> None:
    async def story(rig: Rig) -> None:
        await replied(rig, "", end=PromptEnd("refusal"))
        assert rig.host.texts("system") == ["the agent gave no answer (refusal); send the message again"]

    played(tmp_path, story)
