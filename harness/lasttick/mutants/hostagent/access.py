"""Wrong host agents: access."""

from __future__ import annotations

from lasttick.mutants import Mutant

MUTANTS: list[Mutant] = []
