"""What does a goal of the cloud ask for, step by step?

A goal is sentences `tap LABEL`, `open APP`, `type TEXT` joined by ` then `. Planning is pure: where a label is on the
screen is known only when its step is reached, so a plan names labels and the executor finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

JOIN = " then "


@dataclass(frozen=True, slots=True)
class Tap:
    """Find this label on the screen and tap it."""

    label: str


@dataclass(frozen=True, slots=True)
class Open:
    """Launch this app."""

    app: str


@dataclass(frozen=True, slots=True)
class Type:
    """Type this text into the field that has the focus."""

    text: str


GoalStep: TypeAlias = Tap | Open | Type
VERBS: dict[str, type[Tap] | type[Open] | type[Type]] = {"tap": Tap, "open": Open, "type": Type}


class GoalError(ValueError):
    """A sentence that no plan can be made of."""


def plan(goal: str) -> tuple[GoalStep, ...]:
    """The steps of a goal, in order. Raises GoalError and names the sentence that is wrong."""
    return tuple(_step(sentence) for sentence in goal.split(JOIN))


def _step(sentence: str) -> GoalStep:
    verb, _, object_ = sentence.strip().partition(" ")
    object_ = object_.strip()
    if verb not in VERBS or not object_:
        raise GoalError(
            f"cannot plan {sentence!r}; expected `tap LABEL`, `open APP` or `type TEXT`, joined by `{JOIN}`; "
            "rewrite this sentence of the goal"
        )
    return VERBS[verb](object_)
