"""Is each question of the agent's gateway answered at most once, and never with a yes that nobody said?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.host_lines import HostLines
from lasttick.reference.lineup.ledger import Ledger
from lasttick.targets.lineup.ledger import LedgerRows
from lasttick.targets.lineup.native import hear_gateway
from lasttick_fakes.host import CardView, ChatHost, LineWire, NativeSource

CONFIRM = ("kitchen", "c1", "Reload tools?", "The prompt cache is lost.")


class Rig:
    """An adapter without an agent, a host, and the agent's gateway."""

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        self.loop = loop
        self.folder = folder
        self.clock = VirtualClock(loop)
        self.host = ChatHost(self.clock)
        self.rows = LedgerRows(folder / "ledger.sqlite")
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self.adapter = Adapter(Ledger(self.rows.path, self.clock), self.clock, Chance(1), _no_agent)
        await self.adapter.start()
        await self.host_comes()
        ours, self.theirs = pipe_pair()
        self.native = NativeSource(ours, lambda kind, data: None)
        self._run(hear_gateway(self.adapter, self.theirs, self.clock))

    async def host_comes(self) -> None:
        ours, theirs = pipe_pair()
        self._run(HostLines(theirs, self.adapter, self.adapter.attach, self.clock).run())
        await self.host.come(LineWire(ours))

    def _run(self, work: Any) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def kill(self) -> None:
        self.adapter.abandon()
        await self.host.leave()
        await self.native.close()
        await asyncio.gather(*self._tasks)

    async def end(self) -> None:
        await self.kill()
        await self.adapter.stop()

    async def confirm(self) -> CardView:
        await self.native.slash_confirm(*CONFIRM)
        return await self.host.person().card()

    async def update(self, default: str = "n") -> CardView:
        await self.native.update_prompt("kitchen", "u1", "Stash local changes?", default)
        return await self.host.person().card()


def _no_agent() -> Any:
    raise AssertionError("nobody asked for the agent")


@pytest.fixture
def on_rig(tmp_path: Path) -> Callable[[Callable[[Rig], Awaitable[None]]], Rig]:
    def play(story: Callable[[Rig], Awaitable[None]]) -> Rig:
        rigs: list[Rig] = []

        async def main(loop: VirtualLoop) -> None:
            rigs.append(Rig(loop, tmp_path))
            await rigs[0].start()
            await story(rigs[0])
            await loop.settle()
            await rigs[0].end()

        run_virtual(main)
        assert rigs[0].host.problems == []
        return rigs[0]

    return play


def answers(rig: Rig) -> list[tuple[str, str, str]]:
    return [(one["kind"], one["id"], one["answer"]) for one in rig.native.answers]


@pytest.mark.parametrize("word", ["once", "always", "cancel"])
def test_a_confirmation_gives_the_word_that_was_clicked(on_rig: Any, word: str) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.confirm()
        assert card.actions == {"once": "Once", "always": "Always", "cancel": "Cancel"}
        await rig.host.person().click(card, word, times=2)
        await rig.host.person().told(card, 2)

    rig = on_rig(story)
    assert answers(rig) == [("slash_confirm", "c1", word)]
    (row,) = rig.rows.interactions
    assert (row["kind"], row["session_id"], row["state"], row["outcome"]) == (
        *("slash_confirm", "kitchen", "resolved"),
        word,
    )
    assert row["sent_at"] is not None


