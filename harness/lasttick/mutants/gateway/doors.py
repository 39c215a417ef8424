"""Wrong versions of who may come in, and what may be called through which door."""

from __future__ import annotations

from lasttick.mutants import Mutant

MUTANTS: list[Mutant] = []
