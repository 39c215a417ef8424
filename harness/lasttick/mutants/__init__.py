"""Named wrong versions of a reference: each a patch at one seam, with the requirement it breaks.

A check that nobody has seen fail proves nothing. A mutant is never an `if` inside the reference: it replaces one
attribute of a module or class while a part runs. Source: contract world, "Requirement and mutant".
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

_MISSING = object()


class Seam:
    """What a mutant's patch is given: ways to replace one attribute, put back exactly at the end."""

    @contextmanager
    def replace(self, owner: Any, name: str, value: Any) -> Iterator[None]:
        """`owner.name` is `value` for the time being. Raises AttributeError when the seam is gone."""
        if not hasattr(owner, name):
            raise AttributeError(f"{owner!r} has no {name!r}: the seam of a mutant moved; mend the mutant's patch")
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, value)
        try:
            yield
        finally:
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def wrap(self, owner: Any, name: str, wrong: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """`owner.name` becomes `wrong(the right one)`."""
        return self.replace(owner, name, wrong(getattr(owner, name)))


@dataclass(frozen=True, slots=True)
class Mutant:
    """`breaks`: the requirement id; `ruling`: the number of the ruling that names it; `text`: what it gets wrong.

    `killed_by`: the scenario id known to turn red, which the project's own tests show.
    """

    id: str
    breaks: str
    text: str
    killed_by: str
    patch: Callable[[Seam], AbstractContextManager[None]]
    ruling: int | None = None

    @property
    def system(self) -> str:
        """Whose wrong version it is: the first part of its id."""
        return self.id.partition("/")[0]

    def applied(self) -> AbstractContextManager[None]:
        """While open, parts that start are the wrong version."""
        return self.patch(Seam())


class UnknownMutant(Exception):
    """No mutant has that id; the message names close ones."""


SYSTEMS = ("gateway", "hostagent", "lineup", "vaultclaw")


def catalogue(systems: Sequence[str] = SYSTEMS) -> list[Mutant]:
    """All mutants of these systems, sorted by id. A system's are loaded with the reference that they patch."""
    rooms = (importlib.import_module(f"{__name__}.{system}") for system in systems)
    return sorted((mutant for room in rooms for mutant in room.MUTANTS), key=lambda mutant: mutant.id)


def find(mutant_id: str) -> Mutant:
    """The mutant of that id. Only its own system is loaded. Raises UnknownMutant."""
    system = mutant_id.partition("/")[0]
    known = {mutant.id: mutant for mutant in catalogue((system,) if system in SYSTEMS else SYSTEMS)}
    if mutant_id not in known:
        close = difflib.get_close_matches(mutant_id, known, n=3, cutoff=0.3)
        raise UnknownMutant(
            f"unknown mutant {mutant_id!r}; expected an id such as {', '.join(close or sorted(known)[:3])}; "
            "`lasttick requirements` lists the mutants of each requirement"
        )
    return known[mutant_id]
