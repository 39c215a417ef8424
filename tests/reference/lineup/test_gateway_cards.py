"""Is a question of the gateway answered at most once, and silence never a yes? C-7, C-10; LU-06, LU-14."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from lasttick.model.lineup.clarify import Clarify
from lasttick.model.lineup.gateway_events import GatewayEvent, SlashConfirm, UpdatePrompt
from lasttick.reference.lineup.gateway_cards import GATEWAY_GONE

from .adapter_rig import Rig, played

CONFIRM = SlashConfirm("key", "c1", "Reload", "Reload all servers?")
UPDATE = UpdatePrompt("key", "u1", "Which branch?", "main")
CLARIFY = Clarify("q1", "What now?", ("Work", "Rest"))


class Gateway:
    def __init__(self) -> None:
        self.answers: list[Mapping[str, Any]] = []
        self.is_gone = False

    async def answer(self, answer: Mapping[str, Any]) -> None:
        if self.is_gone:
            raise ConnectionError("the gateway is gone")
        self.answers.append(answer)


def asked(
    tmp_path: Path, event: GatewayEvent, story: Callable[[Rig, Gateway], Coroutine[Any, Any, None]], **how: Any
) -> None:
    async def whole(rig: Rig) -> None:
        gateway = Gateway()
        if not how.get("host", True):
            rig.adapter.host_gone()
        rig.adapter.gateway.attach(gateway)
        rig.adapter.gateway.asked(event, rig.clock.now_ns())
        await rig.loop.settle()
        await story(rig, gateway)
        assert rig.rows("SELECT count(*) FROM tool_calls c JOIN hermes_interactions i USING (call_id)") == rig.rows(
            "SELECT count(*) FROM tool_calls"
        )

    played(tmp_path, whole)


def answer(event: GatewayEvent, text: str) -> dict[str, str]:
    return {"kind": event.kind, "id": event.id, "answer": text}


@pytest.mark.parametrize("word", ["once", "always", "cancel"])
def test_a_confirmation_is_answered_with_what_was_clicked_and_once(tmp_path: Path, word: str) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        call_id = rig.host.cards[0]["call_id"]
        await rig.result(call_id, {"action_id": word})
        await rig.result(call_id, {"action_id": "always"})
        assert gateway.answers == [answer(CONFIRM, word)]
        assert rig.pair(call_id) == ("completed", "resolved", "completed", word, 1)
        assert rig.agents == []

    asked(tmp_path, CONFIRM, story)


@pytest.mark.parametrize(("event", "life_s", "said"), [(CONFIRM, 300.0, ["cancel"]), (UPDATE, 600.0, [])])
def test_silence_is_cancel_or_nothing(tmp_path: Path, event: GatewayEvent, life_s: float, said: list[str]) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.loop.until(life_s - 0.001)
        assert gateway.answers == []
        await rig.loop.until(life_s)
        assert gateway.answers == [answer(event, text) for text in said]

    asked(tmp_path, event, story)


def test_a_newer_confirmation_of_the_session_closes_the_older(tmp_path: Path) -> None:
    newer = SlashConfirm("key", "c2", "Reset", "Reset?")
    elsewhere = SlashConfirm("other", "c3", "Reset", "Reset?")

    async def story(rig: Rig, gateway: Gateway) -> None:
        rig.adapter.gateway.asked(elsewhere, rig.clock.now_ns())
        rig.adapter.gateway.asked(newer, rig.clock.now_ns())
        await rig.loop.settle()
        assert gateway.answers == [answer(CONFIRM, "cancel")]
        assert rig.host.states == [("aborted", None, "superseded")]
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "once"})
        await rig.result(rig.host.cards[2]["call_id"], {"action_id": "once"})
        assert gateway.answers[1:] == [answer(newer, "once")]

    asked(tmp_path, CONFIRM, story)


@pytest.mark.parametrize(
    ("result", "said"), [({"text": "dev"}, "dev"), ({"text": ""}, "main"), ({"values": {"text": ""}}, "main")]
)
def test_a_default_counts_for_an_empty_field_that_was_submitted(tmp_path: Path, result: Any, said: str) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.result(rig.host.cards[0]["call_id"], result)
        assert gateway.answers == [answer(UPDATE, said)]

    asked(tmp_path, UPDATE, story)


def test_a_cancelled_update_gets_nothing_and_no_start_doubts_it(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.result(rig.host.cards[0]["call_id"], status="cancelled")
        assert gateway.answers == []
        await rig.adapter.stop()
        await rig.start()
        assert rig.host.frames == []

    asked(tmp_path, UPDATE, story)


def test_clarify_in_other_words_takes_two_cards(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "other"})
        assert gateway.answers == []
        assert [card["tool"] for card in rig.host.cards] == ["choice", "input"]
        await rig.result(rig.host.cards[1]["call_id"], {"text": "Read a book"})
        assert gateway.answers == [answer(CLARIFY, "Read a book")]
        assert rig.rows("SELECT DISTINCT state, kind FROM hermes_interactions") == [("resolved", "clarify")]

    asked(tmp_path, CLARIFY, story)


def test_clarify_with_a_choice_takes_one(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "choice_02"})
        assert gateway.answers == [answer(CLARIFY, "Rest")]
        assert len(rig.host.cards) == 1

    asked(tmp_path, CLARIFY, story)


def test_without_a_host_the_question_is_a_text_and_silence_no_consent(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        rig.adapter.attach(rig.host)
        await rig.loop.settle()
        assert rig.host.cards == []
        assert rig.host.texts("system")[0].endswith("Answer with one word: once, always, cancel.")
        await rig.say("what is this?")
        assert [texts[-1] for _, texts in rig.agent.prompts] == ["what is this?"]
        assert gateway.answers == []
        await rig.loop.until(300.0)
        assert gateway.answers == [answer(CONFIRM, "cancel")]

    asked(tmp_path, CONFIRM, story, host=False)


def test_without_a_host_a_text_answers_and_does_not_go_to_the_agent(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        rig.adapter.attach(rig.host)
        await rig.say(" Once ")
        assert gateway.answers == [answer(CONFIRM, "once")]
        assert rig.agents == []
        await rig.say("once")
        assert len(gateway.answers) == 1
        await rig.adapter.stop()
        await rig.start()
        assert rig.host.texts("system") == ["turn lost: the adapter was restarted; send the message again"]

    asked(tmp_path, CONFIRM, story, host=False)


def test_a_user_cancel_and_the_end_of_the_agent_do_not_concern_the_gateway(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        await rig.say("one")
        await rig.cancel()
        rig.agent.dies()
        await rig.loop.settle()
        assert rig.pair(rig.host.cards[0]["call_id"])[0] == "emitted"

    asked(tmp_path, CONFIRM, story)


def test_the_end_of_the_gateway_closes_its_questions(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        rig.adapter.gateway.source_gone()
        await rig.loop.settle()
        assert rig.pair(rig.host.cards[0]["call_id"])[:2] == ("aborted", "aborted")
        assert gateway.answers == rig.rows("SELECT body FROM messages WHERE type = 'gateway/answer'") == []
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "once"})
        assert rig.host.states[-1] == ("aborted", "rejected", "aborted")

    asked(tmp_path, CONFIRM, story)


def test_an_answer_that_the_gateway_did_not_take_is_told(tmp_path: Path) -> None:
    async def story(rig: Rig, gateway: Gateway) -> None:
        gateway.is_gone = True
        await rig.result(rig.host.cards[0]["call_id"], {"action_id": "once"})
        assert rig.host.texts("system") == [GATEWAY_GONE]

    asked(tmp_path, CONFIRM, story)
