"""How does an exchange go, against whatever adapter the world runs? One text for the broken and the fixed one.

A story never looks at whether the adapter is right: it does what the person did, and goes on when the adapter says no.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.reproduce.exchanges import Exchange
from lasttick.reproduce.kept import BEFORE_RESTART, keep
from lasttick_fakes.model import Call
from lasttick_fakes.model.cards import choice, inputs

if TYPE_CHECKING:
    from lasttick.targets.lineup.handle import Lineup
    from lasttick.targets.world import World

PATIENCE_S = 120.0
"""Longer than any time-out that an adapter was seen with."""
QUIET_S = 10.0
FIELD_CHARS = 4_000
CARD, TEXT = "lineup.v1.tool.call", "lineup.v1.message"


async def play(world: World, exchange: Exchange, out: Path, old_ledger: bytes | None = None) -> None:
    """Play it, and leave in `out` what ledger, host, agent, model and disk say. `old_ledger`: the file of an adapter
    that ran before this one."""
    folder = world.path / "lineup"
    if old_ledger is not None:
        folder.mkdir(parents=True)
        (folder / "lineup.sqlite").write_bytes(old_ledger)
    lineup = await world.lineup(folder=folder)
    await _STORIES[exchange.story](world, lineup, exchange, out)
    await keep(lineup, out)


async def _permission(world: World, lineup: Lineup, exchange: Exchange, out: Path) -> None:
    """The agent wants to write, the person clicks, and clicks again when it is over; then the adapter is restarted."""
    write = Call.one("write_file", path=exchange.path, content=exchange.content)
    await lineup.model.script(exchange.prompt, write, exchange.final)
    person = lineup.person()
    await person.say(exchange.prompt)
    card = await person.card()
    result = {"action_id": exchange.choose}
    await person.answer(card.call_id, "completed", result)
    await person.told(card, 1)
    await person.text(within_s=PATIENCE_S)
    said = len(card.states)
    await person.answer(card.call_id, "completed", result)
    await person.told(card, said + 1)
    lineup.ledger.copy(out / BEFORE_RESTART)
    await lineup.restart()
    await world.settle()


async def _clarify(world: World, lineup: Lineup, exchange: Exchange, out: Path) -> None:
    """The model asks with a choice and then with an input; the person answers both."""
    first, second = exchange.call_ids
    field = {"id": "text", "label": exchange.label, "max_length": FIELD_CHARS}
    await lineup.model.script(exchange.prompt, choice(first, exchange.actions))
    await lineup.model.script(first, inputs(second, [field]))
    await lineup.model.script(second, exchange.final)
    person = lineup.person()
    await person.say(exchange.prompt)
    card = await person.card()
    await person.answer(card.call_id, "completed", {"action_id": exchange.choose})
    card = await person.card()
    await person.answer(card.call_id, "completed", {"text": exchange.content})
    told = await person.told(card, 1)
    if told.disposition == "accepted":
        await person.text("agent")
    else:
        await world.advance(QUIET_S)


async def _multi(world: World, lineup: Lineup, exchange: Exchange, out: Path) -> None:
    """An old card is answered, if there is one; then a model insists on several answers, and another one does not."""
    person = lineup.person()
    for row in lineup.ledger.calls:
        await person.answer(row["call_id"], "completed", {"action_id": exchange.choose})
    await world.settle()
    (call_id,) = exchange.call_ids
    for reply in (choice(call_id, exchange.actions, mode="multi-choice"), exchange.final):
        await lineup.model.script(exchange.prompt, reply)
        seen = len(lineup.frames())
        # A host that is new to an old ledger must not use the ids of the one before it.
        await person.say(exchange.prompt, f"message-{len(lineup.ledger.messages()) + 1}")
        await lineup.host.seen(partial(_shown, lineup, seen), "answer of the agent", PATIENCE_S)
        await world.settle()


def _shown(lineup: Lineup, after: int) -> Mapping[str, Any] | None:
    """A card or a text, right or wrong, that the host got since."""
    return next((frame for frame in lineup.frames()[after:] if frame.get("type") in (CARD, TEXT)), None)


_STORIES: Mapping[str, Callable[..., Awaitable[None]]] = {
    "permission": _permission,
    "clarify": _clarify,
    "multi": _multi,
}
