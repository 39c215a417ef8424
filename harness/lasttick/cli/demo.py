"""`lasttick demo`: a story that goes wrong on a broken server and right on a fixed one, in under three seconds.

It plays a scenario of the suite twice, first against a mutant, and draws what the phone itself saw.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from lasttick.checks import exclusive
from lasttick.cli.errors import FAILED, PASSED, UsageError
from lasttick.mutants import Mutant, find
from lasttick.report import lanes
from lasttick.requirements import scenarios_folder
from lasttick.targets.run import ScenarioRun

STORY = ("journeys/test_long_call.py", "test_a_call_outlives_its_lease", "journeys/long-call/a-call-outlives-its-lease")
MUTANT = "hostagent/lease-expires-mid-call"
WIDTH = 100


def demo() -> int:
    """Play, draw, explain. Exit code 0 when the broken server failed and the fixed one passed, else 1."""
    story = _story(scenarios_folder(Path.cwd()))
    mutant = find(MUTANT)
    print("A device lease lasts 60 s. Alice's tap on phone-1 takes 90 s. Bob asks for the phone at 60 s.\n")
    print(f"1. A server that lets the lease expire under the call (mutant {MUTANT})\n")
    broken = _play(story, mutant)
    verdict = exclusive(broken.events)
    print(lanes(broken.events, width=WIDTH))
    print(f"\nFAIL {verdict.id} lease/exclusive: {verdict.reason}")
    print(f"  replay: lasttick run {STORY[2]} --target hostagent=mutant:{MUTANT}\n")
    print("2. The fixed server: a running call pins its lease, and the TTL runs from the call's end\n")
    fixed = _play(story, None)
    print(lanes(fixed.events, width=WIDTH))
    right = exclusive(fixed.events)
    print(f"\nPASS {right.id} lease/exclusive: one holder at every instant, as the phone's own log shows")
    print(f"  {broken.virtual_s + fixed.virtual_s:.0f} virtual seconds; `lasttick explain {verdict.id}` says more")
    return PASSED if (verdict.verdict, right.verdict) == ("fail", "pass") else FAILED


def _play(story: Any, mutant: Mutant | None) -> ScenarioRun:
    run = ScenarioRun(story, scenario_id=STORY[2], seed=1, mode="virtual", mutant=mutant)
    try:
        run.example()
    except AssertionError:
        if mutant is None:
            raise
    return run


def _story(folder: Path) -> Any:
    """The scenario's function, loaded from its file as pytest would. Raises UsageError when it is not there."""
    file = folder / STORY[0]
    if not file.is_file():
        raise UsageError(
            f"{file} is not there", "the scenarios that come with lasttick", "run it in a folder without scenarios/"
        )
    spec = importlib.util.spec_from_file_location("lasttick_demo_story", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, STORY[1])
