"""An adapter that dies at one of its steps, and what its next run owes by what the ledger held at that instant.

What is owed is read from the rows that the dead one left, by the contract's table and not by the adapter's code.
Source: contract lineup, C-4 and C-8.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from lasttick import World
from lasttick_fakes.host import NotSeen
from lasttick_fakes.model import Call, cards

TURN_LOST = "turn lost"
CARD_CLOSED = "closed without an answer"
MAY_NOT_HAVE_REACHED = "may not have reached the agent"
NOT_REPEATED = "not sent again"
LEGAL = ("completed/resolved", "expired/expired", "aborted/aborted", "completed/-", "expired/-", "aborted/-")
"""Pairs of states after a restart: nothing is open."""
PERMISSION, MODEL = "a permission", "a card of the model"
FILE = "note.txt"
PICK = "pick-1"
MESSAGE = "lineup.v1.message"
PROMPT = "session/prompt"
AGENT_S = 10.0
"""Longer than an agent takes for whatever it still has to do."""


@dataclass(frozen=True, slots=True)
class Story:
    """What the person says, and the action that they choose on the card that comes."""

    name: str
    says: str
    action: str


STORIES = {story.name: story for story in (Story(PERMISSION, "please write", "action_01"), Story(MODEL, "ask me", "b"))}


async def prepared(world: World, **options: Any) -> Any:
    """An adapter whose agent writes a file when it is asked to, and asks with a card of its own when told so."""
    lineup = await world.lineup(come=False, **options)
    await lineup.model.script("write", Call.one("write_file", path=FILE, content="a note"), "Well.")
    await lineup.model.script("ask me", cards.choice(PICK, [("a", "One"), ("b", "Two")]))
    await lineup.model.script(PICK, "Noted.")
    return lineup


async def play(world: World, lineup: Any, story: Story) -> None:
    """As far as the adapter lives."""
    person = lineup.person()
    try:
        await lineup.come()
        await person.say(story.says)
        card = await person.card()
        await person.answer(card.call_id, "completed", {"action_id": story.action})
        await person.text("agent")
        await world.settle()
    except (ConnectionError, NotSeen):
        return


async def crashed(world: World, lineup: Any, story: Story) -> str:
    """Play until the adapter dies, as it was told to; the name of the step."""
    world.start(play(world, lineup, story))
    return str(await lineup.crashed())


@dataclass(frozen=True, slots=True)
class Left:
    """What a dead adapter left. `owed`: what the person must be told; `prompts`: by call, how often its result may
    reach the model in all, and how often it must."""

    calls: dict[str, str]
    owed: list[str]
    prompts: dict[str, tuple[int, int]]


def left(lineup: Any) -> Left:
    """Read from the ledger of an adapter that is dead."""
    sent = {row["call_id"]: row["sent_at"] for row in lineup.ledger.interactions}
    owed, prompts = [], {}
    for call in lineup.ledger.calls:
        call_id, is_model, is_done = call["call_id"], call["source"] == "model", call["state"] == "completed"
        if call["state"] == "emitted":
            owed.append(CARD_CLOSED)
        elif is_done and not is_model and sent[call_id] is None:
            owed.append(MAY_NOT_HAVE_REACHED)
        elif is_done and is_model and call["prompt_started_at"] is not None and call["delivered_at"] is None:
            owed.append(NOT_REPEATED)
        if is_model and is_done:
            prompts[call_id] = (1, 1 if call["prompt_started_at"] is None or call["delivered_at"] is not None else 0)
    messages = lineup.ledger.messages()
    ended = [row["body"].get("turn") for row in messages if (row["dir"], row["type"]) == ("in", PROMPT)]
    begun = [row["seq"] for row in messages if (row["dir"], row["peer"], row["type"]) == ("in", "host", MESSAGE)]
    owed += [TURN_LOST for seq in begun if seq not in ended]
    return Left({call["call_id"]: call["state"] for call in lineup.ledger.calls}, owed, prompts)


def twice(first: Left, second: Left) -> Left:
    """Of two deaths one after the other: what the first run in between has not said the next one must."""
    more = [words for words in second.owed if words not in first.owed]
    return Left(first.calls, [*first.owed, *more], second.prompts)


async def answered_again(world: World, lineup: Any, story: Story) -> None:
    """The host sends the same result as before, to whatever card there is."""
    for call in lineup.ledger.calls:
        await lineup.person().answer(call["call_id"], "completed", {"action_id": story.action})
    await world.advance(AGENT_S)


async def judged(lineup: Any, story: Story, dead: Left, where: str) -> None:
    """Everything that must hold after the crash, the restart, and the same result again."""
    ledger = lineup.ledger
    assert [call["call_id"] for call in ledger.calls] == list(dead.calls), where
    for call_id, state in dead.calls.items():
        assert ledger.pair(call_id) in LEGAL, f"{where}: {call_id} is {ledger.pair(call_id)}"
        end, reason = ("aborted", "aborted") if state == "emitted" else (state, "already resolved")
        assert ledger.call(call_id)["state"] == end, where
        assert ledger.verdicts(call_id)[-1] == f"result/rejected: {reason}", where
    told = [one.text for one in lineup.person().said if one.role == "system"]
    for words in (TURN_LOST, CARD_CLOSED, MAY_NOT_HAVE_REACHED, NOT_REPEATED):
        found = [text for text in told if words in text]
        assert len(found) == dead.owed.count(words), f"{where}: of {dead.owed} the person was told {told}"
    _agent_heard_once(lineup, where)
    for call_id, (most, least) in dead.prompts.items():
        assert least <= await result_prompts(lineup, call_id) <= most, where
        begun = [row for row in ledger.messages() if (row["dir"], row["type"]) == ("out", PROMPT)]
        assert sum(row["body"].get("call_id") == call_id for row in begun) == 1, where
    assert await user_prompts(lineup, story) <= 1, where
    assert lineup.problems == [], where


def _agent_heard_once(lineup: Any, where: str) -> None:
    """At most one answer, an allowing one only if it was recorded, and a file only behind that."""
    heard = [event.data["frame"]["result"]["outcome"].get("optionId") for event in lineup.agent_log("hermes.answered")]
    assert len(heard) <= 1, f"{where}: the agent heard {heard}"
    recorded = [row["outcome"] for row in lineup.ledger.interactions]
    assert all(option in recorded for option in heard), f"{where}: the agent heard {heard}, recorded is {recorded}"
    wrote = lineup.agent_log("hermes.wrote")
    assert not wrote or heard == ["allow_once"], where
    assert (lineup.files / FILE).exists() == bool(wrote), where


async def result_prompts(lineup: Any, call_id: str) -> int:
    """How often the model was told the answer to that card, by its own log."""
    asked = [request for request in await lineup.model.requests() if not request.helper]
    return sum(_is_result(str(request.messages[-1]["content"]), call_id) for request in asked)


async def user_prompts(lineup: Any, story: Story) -> int:
    """How often the model was asked what the person said, by its own log."""
    asked = [request.messages[-1] for request in await lineup.model.requests() if not request.helper]
    return sum(last["role"] == "user" and str(last["content"]).endswith(story.says) for last in asked)


def _is_result(text: str, call_id: str) -> bool:
    line = text.splitlines()[-1] if text else ""
    try:
        value = json.loads(line)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("payload", {}).get("call_id") == call_id
