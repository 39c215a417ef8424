"""Until when can a card be answered? Up to the last tick before its deadline, by a clock that nobody can set.

Source: contract lineup, rule 2; C-2 (`expires_at`), C-4 (deadline).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model import Say
from lasttick_fakes.model.cards import choice

from .steps_cards import SIZE_BYTES, answers, heard, nothing_ran, prompts, shows_choice, wants_to_write, written

PERMISSION_S = 55.0
AGENT_S = 60.0
MODEL_S = 600.0
HOUR_S = 3600.0
FIRST_PROMPT_S = 1.0
"""How long the fake agent prepares before it asks its model for the first time."""

STEPS = pytest.mark.parametrize("step_s", [0.0, HOUR_S, -HOUR_S])
TICKS = pytest.mark.parametrize("ticks", [-1, 0, 1])
LIVES = [(29.999, MODEL_S), (30.0, 30.0), (1800.0, 1800.0), (1800.001, MODEL_S), (-1.0, MODEL_S)]
TEXTS = ["soon", "", 600, None, "2026-01-01T00:10:00", "2026-01-01T00:10:00+00:00", "2026-02-30T00:00:00Z"]


@scenario("LU-09", needs=("scale", "wall-clock"))
@STEPS
@TICKS
async def test_a_permission_is_open_up_to_its_last_tick(world: World, step_s: float, ticks: int) -> None:
    """Allow is clicked one tick before 55 s, at it, and one tick after, with the wall clock an hour off or not: only
    the first writes the file. Else the agent hears cancelled at 55 s, before it would deny by itself."""
    lineup = await world.lineup()
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    begun_s = world.now_s
    _lives(world, card, PERMISSION_S)
    world.trouble.step(step_s)
    await world.until(begun_s + PERMISSION_S + ticks * world.tick_s)
    await person.click(card, "Allow edit")
    await world.settle()

    in_time = ticks < 0
    assert card.state == ("completed" if in_time else "expired")
    assert card.disposition == ("accepted" if in_time else "rejected")
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, "allow_once" if in_time else "cancelled")]
    assert lineup.agent_log("hermes.denied_itself") == []
    assert written(lineup) == (SIZE_BYTES if in_time else None)
    verdicts = ["call/accepted", "result/accepted" if in_time else "result/rejected: expired"]
    assert lineup.ledger.verdicts(card.call_id) == verdicts
    assert lineup.ledger.pair(card.call_id) == ("completed/resolved" if in_time else "expired/expired")


@scenario("LU-09", needs=("scale", "wall-clock"))
@STEPS
@TICKS
async def test_a_card_of_the_model_is_open_up_to_its_last_tick(world: World, step_s: float, ticks: int) -> None:
    """The same after 10 minutes: an answer in time is told to the model, a late one never; that nobody answered stands
    in front of the person's next words."""
    lineup = await world.lineup()
    card = await shows_choice(lineup)
    begun_s = world.now_s
    _lives(world, card, MODEL_S)
    world.trouble.step(step_s)
    await world.until(begun_s + MODEL_S + ticks * world.tick_s)
    person = lineup.person()
    await lineup.model.script("pick-1", "Thanks.")
    await person.click(card, "study")
    await world.advance(10)

    in_time = ticks < 0
    assert card.state == ("completed" if in_time else "expired")
    assert len(await prompts(lineup)) == (2 if in_time else 1)
    await lineup.model.script("next", "Yes.")
    await person.say("next")
    await world.advance(10)
    told = (await prompts(lineup))[-1]
    assert ("the card pick-1 is expired" in told) == (not in_time)


