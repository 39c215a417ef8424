"""An adapter in a virtual world: one permission from end to end, what the handle shows of it, its life and death."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.targets.outcome import Inconclusive
from lasttick_fakes.model import Call, cards

from .worlds import play, told

TEXT = "LineUp permission test"
WRITE = Call.one("write_file", path="note.txt", content=TEXT)


async def ready(world: Any, **options: Any) -> Any:
    """An adapter whose model writes a file when it is asked to."""
    lineup = await world.lineup(**options)
    await lineup.model.script("write", WRITE, "Written.")
    return lineup


async def one_permission(world: Any) -> None:
    lineup = await ready(world)
    person = lineup.person()
    await person.say("Please write the note.")
    card = await person.card()
    assert not (lineup.files / "note.txt").exists()
    await person.click(card, "Allow edit")
    assert "Written." in await person.text("agent")
    assert (lineup.files / "note.txt").read_bytes() == TEXT.encode()
    assert lineup.ledger.pair(card.call_id) == "completed/resolved"
    assert lineup.ledger.verdicts(card.call_id) == ["call/accepted", "result/accepted"]
    (answered,) = lineup.agent_log("hermes.answered")
    assert answered.data["frame"]["result"] == {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    (wrote,) = lineup.agent_log("hermes.wrote")
    assert wrote.data["bytes"] == len(TEXT)
    assert lineup.problems == []


def test_a_permission_from_end_to_end() -> None:
    events = play(one_permission)
    kinds = [event.kind for event in events if event.kind.startswith("card.")]
    assert kinds == ["card.shown", "card.answered", "card.state"]
    methods = [event.data["frame"].get("method") for event in told(events, "agent.frame")]
    assert "session/request_permission" in methods


def test_the_same_seed_gives_the_same_story() -> None:
    def story(seed: int) -> list[bytes]:
        return [event.hashed() for event in play(one_permission, seed=seed)]

    assert story(1) == story(1)
    assert story(1) != story(2)


def test_a_denial_reaches_the_agent_as_its_own_reject_option_and_nothing_runs() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        person = lineup.person("kitchen")
        await person.say("Please write the note.")
        await person.click(await person.card(), "Deny")
        assert "Written." in await person.text("agent")
        (answered,) = lineup.agent_log("hermes.answered")
        assert answered.data["frame"]["result"] == {"outcome": {"outcome": "selected", "optionId": "deny"}}
        assert lineup.agent_log("hermes.wrote") == []
        assert list(lineup.files.iterdir()) == []
        assert [row["conversation_id"] for row in lineup.ledger.calls] == ["kitchen"]

    play(story)


def test_a_card_of_the_model_is_answered_and_the_answer_is_its_next_prompt() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        person = lineup.person()
        await lineup.model.script("plan", cards.choice("day-1", [("focus", "Focus"), ("other", "Other")]))
        await lineup.model.script("day-1", "So you focus.")
        await person.say("plan my day")
        card = await person.card()
        assert lineup.ledger.pair(card.call_id) == "emitted/-"
        await person.click(card, "Focus", as_list=True)
        assert await person.text("agent") == "So you focus."
        assert lineup.ledger.call("day-1")["result"] == {"action_ids": ["focus"]}
        prompts = [asked.messages[-1]["content"] for asked in await lineup.model.requests() if not asked.helper]
        assert '"call_id": "day-1"' in str(prompts[-1])

    play(story)


def test_an_adapter_that_is_killed_with_a_card_open_closes_it_at_its_next_start() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        person = lineup.person()
        await person.say("Please write the note.")
        card = await person.card()
        await lineup.kill()
        assert not lineup.host.is_here
        with pytest.raises(ConnectionError):
            await person.click(card, "Allow edit")
        with pytest.raises(ConnectionError):
            await lineup.come()
        assert lineup.ledger.pair(card.call_id) == "emitted/pending"
        await lineup.start()
        assert (await person.closed(card)).state == "aborted"
        await person.click(card, "Allow edit")
        assert (await person.told(card, 2)).disposition == "rejected"
        assert lineup.ledger.epoch > 1
        assert lineup.agent_log("hermes.wrote") == []
        assert lineup.problems == []

    play(story)


def test_an_agent_that_is_killed_takes_its_card_along_and_the_next_text_finds_a_new_one() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        person = lineup.person()
        await person.say("Please write the note.")
        card = await person.card()
        await lineup.kill_agent()
        assert (await person.closed(card)).state == "aborted"
        await person.say("Please write the note.")
        await person.click(await person.card(), "Allow edit")
        await person.text("agent")
        assert len(lineup.agent_log("hermes.wrote")) == 1

    play(story)


def test_a_restart_is_a_stop_and_a_start_and_the_host_comes_again() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        await lineup.restart()
        assert lineup.host.is_here
        await lineup.restart(come=False)
        assert not lineup.host.is_here
        await lineup.come()
        person = lineup.person()
        await person.say("Please write the note.")
        await person.click(await person.card(), "Allow edit")
        await person.text("agent")

    assert [event.kind for event in play(story) if event.kind.startswith("part.")] == [
        *["part.start", "part.stop", "part.start", "part.stop", "part.start"]
    ]


def test_the_agents_own_gateway_asks_and_is_answered() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        native = await lineup.native()
        await native.update_prompt("kitchen", "u1", "Stash local changes?", "n")
        person = lineup.person()
        await person.type(await person.card(), "")
        await world.settle()
        assert native.answers == [{"kind": "update_prompt", "id": "u1", "answer": "n"}]

    assert [event.kind for event in play(story) if event.actor == "native"] == ["native.asked", "native.answered"]


def test_a_second_adapter_on_the_ledger_ends_the_first_at_its_next_word() -> None:
    async def story(world: Any) -> None:
        first = await ready(world)
        second = await world.lineup(folder=first.options.folder)
        await first.person().say("Please write the note.")
        assert await first.ended() == 2
        assert not first.host.is_here
        await second.person().say("Please write the note.")
        await second.person().card()

    play(story)


def test_a_copy_of_the_ledger_says_the_same() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        person = lineup.person()
        await person.say("Please write the note.")
        card = await person.card()
        copy = lineup.ledger.copy(world.path / "copy.sqlite")
        await person.click(card, "Deny")
        await person.closed(card)
        assert (copy.pair(card.call_id), lineup.ledger.pair(card.call_id)) == ("emitted/pending", "completed/resolved")
        assert [row["seq"] for row in copy.messages()] == list(range(1, len(copy.messages()) + 1))
        assert copy.interaction(card.call_id)["rpc_id"] == 0
        assert [option["optionId"] for option in copy.interaction(card.call_id)["options"]] == ["allow_once", "deny"]

    play(story)


# -- crashes


def steps_of_a_permission() -> list[str]:
    found: list[str] = []

    async def story(world: Any) -> None:
        lineup = await ready(world)
        person = lineup.person()
        await person.say("Please write the note.")
        await person.click(await person.card(), "Allow edit")
        await person.text("agent")
        await world.settle()
        found.extend(lineup.steps)

    play(story)
    return found


def test_every_step_of_a_run_can_be_the_last_and_the_file_is_never_written_without_a_click() -> None:
    steps = steps_of_a_permission()
    assert len(steps) > 20
    assert "before commit: result accepted" in steps

    for number in range(len(steps)):

        async def story(world: Any, number: int = number) -> None:
            lineup = await ready(world, come=False, crash_at=number)
            person = lineup.person()
            world.start(_one_click(lineup, person))
            assert await lineup.crashed() == steps[number]
            assert not lineup.host.is_here
            await lineup.start()
            await world.settle()
            assert all(row["state"] != "emitted" for row in lineup.ledger.calls)
            if not any(row["outcome"] == "allow_once" for row in lineup.ledger.interactions):
                assert lineup.agent_log("hermes.wrote") == []

        play(story)


async def _one_click(lineup: Any, person: Any) -> None:
    """As far as the adapter lives."""
    try:
        await lineup.come()
        await person.say("Please write the note.")
        await person.click(await person.card(), "Allow edit")
        await person.text("agent")
    except (ConnectionError, AssertionError):
        return


def test_a_crash_of_the_next_run_is_set_while_none_runs() -> None:
    async def story(world: Any) -> None:
        lineup = await ready(world)
        await lineup.stop()
        lineup.crash_at(0)
        await lineup.start()
        assert await lineup.crashed() == "before commit: epoch"
        await lineup.start()
        assert lineup.host.is_here

    play(story)


def test_what_only_processes_can_do_is_inconclusive_here() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(Inconclusive):
            await world.lineup(agent_command="hermes acp")

    play(story)
