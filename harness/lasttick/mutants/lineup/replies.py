"""Wrong readers of a reply: cards that nobody may show, blocks that are none, pieces that are put together wrong.

Source: contract lineup C-2, C-6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.model.lineup import blocks, cards, results
from lasttick.model.lineup.blocks import Reply
from lasttick.mutants import Mutant
from lasttick.reference.lineup import turns

INSISTS = "lineup/insisting/several-answers-at-once-are-never-asked-for"
OUT_OF_SCOPE = "lineup/insisting/what-is-out-of-scope-comes-into-being-for-nobody"
ROWS = "lineup/replies/every-row-of-the-table-in-pieces"


def one_of_many(right: Any) -> Callable[..., Any]:
    """Several answers at once are made into one that nobody asked for."""

    def card(payload: Mapping[str, Any], *given: Any) -> Any:
        data = payload.get("data")
        group = data.get("action_group") if isinstance(data, Mapping) else None
        if not isinstance(group, Mapping):
            return right(payload, *given)
        known = {name: value for name, value in group.items() if name in ("mode", "actions")}
        return right({**payload, "data": {"action_group": {**known, "mode": "single-choice"}}}, *given)

    return card


def first_of_several(right: Any) -> Callable[..., Reply]:
    """Of several blocks the first is read, as if it stood alone."""

    def read(text: str, stop_reason: str | None) -> Reply:
        reply: Reply = right(text, stop_reason)
        if reply.refusal != blocks.SEVERAL_BLOCKS:
            return reply
        first = blocks._blocks(text)[0][0]
        return Reply(reply.shown, first.envelope["payload"])

    return read


def any_tool(right: Any) -> Callable[..., Any]:
    """A tool that nobody published is shown all the same."""
    return lambda tool, inventory: right(tool, inventory) or (lambda data: results.tool_schema())


def known_members_only(right: Any) -> Callable[..., Any]:
    """A member that does not belong there is passed over, not refused."""

    def members(value: Any, path: str, required: Any, optional: Any = ()) -> Any:
        if isinstance(value, Mapping):
            value = {name: there for name, there in value.items() if name in (*required, *optional)}
        return right(value, path, required, optional)

    return members


def a_line_for_each(chunks: Iterable[str]) -> str:
    return "\n".join(chunk for chunk in chunks if chunk)


def each_trimmed(right: Any) -> Callable[..., str]:
    return lambda chunks: right(chunk.strip(" ") for chunk in chunks)


def always_to_the_end(right: Any) -> Callable[..., Reply]:
    return lambda text, stop_reason: right(text, blocks.END_TURN)


def beside_words(right: Any) -> Callable[..., Reply]:
    """A block is a block, whatever else the reply says of cards."""

    def read(text: str, stop_reason: str | None) -> Reply:
        reply: Reply = right(text, stop_reason)
        found = blocks._blocks(text)[0]
        if reply.refusal != blocks.NOT_ALONE or len(found) != 1:
            return reply
        return replace(reply, block=found[0].envelope["payload"], refusal=None, audits=())

    return read


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/multi-choice-becomes-single",
        breaks="LU-05",
        text="a multi-choice card is shown as a single choice, and its command is dropped",
        killed_by=INSISTS,
        patch=lambda seam: seam.wrap(cards, "model_card", one_of_many),
    ),
    Mutant(
        "lineup/first-of-several-blocks",
        breaks="LU-05",
        text="of several cards in one reply the first is judged as if it stood alone",
        killed_by=INSISTS,
        patch=lambda seam: seam.wrap(blocks, "read_reply", first_of_several),
    ),
    Mutant(
        "lineup/unpublished-tool-is-shown",
        breaks="LU-12",
        text="a card of a tool that nobody published is shown",
        killed_by=OUT_OF_SCOPE,
        patch=lambda seam: seam.wrap(cards, "available", any_tool),
    ),
    Mutant(
        "lineup/command-is-passed-over",
        breaks="LU-12",
        text="a card with a command in it is shown without it, instead of refused",
        killed_by=OUT_OF_SCOPE,
        patch=lambda seam: seam.wrap(cards, "members", known_members_only),
    ),
    Mutant(
        "lineup/pieces-are-lines",
        breaks="LU-19",
        text="the pieces of a reply are put together as lines",
        killed_by=ROWS,
        patch=lambda seam: seam.replace(turns, "joined", a_line_for_each),
    ),
    Mutant(
        "lineup/pieces-are-trimmed",
        breaks="LU-19",
        text="blanks at the end of a piece are lost",
        killed_by=ROWS,
        patch=lambda seam: seam.wrap(turns, "joined", each_trimmed),
    ),
    Mutant(
        "lineup/cut-off-reply-shows-its-card",
        breaks="LU-19",
        text="a block counts although the reply was cut off behind it",
        killed_by="lineup/replies/a-reply-that-was-cut-off-shows-no-card",
        patch=lambda seam: seam.wrap(blocks, "read_reply", always_to_the_end),
    ),
    Mutant(
        "lineup/card-beside-a-marker",
        breaks="LU-19",
        text="a card is shown although the reply quotes another one",
        killed_by=ROWS,
        patch=lambda seam: seam.wrap(blocks, "read_reply", beside_words),
    ),
]
