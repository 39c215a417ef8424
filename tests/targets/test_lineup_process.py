"""An adapter as real processes: the same story over a WebSocket and over standard streams, kill -9, and how they end.

Slow: each agent is a program that is started. The fake agent is found by the path of these very tests.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.trace import Event, Trace
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.process import ProcessWorld
from lasttick_fakes.model import Call

from .worlds import told

TEXT = "LineUp permission test"
WRITE = Call.one("write_file", path="note.txt", content=TEXT)


def play(story: Callable[[Any], Awaitable[Any]]) -> list[Event]:
    trace = Trace()

    async def main(folder: str) -> None:
        world = ProcessWorld(seed=1, trace=trace, path=Path(folder))
        try:
            await story(world)
        except BaseException:
            await world.abandon()
            raise
        else:
            await world.close()
        finally:
            world.write_history()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
    return trace.events


async def asked(lineup: Any) -> tuple[Any, Any]:
    """The person, and the card that asks whether the note may be written."""
    person = lineup.person()
    await lineup.model.script("write", WRITE, "Written.")
    await person.say("Please write the note.")
    return person, await person.card()


@pytest.mark.parametrize("via", ["websocket", "lines"])
def test_a_permission_from_end_to_end(via: str) -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup(via=via)
        person, card = await asked(lineup)
        assert not (lineup.files / "note.txt").exists()
        await person.click(card, "Allow edit")
        assert "Written." in await person.text("agent")
        assert (lineup.files / "note.txt").read_bytes() == TEXT.encode()
        assert lineup.ledger.pair(card.call_id) == "completed/resolved"
        (wrote,) = lineup.agent_log("hermes.wrote")
        assert wrote.data["bytes"] == len(TEXT)
        assert lineup.problems == []
        assert "Traceback" not in lineup.stderr()
        await lineup.stop()

    events = play(story)
    order = [event.kind for event in events if event.kind.startswith("card.") or event.kind == "hermes.wrote"]
    assert order[:2] == ["card.shown", "card.answered"]
    assert sorted(order[2:]) == ["card.state", "hermes.wrote"]
    methods = [event.data["frame"].get("method") for event in told(events, "agent.frame")]
    assert methods.index("session/prompt") < methods.index("session/request_permission")
    assert told(events, "model.request")


def test_kill_9_with_a_card_open_then_a_new_run_on_the_same_ledger() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        person, card = await asked(lineup)
        first = lineup.pid
        await lineup.kill()
        assert lineup.ledger.pair(card.call_id) == "emitted/pending"
        with pytest.raises(ConnectionError):
            await person.click(card, "Allow edit")
        await lineup.start()
        assert lineup.pid != first
        assert (await person.closed(card)).state == "aborted"
        await person.click(card, "Allow edit")
        assert (await person.told(card, 2)).disposition == "rejected"
        assert lineup.agent_log("hermes.wrote") == []
        assert not (lineup.files / "note.txt").exists()

    play(story)


def test_a_killed_agent_is_noticed_and_replaced() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        person, card = await asked(lineup)
        await lineup.kill_agent()
        assert (await person.closed(card)).state == "aborted"
        await person.say("Please write the note.")
        await person.click(await person.card(), "Allow edit")
        assert "Written." in await person.text("agent")

    play(story)


def test_a_host_that_hangs_up_and_comes_back_answers_the_same_card() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        person, card = await asked(lineup)
        await lineup.leave()
        await lineup.come()
        await person.click(card, "Allow edit")
        assert "Written." in await person.text("agent")

    play(story)


def test_the_agents_own_gateway_asks_and_is_answered() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        native = await lineup.native()
        await native.slash_confirm("kitchen", "c1", "Reload tools?", "The prompt cache is lost.")
        person = lineup.person()
        card = await person.card()
        await person.click(card, "Once")
        await person.closed(card)
        await world.settle()
        assert native.answers == [{"kind": "slash_confirm", "id": "c1", "answer": "once"}]

    play(story)


def test_a_second_adapter_on_the_ledger_ends_the_first_at_its_next_word() -> None:
    async def story(world: Any) -> None:
        first = await world.lineup()
        second = await world.lineup(folder=first.options.folder)
        await first.person().say("hello")
        assert await first.ended() == 2
        assert "it could not write its ledger" in first.stderr()
        assert "Traceback" not in first.stderr()
        await first.model.script("write", WRITE)  # the folder's agent thinks with the model that it had first
        await second.person().say("Please write the note.")
        await second.person().card()

    play(story)


def test_a_frame_that_is_no_text_ends_the_link_and_not_the_adapter() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        person = lineup.person()
        await person.raw(b"\xff\xfe")
        await lineup.host.seen(lambda: None if lineup.host.is_here else True, "end of the link", 10)
        await lineup.come()
        person, card = await asked(lineup)
        await person.click(card, "Deny")
        await person.closed(card)

    play(story)


def test_what_only_a_virtual_world_can_do_is_inconclusive_and_a_bad_start_says_why() -> None:
    async def story(world: Any) -> None:
        lineup = await world.lineup()
        with pytest.raises(Inconclusive):
            lineup.crash_at(3)
        with pytest.raises(StartRefused, match="No closing quotation"):
            await world.lineup(agent_command="hermes 'acp")

    play(story)
