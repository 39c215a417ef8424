"""Wrong versions of whose run it is, what is checked in which order, and what is written down."""

from __future__ import annotations

from lasttick.mutants import Mutant

MUTANTS: list[Mutant] = []