def test_a_confirmation_that_is_closed_is_a_cancel(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        await rig.host.person().dismiss(await rig.confirm())

    assert answers(on_rig(story)) == [("slash_confirm", "c1", "cancel")]


@pytest.mark.parametrize(("at_s", "expected"), [(299.999, "once"), (300.0, "cancel")])
def test_a_confirmation_lives_300_s(on_rig: Any, at_s: float, expected: str) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.confirm()
        await rig.loop.until(at_s)
        await rig.host.person().click(card, "once")

    assert answers(on_rig(story)) == [("slash_confirm", "c1", expected)]


def test_a_newer_confirmation_of_the_session_takes_the_place_of_the_older(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        older = await rig.confirm()
        await rig.native.slash_confirm("kitchen", "c2", "Reset?", "All is forgotten.")
        newer = await rig.host.person().card()
        await rig.native.slash_confirm("cellar", "c3", "Reset?", "All is forgotten.")
        assert (older.state, newer.state) == ("aborted", "emitted")
        await rig.host.person().click(older, "once")
        await rig.host.person().click(newer, "always")

    assert answers(on_rig(story)) == [("slash_confirm", "c1", "cancel"), ("slash_confirm", "c2", "always")]


@pytest.mark.parametrize(("typed", "expected"), [("y", ["y"]), ("", ["n"]), (None, [])])
def test_the_default_is_for_an_empty_field_that_was_submitted(on_rig: Any, typed: Any, expected: list[str]) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.update()
        if typed is None:
            await rig.host.person().dismiss(card)
        else:
            await rig.host.person().type(card, typed)

    assert [answer for _, _, answer in answers(on_rig(story))] == expected


def test_an_update_prompt_that_expires_is_answered_by_nobody(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.update()
        await rig.loop.until(3_000)
        assert card.state == "expired"

    assert answers(on_rig(story)) == []


def test_other_brings_a_second_card_and_its_text_is_the_answer(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        person = rig.host.person()
        await rig.native.clarify("q1", "Which plan?", ["A", "B"])
        await person.click(await person.card(), "Other")
        await person.type(await person.card(), "neither")

    rig = on_rig(story)
    assert answers(rig) == [("clarify", "q1", "neither")]
    assert [row["state"] for row in rig.rows.interactions] == ["resolved", "resolved"]


def test_a_question_without_choices_is_one_input_card_and_a_choice_its_text(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        person = rig.host.person()
        await rig.native.clarify("q1", "What then?")
        await person.type(await person.card(), "tea")
        await rig.native.clarify("q2", "Which plan?", ["A", "B"])
        await person.click(await person.card(), "B")

    assert answers(on_rig(story)) == [("clarify", "q1", "tea"), ("clarify", "q2", "B")]


def test_what_cannot_be_asked_is_audited_and_the_next_question_is_heard(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        await rig.native.clarify("q1", "Which?", ["A"], multi_select=True)
        await rig.native.ask(b"{")
        await rig.native.ask({"kind": "slash_confirm", "confirm_id": "c"})
        await rig.confirm()

    rig = on_rig(story)
    refused = [row["reason"] for row in rig.rows.audit() if row["disposition"] == "rejected"]
    assert len(refused) == 3
    assert "multi-choice not supported" in refused[0]
    assert len(rig.rows.calls) == 1


def test_a_gateway_that_hangs_up_takes_its_questions_along(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.confirm()
        await rig.native.close()
        assert (await rig.host.person().closed(card)).state == "aborted"

    assert answers(on_rig(story)) == []


def test_a_restart_closes_the_question_and_answers_nothing(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        card = await rig.confirm()
        await rig.kill()
        await rig.start()
        assert (await rig.host.person().closed(card)).state == "aborted"

    assert answers(on_rig(story)) == []


def test_a_restart_after_a_closed_update_prompt_says_nothing_is_missing(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        person = rig.host.person()
        await person.dismiss(await rig.update())
        await rig.loop.settle()
        await rig.kill()
        await rig.start()
        await rig.loop.settle()
        assert person.said == []

    on_rig(story)


def test_an_answer_that_may_be_lost_is_told(on_rig: Any) -> None:
    async def story(rig: Rig) -> None:
        person = rig.host.person()
        card = await rig.confirm()
        rig.theirs.close()  # the gateway reads nothing any more, and the adapter does not know it yet
        await person.click(card, "once")
        assert await person.text("system") == "recorded, may not have reached the gateway that asked"

    rig = on_rig(story)
    assert rig.rows.interactions[0]["sent_at"] is None
    assert json.dumps(rig.native.answers) == "[]"


# -- without a host, in text


def away(words: Callable[[Rig], Awaitable[None]]) -> Callable[[Rig], Awaitable[None]]:
    """The question comes while no host is there; `words` begins when one is again."""

    async def story(rig: Rig) -> None:
        await rig.host.leave()
        await rig.loop.settle()
        await rig.native.slash_confirm(*CONFIRM)
        await rig.loop.settle()
        await rig.host_comes()
        assert "Answer with one word: once, always, cancel." in await rig.host.person().text("system")
        await words(rig)

    return story


def test_a_word_answers_a_confirmation_in_text_once(on_rig: Any) -> None:
    async def words(rig: Rig) -> None:
        person = rig.host.person()
        await person.say(" Once\n", "m1")
        await person.say("once", "m1")

    rig = on_rig(away(words))
    assert answers(rig) == [("slash_confirm", "c1", "once")]


@pytest.mark.parametrize("text", ["yes", "once more", "ok", "y", "onc"])
def test_another_text_is_no_consent_and_silence_is_a_cancel(on_rig: Any, text: str) -> None:
    async def words(rig: Rig) -> None:
        assert not rig.adapter.gateway.answers("default", text, [])
        await rig.loop.until(299.999)
        assert answers(rig) == []
        await rig.loop.until(300.0)

    assert answers(on_rig(away(words))) == [("slash_confirm", "c1", "cancel")]


def test_a_newer_confirmation_closes_the_one_in_text(on_rig: Any) -> None:
    async def words(rig: Rig) -> None:
        await rig.native.slash_confirm("kitchen", "c2", "Reset?", "All is forgotten.")
        await rig.host.person().click(await rig.host.person().card(), "always")

    assert answers(on_rig(away(words))) == [("slash_confirm", "c1", "cancel"), ("slash_confirm", "c2", "always")]


def test_an_answer_in_text_is_no_turn_that_a_restart_could_lose(on_rig: Any) -> None:
    async def words(rig: Rig) -> None:
        await rig.host.person().say("always")
        await rig.loop.settle()
        await rig.kill()
        await rig.start()
        await rig.loop.settle()
        assert len(rig.host.person().said) == 1

    on_rig(away(words))
