"""Wrong versions of the agent half: what its child gets, advertises and is registered with."""

from __future__ import annotations

from lasttick.mutants import Mutant

MUTANTS: list[Mutant] = []