@scenario("LU-09", needs=("scale", "schedule"))
async def test_at_the_deadline_the_order_of_timers_does_not_matter(world: World) -> None:
    """Forty people click Allow exactly at 55 s, in a machine that does what is due in any order: whether or not the
    timer of a card has run, no click is taken, and no file is there."""
    lineup = await world.lineup()
    await wants_to_write(lineup)
    people = [lineup.person(f"conversation-{number}") for number in range(40)]
    for person in people:
        await person.say("please write")
    cards = [await person.card() for person in people]
    assert len({card.expires_at for card in cards}) == 1
    world.trouble.shuffle()
    loop = asyncio.get_running_loop()
    for person, card in zip(people, cards, strict=True):
        loop.call_later(PERMISSION_S, _at_once, person.click(card, "Allow edit"))
    await world.advance(PERMISSION_S)
    for card in cards:
        assert lineup.ledger.verdicts(card.call_id) == ["call/accepted", "result/rejected: expired"]
        assert lineup.ledger.pair(card.call_id) == "expired/expired"
    assert {outcome for _, outcome in answers(lineup)} == {"cancelled"}
    assert len(answers(lineup)) == len(people)
    assert nothing_ran(lineup)


@scenario("LU-09", needs=("scale",))
async def test_nobody_answers(world: World) -> None:
    """At 55 s the card is gone, the agent has heard cancelled, once, and the turn goes on; at 60 s nothing more
    happens. Silence is no yes."""
    lineup = await world.lineup()
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    shown_s = world.now_s
    await world.until(shown_s + PERMISSION_S - world.tick_s)
    assert card.enabled
    assert answers(lineup) == []
    await world.until(shown_s + PERMISSION_S)
    await world.settle()
    assert (card.state, card.disposition) == ("expired", None)
    assert answers(lineup) == [(0, "cancelled")]
    assert await heard(lineup) == "Well."
    await world.until(shown_s + AGENT_S + 1)
    assert answers(lineup) == [(0, "cancelled")]
    assert lineup.agent_log("hermes.denied_itself") == []
    assert nothing_ran(lineup)


@scenario("LU-09", needs=("scale",))
@pytest.mark.parametrize(("ahead_s", "life_s"), LIVES)
async def test_a_model_may_say_how_long_its_card_lives(world: World, ahead_s: float, life_s: float) -> None:
    """30 s to 30 minutes ahead are kept; what is nearer, farther or past becomes 10 minutes. The card then lives
    exactly so long."""
    lineup = await world.lineup()
    person = lineup.person()
    answer_s = world.now_s + FIRST_PROMPT_S
    text = _choice("timed", _wall(world, answer_s + ahead_s))
    await lineup.model.script("timed", Say(text, piece_chars=len(text)))
    await person.say("a timed card")
    card = await person.card()
    assert world.now_s == answer_s
    _lives(world, card, life_s)
    await world.until(answer_s + life_s - world.tick_s)
    assert card.state == "emitted"
    await world.until(answer_s + life_s)
    await world.settle()
    assert card.state == "expired"


@scenario("LU-09")
async def test_what_is_no_time_is_ten_minutes(world: World) -> None:
    """A model that gives no RFC 3339 time in UTC that ends in Z: the card is shown, and lives 10 minutes."""
    lineup = await world.lineup()
    person = lineup.person()
    for number, text in enumerate(TEXTS):
        await lineup.model.script(f"word{number}.", _choice(f"card-{number}", text))
        await person.say(f"word{number}.")
        _lives(world, await person.card(), MODEL_S)
    assert len(person.cards) == len(TEXTS)


def _at_once(click: Coroutine[Any, Any, None]) -> None:
    """By a timer itself, as early in the instant as the one of a card: a virtual wire takes a frame without waiting."""
    with pytest.raises(StopIteration):
        click.send(None)


def _choice(call_id: str, expires_at: Any) -> str:
    whole = json.loads(choice(call_id, [("a", "A")]))
    whole["payload"]["expires_at"] = expires_at
    return json.dumps(whole)


def _wall(world: World, at_s: float) -> str:
    moment = datetime.fromtimestamp(world.wall_s, UTC) + timedelta(seconds=at_s - world.now_s)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def _lives(world: World, card: Any, life_s: float) -> None:
    """It says so itself: `expires_at` is that far from now."""
    ahead = datetime.fromisoformat(card.expires_at) - datetime.fromtimestamp(world.wall_s, UTC)
    slack = 0.0 if world.mode == "virtual" else 2.0
    assert abs(ahead.total_seconds() - life_s) <= slack + 1e-6, f"expires_at is {ahead} ahead; expected {life_s} s"
