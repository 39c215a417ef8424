"""`lasttick demo`: two stories that go wrong on a broken server and right on a fixed one, in a few seconds.

It plays scenarios of the suite twice, first against a mutant, and draws what the phone or the vault itself saw.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.checks import Verdict, exclusive, silence
from lasttick.cli.errors import FAILED, PASSED, UsageError
from lasttick.engine.trace import Event
from lasttick.mutants import Mutant, find
from lasttick.report import lanes
from lasttick.requirements import scenarios_folder
from lasttick.targets.run import ScenarioRun

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Story:
    """One scenario to play twice, and the texts around it. `law`: the portable form of what it shows."""

    intro: str
    file: str
    function: str
    scenario_id: str
    mutant: str
    broken: str
    fixed: str
    check: Callable[[Sequence[Event]], Verdict]
    law: str
    right: str


STORIES = (
    Story(
        intro="A device lease lasts 60 s. Alice's tap on phone-1 takes 90 s. Bob asks for the phone at 60 s.",
        file="journeys/test_long_call.py",
        function="test_a_call_outlives_its_lease",
        scenario_id="journeys/long-call/a-call-outlives-its-lease",
        mutant="hostagent/lease-expires-mid-call",
        broken="A server that lets the lease expire under the call",
        fixed="The fixed server: a running call pins its lease, and the TTL runs from the call's end",
        check=exclusive,
        law="lease/exclusive",
        right="one holder at every instant, as the phone's own log shows",
    ),
    Story(
        intro="An agent of acme wants to send a mail, which needs a person's yes. Nobody answers for ten minutes.",
        file="journeys/test_silence.py",
        function="test_nobody_answers",
        scenario_id="journeys/silence/nobody-answers",
        mutant="vaultclaw/silence-is-allow",
        broken="A server that takes silence for a yes",
        fixed="The fixed server: the wait ends at its deadline, as a time-out, and the mail is not sent",
        check=silence,
        law="approval/silence-is-not-yes",
        right="nobody was told of a yes that nobody said, as the vault's own record shows",
    ),
)


def demo() -> int:
    """Play, draw, explain. Exit code 0 when the broken servers failed and the fixed ones passed, else 1."""
    folder = scenarios_folder(Path.cwd())
    shown = [_show(story, 2 * place + 1, _scenario(folder, story)) for place, story in enumerate(STORIES)]
    return PASSED if all(shown) else FAILED


def _show(story: Story, number: int, function: Any) -> bool:
    """Both plays of one story, told; whether they went as they must."""
    if number > 1:
        print()
    print(f"{story.intro}\n")
    print(f"{number}. {story.broken} (mutant {story.mutant})\n")
    broken = _play(story, function, find(story.mutant))
    verdict = story.check(broken.events)
    print(lanes(broken.events, width=WIDTH))
    print(f"\nFAIL {verdict.id} {story.law}: {verdict.reason}")
    system = story.mutant.partition("/")[0]
    print(f"  replay: lasttick run {story.scenario_id} --target {system}=mutant:{story.mutant}\n")
    print(f"{number + 1}. {story.fixed}\n")
    fixed = _play(story, function, None)
    print(lanes(fixed.events, width=WIDTH))
    right = story.check(fixed.events)
    print(f"\nPASS {right.id} {story.law}: {story.right}")
    print(f"  {broken.virtual_s + fixed.virtual_s:.0f} virtual seconds; `lasttick explain {verdict.id}` says more")
    return (verdict.verdict, right.verdict) == ("fail", "pass")


def _play(story: Story, function: Any, mutant: Mutant | None) -> ScenarioRun:
    run = ScenarioRun(function, scenario_id=story.scenario_id, seed=1, mode="virtual", mutant=mutant)
    try:
        run.example()
    except AssertionError:
        if mutant is None:
            raise
    return run


def _scenario(folder: Path, story: Story) -> Any:
    """The scenario's function, loaded from its file as pytest would. Raises UsageError when it is not there."""
    file = folder / story.file
    if not file.is_file():
        raise UsageError(
            f"{file} is not there", "the scenarios that come with lasttick", "run it in a folder without scenarios/"
        )
    spec = importlib.util.spec_from_file_location(f"lasttick_demo_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, story.function)
