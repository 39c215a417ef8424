"""Wrong versions of which tools a run gets, and what stays as it was with the flag off."""

from __future__ import annotations

from lasttick.mutants import Mutant

MUTANTS: list[Mutant] = []
