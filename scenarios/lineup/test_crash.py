"""An adapter that is killed, wherever that is: it says yes once, and of what is in doubt a person hears.

Source: contract lineup, C-4, C-8.
"""

from __future__ import annotations

import itertools

import pytest

from lasttick import World, scenario

from .steps_crash import (
    AGENT_S,
    CARD_CLOSED,
    MAY_NOT_HAVE_REACHED,
    MODEL,
    NOT_REPEATED,
    PERMISSION,
    STORIES,
    TURN_LOST,
    answered_again,
    crashed,
    judged,
    left,
    play,
    prepared,
    twice,
)

PERMISSION_FRAME = "session/request_permission"
FRAMES = (
    "agent initialize",
    "agent session/new",
    "agent session/prompt",
    "host lineup.v1.tool.call",
    "host lineup.v1.tool.state",
    "host lineup.v1.message",
)
"""What any of these stories sends, at the least."""
OWED = {
    PERMISSION: {TURN_LOST, CARD_CLOSED, MAY_NOT_HAVE_REACHED},
    MODEL: {TURN_LOST, CARD_CLOSED, NOT_REPEATED},
}
"""What some step of the story leaves in doubt: a matrix that meets less of it has not shown what it is for."""
RECOVERIES = {
    PERMISSION: ("after commit: permission card", "after commit: result accepted"),
    MODEL: ("after commit: prompt end", "after commit: result accepted"),
}


@scenario("LU-10", rung="memory")
@pytest.mark.parametrize("name", list(STORIES))
async def test_killed_at_every_commit_and_every_frame(world: World, name: str) -> None:
    """A run without a crash says which steps there are. Then the adapter dies at each of them in turn, is started again
    and gets the same result again: nothing is open, nothing is answered or asked twice, all doubt is told."""
    story = STORIES[name]
    whole = await prepared(world)
    await play(world, whole, story)
    steps = whole.steps
    await whole.stop()
    print(f"{name}: {len(steps)} steps to die at")
    world.trace.emit("harness", "crash.matrix", None, story=name, steps=steps)
    for frame in FRAMES:
        assert f"before frame: {frame}" in steps
    assert (f"after frame: agent {PERMISSION_FRAME}" in steps) == (name == PERMISSION)
    commits = [step for step in steps if step.startswith("before commit: ")]
    assert [step for step in steps if step.startswith("after commit: ")] == [
        step.replace("before", "after") for step in commits
    ]

    owed: set[str] = set()
    for number, step in enumerate(steps):
        lineup = await prepared(world, crash_at=number)
        assert await crashed(world, lineup, story) == step
        dead = left(lineup)
        owed.update(dead.owed)
        await lineup.start()
        await world.settle()
        await answered_again(world, lineup, story)
        await judged(lineup, story, dead, f"{name}, {number} of {len(steps)}, {step}")
        await lineup.stop()
    assert owed == OWED[name]


@scenario("LU-10", rung="memory")
@pytest.mark.parametrize("name", list(STORIES))
async def test_killed_again_while_it_recovers(world: World, name: str) -> None:
    """The next run dies too, at each of its own steps: the third one owes what is left, and says nothing twice."""
    story = STORIES[name]
    whole = await prepared(world)
    await play(world, whole, story)
    steps = whole.steps
    await whole.stop()
    tried = []
    for step in RECOVERIES[name]:
        number = len(steps) - 1 - steps[::-1].index(step)
        for again in itertools.count():
            lineup = await prepared(world, crash_at=number)
            assert await crashed(world, lineup, story) == step
            dead = left(lineup)
            lineup.crash_at(again)
            await lineup.start()
            await world.advance(AGENT_S)
            if len(lineup.steps) <= again:
                await lineup.stop()
                break
            where = f"{name}, {step}, then {again}: {await lineup.crashed()}"
            dead = twice(dead, left(lineup))
            await lineup.start()
            await world.settle()
            await answered_again(world, lineup, story)
            await judged(lineup, story, dead, where)
            await lineup.stop()
            tried.append(where)
    print(f"{name}: {len(tried)} steps of a recovery to die at")
    assert len(tried) > 2 * len(RECOVERIES[name])


@scenario("LU-10")
@pytest.mark.parametrize("name", list(STORIES))
async def test_a_card_that_was_open_is_closed_and_takes_no_answer(world: World, name: str) -> None:
    """Killed with a card open, and started again: the card is aborted, the person is told, the same click as ever is
    rejected, and nothing came of it. The next request of the same kind is a new card, which is answered as usual."""
    story = STORIES[name]
    lineup = await prepared(world)
    await lineup.come()
    person = lineup.person()
    await person.say(story.says)
    card = await person.card()
    await lineup.kill()
    dead = left(lineup)
    assert dead.owed.count(CARD_CLOSED) == 1
    await lineup.start()
    assert (await person.closed(card)).state == "aborted"
    await person.answer(card.call_id, "completed", {"action_id": story.action})
    late = await person.told(card, len(card.states) + 1)
    assert (late.state, late.disposition, late.reason) == ("aborted", "rejected", "aborted")
    await judged(lineup, story, dead, name)

    if name == PERMISSION:
        await person.say(story.says)
        again = await person.card()
        await person.answer(again.call_id, "completed", {"action_id": story.action})
        await person.text("agent")
        assert lineup.ledger.pair(again.call_id) == "completed/resolved"
        assert len(lineup.agent_log("hermes.wrote")) == 1
