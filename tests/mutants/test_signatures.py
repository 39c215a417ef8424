"""Does a wrong version still take what the right one is given? One that does not fails at every call: a kill by its
`TypeError` proves nothing about the requirement it breaks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lasttick.mutants import Mutant, Seam, catalogue

MUTANTS = catalogue()


class Compared(Seam):
    """Notes each replaced function that could not be called as the right one is."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    @contextmanager
    def replace(self, owner: Any, name: str, value: Any) -> Iterator[None]:
        if (problem := narrower(getattr(owner, name, None), value)) is not None:
            self.wrong.append(f"{name}: {problem}")
        with super().replace(owner, name, value):
            yield


def narrower(right: Any, wrong: Any) -> str | None:
    """What the right function is called with and the wrong one refuses; None when there is no such thing."""
    if not (inspect.isfunction(right) and inspect.isfunction(wrong)):
        return None
    takes = inspect.signature(wrong).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in takes):
        return None
    names = {one.name for one in takes}
    missing = [
        one.name
        for one in inspect.signature(right).parameters.values()
        if one.kind is one.KEYWORD_ONLY and one.name not in names
    ]
    return f"does not take {', '.join(missing)}" if missing else None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_wrong_version_takes_what_the_right_one_takes(mutant: Mutant) -> None:
    seam = Compared()
    with mutant.patch(seam):
        assert seam.wrong == [], f"{mutant.id}: {seam.wrong}; take them too, for example as **named"


def test_the_comparison_sees_a_wrong_version_that_takes_less() -> None:
    def right(a: int, *, b: int) -> None: ...

    def wrong(a: int) -> None: ...

    def wide(a: int, **named: int) -> None: ...

    assert narrower(right, wrong) == "does not take b"
    assert narrower(right, wide) is narrower(right, right) is None
