"""The whole corpus: the forty tools, the contract's examples, a scene for each ruling, and what a seed makes up."""

from __future__ import annotations

from collections.abc import Sequence

from lasttick.compare import corpus_examples, corpus_rulings, corpus_tools, generated
from lasttick.compare.script import Scene, Script

GENERATED = 200
"""How many calls a seed makes up, unless told otherwise."""


def corpus(seed: int, calls: int = GENERATED, only: str = "") -> list[Script]:
    """All scripts whose name has `only` in it, in their order. `calls`: how many the seed makes up."""
    made = (corpus_tools.scripts(), corpus_examples.scripts(), corpus_rulings.scripts(), generated.scripts(seed, calls))
    return [script for scripts in made for script in scripts if only in script.name]


def scenes(scripts: Sequence[Script]) -> list[Scene]:
    """All observed steps of these scripts, in order."""
    return [scene for script in scripts for scene in script.scenes()]
