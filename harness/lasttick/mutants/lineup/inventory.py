"""Wrong versions of which tools a model's card may name, and of who is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from lasttick.model.lineup import cards, instructions, results
from lasttick.model.lineup.records import Inventory
from lasttick.mutants import Mutant, Seam
from lasttick.reference.lineup.core import Adapter

PUBLISHED = "lineup/inventory/a-tool-is-there-while-it-is-published"


def gated(right: Any) -> Callable[..., Any]:
    """Without an inventory there is nothing, not even a choice."""
    return lambda tool, inventory: None if inventory.revision is None else right(tool, inventory)


def any_tool(right: Any) -> Callable[..., Any]:
    def available(tool: str, inventory: Inventory) -> Any:
        return right(tool, inventory) or (lambda data: results.tool_schema())

    return available


def unchecked(tool: Any, data: Any) -> dict[str, Any]:
    return results.tool_schema()


def kept(right: Any) -> Callable[..., Any]:
    """Whoever comes or goes, the inventory stays."""

    def wrong(self: Adapter, *given: Any) -> None:
        inventory = self._turns.inventory
        right(self, *given)
        self._turns.inventory = inventory

    return wrong


def outlives_its_link(seam: Seam) -> AbstractContextManager[None]:
    @contextmanager
    def both() -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(seam.wrap(Adapter, "attach", kept))
            stack.enter_context(seam.wrap(Adapter, "host_gone", kept))
            yield

    return both()


def added(right: Any) -> Callable[..., Any]:
    """A new inventory adds to the old one and takes nothing away."""

    def published(self: Adapter, inventory: Inventory) -> None:
        both = {**(self._turns.inventory.tools or {}), **(inventory.tools or {})}
        right(self, Inventory(inventory.revision, both))

    return published


def as_at_first(right: Any) -> Callable[..., Any]:
    """The model is told the rules of cards, and never what the host has."""
    return lambda inventory: right(Inventory())


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/cards-gated-by-inventory",
        breaks="LU-13",
        text="before the host has published an inventory, a choice and an input are refused",
        killed_by="lineup/inventory/cards-at-no-inventory",
        patch=lambda seam: seam.wrap(cards, "available", gated),
    ),
    Mutant(
        "lineup/any-tool-is-there",
        breaks="LU-13",
        text="a card for a tool that nobody published is shown",
        killed_by=PUBLISHED,
        patch=lambda seam: seam.wrap(cards, "available", any_tool),
    ),
    Mutant(
        "lineup/arguments-are-not-checked",
        breaks="LU-13",
        text="a tool's arguments may be anything",
        killed_by="lineup/inventory/arguments-are-those-of-the-inventory",
        patch=lambda seam: seam.replace(cards, "_tool_data", unchecked),
    ),
    Mutant(
        "lineup/inventory-outlives-its-link",
        breaks="LU-13",
        text="a new host is taken to have what the last one published",
        killed_by=PUBLISHED,
        patch=outlives_its_link,
    ),
    Mutant(
        "lineup/inventories-add-up",
        breaks="LU-13",
        text="a newer inventory takes nothing away",
        killed_by=PUBLISHED,
        patch=lambda seam: seam.wrap(Adapter, "_published", added),
    ),
    Mutant(
        "lineup/inventory-is-not-told",
        breaks="LU-13",
        text="the model is not told which tools there are",
        killed_by="lineup/inventory/the-model-is-told-what-there-is",
        patch=lambda seam: seam.wrap(instructions, "instructions", as_at_first),
    ),
]
