"""The adapters of the acceptance review, each with the defect that was found in it (contract lineup C-11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lasttick.model.lineup import cards, results
from lasttick.model.lineup.records import Card
from lasttick.model.lineup.shape import ShapeError
from lasttick.mutants import Mutant, Seam
from lasttick.reference.lineup.conversation import Quiet
from lasttick.reference.lineup.turns import Turns

OLD_LIFE = timedelta(seconds=300)
OLD_TIMEOUT_S = 50.0
PERMISSION = "permission"


@contextmanager
def old_permission(seam: Seam) -> Iterator[None]:
    """Only `action_ids` for a permission; a card lives 300 s; the response time-out, 50 s, runs while
    it is open and leaves it so."""
    with ExitStack() as stack:
        only_ids = refusing("choice", "action_id", "action_ids", only=PERMISSION)
        stack.enter_context(seam.wrap(results, "reader", only_ids))
        stack.enter_context(seam.wrap(cards, "permission_card", marked))
        stack.enter_context(seam.replace(cards, "PERMISSION_LIFE", OLD_LIFE))
        stack.enter_context(seam.wrap(Turns, "__init__", hasty))
        stack.enter_context(seam.wrap(Turns, "_close_all", leaving_open))
        stack.enter_context(seam.replace(Quiet, "hold", lambda self: None))
        stack.enter_context(seam.replace(Quiet, "release", lambda self, now_ns: None))
        yield


def refusing(kind: str, short: str, long: str, *, only: str | None = None) -> Callable[[Any], Callable[..., Any]]:
    """Of the two ways to say one answer, the adapter knows the long one. `only`: where that mark stands in
    the schema."""

    def wrong(right: Any) -> Callable[..., Any]:
        def reader(schema: Mapping[str, Any]) -> Any:
            read = right(schema)
            if read is None or schema.get("kind") != kind:
                return read

            def strict(schema: Mapping[str, Any], result: Mapping[str, Any]) -> Any:
                if short in result and (only is None or only in schema):
                    raise ShapeError("result", f"{short} given; expected {long}")
                return read(schema, result)

            return strict

        return reader

    return wrong


def marked(right: Any) -> Callable[..., Any]:
    """The schema of a permission says that it is one."""

    def permission_card(*asked: Any) -> Any:
        card = right(*asked)
        return replace(card, schema={**card.schema, PERMISSION: True}) if isinstance(card, Card) else card

    return permission_card


def hasty(right: Any) -> Callable[..., None]:
    return lambda self, shop, agent_factory, response_timeout_s: right(self, shop, agent_factory, OLD_TIMEOUT_S)


def leaving_open(right: Any) -> Callable[..., None]:
    def close_all(self: Turns, later: Any, conversation: Any, event: str) -> None:
        if event != "response_timeout":
            right(self, later, conversation, event)

    return close_all


def showing_several(right: Any) -> Callable[..., Any]:
    """A card of several answers is read as one of a single answer is, and shown as the model wrote it."""

    def model_card(payload: Mapping[str, Any], inventory: Any, wall: Any) -> Any:
        data = payload.get("data")
        group = data.get("action_group") if isinstance(data, Mapping) else None
        if not isinstance(group, Mapping) or group.get("mode") != "multi-choice":
            return right(payload, inventory, wall)
        single = {**payload, "data": {"action_group": {**group, "mode": "single-choice"}}}
        card = right(single, inventory, wall)
        if not isinstance(card, Card):
            return card
        return replace(card, data={"action_group": group}, schema={**card.schema, "mode": "multi-choice"})

    return model_card


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/only-action-ids",
        breaks="LU-17",
        text="a click that the host sends as action_id is rejected, and the agent waits until it gives up",
        killed_by="lineup/recorded/the-recorded-permission-is-granted",
        patch=old_permission,
    ),
    Mutant(
        "lineup/only-values",
        breaks="LU-17",
        text="a text that the host sends as text is rejected, and the model is never told",
        killed_by="lineup/recorded/the-recorded-clarification-closes",
        patch=lambda seam: seam.wrap(results, "reader", refusing("input", "text", "values")),
    ),
    Mutant(
        "lineup/multi-choice-shown",
        breaks="LU-17",
        text="a card that asks for several answers is shown",
        killed_by="lineup/recorded/the-recorded-multi-choice-is-refused",
        patch=lambda seam: seam.wrap(cards, "model_card", showing_several),
    ),
]
