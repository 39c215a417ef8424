"""The corpus reaches all tools, names each script once, and is the same for the same seed."""

from __future__ import annotations

from lasttick.compare.corpus import corpus
from lasttick.compare.corpus_tools import NAMES
from lasttick.compare.script import Call
from lasttick.reference.vaultclaw.tools import all_tools


def called(scripts: object) -> set[str]:
    return {step.tool for script in scripts for step in script.steps if isinstance(step, Call)}  # type: ignore[attr-defined]


def test_it_reaches_all_forty_tools() -> None:
    assert {f"vaultclaw_{name}" for name in NAMES} == {tool.name for tool in all_tools()}
    assert called(corpus(1, 0)) == set(NAMES)


def test_names_are_distinct() -> None:
    names = [script.name for script in corpus(1)]
    assert len(set(names)) == len(names)


def test_a_seed_makes_up_the_same_calls_and_another_seed_others() -> None:
    assert corpus(7, 90, "generated/") == corpus(7, 90, "generated/")
    assert corpus(7, 90, "generated/")[0].steps != corpus(8, 90, "generated/")[0].steps
    assert sum(len(script.steps) for script in corpus(7, 90, "generated/")) == 90
