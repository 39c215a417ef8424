"""What does a fake phone remember, and what may a tap do to it?

The whole memory of a device is one frozen `State`; a tap has one of five effects, each plain data, and `apply` is the
only place where an effect becomes a new state. Pure: no clock, no drawing, no device. Source: contract hostagent,
"fake drivers".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Pairs: TypeAlias = tuple[tuple[str, T], ...]

HOME = "home"
ON = "on"


@dataclass(frozen=True, slots=True)
class State:
    """What one device remembers. Hashable, so that equal states can share a rendered screen.

    `values` are texts by key (fields, switches, remembered choices), `scroll` the first visible row by list, both
    sorted.
    """

    screen: str = HOME
    focus: str | None = None
    values: Pairs[str] = ()
    scroll: Pairs[int] = ()

    def value(self, key: str) -> str:
        """The text under `key`; "" when nothing was put there."""
        return dict(self.values).get(key, "")

    def first_row(self, list_id: str) -> int:
        return dict(self.scroll).get(list_id, 0)

    def with_value(self, key: str, text: str) -> State:
        return replace(self, values=_put(self.values, key, text))

    def with_first_row(self, list_id: str, row: int) -> State:
        return replace(self, scroll=_put(self.scroll, list_id, row))


@dataclass(frozen=True, slots=True)
class Go:
    """Show another screen."""

    screen: str


@dataclass(frozen=True, slots=True)
class Focus:
    """Give a text field the keyboard."""

    field: str


@dataclass(frozen=True, slots=True)
class Toggle:
    """Flip a switch."""

    key: str


@dataclass(frozen=True, slots=True)
class Move:
    """Empty one value into another: a message that is sent."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Choose:
    """Remember which row was tapped, and show the screen about it."""

    key: str
    value: str
    screen: str


Effect: TypeAlias = Go | Focus | Toggle | Move | Choose

INITIAL = State()
"""A device that was just switched on: the home screen. All devices share it, so a thousand cost nothing."""


def apply(state: State, effect: Effect) -> State:
    """The state after a tap's effect. Leaving a screen takes the keyboard away."""
    match effect:
        case Go(screen):
            return replace(state, screen=screen, focus=None)
        case Focus(field):
            return replace(state, focus=field)
        case Toggle(key):
            return state.with_value(key, "" if state.value(key) == ON else ON)
        case Move(source, target):
            return state.with_value(target, state.value(source)).with_value(source, "")
        case Choose(key, value, screen):
            return replace(state.with_value(key, value), screen=screen, focus=None)


def _put(pairs: Pairs[T], key: str, value: T) -> Pairs[T]:
    return tuple(sorted({**dict(pairs), key: value}.items()))
