"""The scenario mark: which requirement or law a test proves, and what it needs to run.

Source: contract world, "Scenario and world", "Modes and controls".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

MARK = "lasttick_scenario"
CLAIMS_MAX = 3
RUNGS = ("model", "memory", "http", "process", "live")
NEEDS_VIRTUAL = ("every-await", "scale", "schedule", "suspend", "wall-clock")
NEEDS_PROCESS = ("browser", "kill-process", "signals")


@dataclass(frozen=True, slots=True)
class LawSpec:
    """What a law needs of a profile. `seconds`: how long it takes in real time, by the profile; `invariant`: judged
    over everything the run sent, so it is played last; `restarts`: it may restart the target, so it is played alone."""

    verbs: tuple[str, ...]
    callers: int
    seconds: Callable[[Any], float]
    invariant: bool
    restarts: bool


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """What a mark says. `sees`: what the examples must have shown between them, else the scenario is inconclusive."""

    claims: tuple[str, ...]
    needs: tuple[str, ...] = ()
    rung: str = "http"
    sees: tuple[str, ...] = ()
    law: LawSpec | None = None


def scenario(*claims: str, needs: Sequence[str] = (), rung: str = "http", sees: Sequence[str] = ()) -> Any:
    """Mark an async test as a scenario that proves `claims` (requirement ids; at most three).

    `needs` is a closed list (virtual only: wall-clock, suspend, every-await, schedule, scale; process only:
    browser, kill-process, signals); `rung` is how real the virtual run is; `sees` names what the examples must have
    shown in virtual mode: a sight of `lasttick.checks.seen`, or what `world.saw` was told. Raises ValueError for
    anything else, when the file is imported.
    """
    import pytest

    if not 1 <= len(claims) <= CLAIMS_MAX or not all(isinstance(claim, str) for claim in claims):
        raise ValueError(
            f"@scenario{claims!r}: expected 1 to {CLAIMS_MAX} requirement or law ids as strings (contract world, "
            '"Scenario and world"); split the test, or write @scenario("HA-06")'
        )
    if isinstance(needs, str) or isinstance(sees, str):
        raise ValueError(
            f'@scenario: needs={needs!r}, sees={sees!r}; expected sequences of texts (contract world, "Scenario and '
            'world"); write needs=["wall-clock"]'
        )
    for need in needs:
        if need not in NEEDS_VIRTUAL + NEEDS_PROCESS:
            known = ", ".join(NEEDS_VIRTUAL + NEEDS_PROCESS)
            raise ValueError(f"@scenario: needs={need!r} is unknown; expected one of {known} (contract world)")
    if rung not in RUNGS:
        raise ValueError(f"@scenario: rung={rung!r} is unknown; expected one of {', '.join(RUNGS)} (DESIGN, 'rung')")
    spec = ScenarioSpec(tuple(claims), tuple(needs), rung, tuple(sees))
    return getattr(pytest.mark, MARK)(spec)


def law(
    law_id: str,
    *,
    verbs: Sequence[str] = (),
    callers: int = 1,
    seconds: Callable[[Any], float] = lambda profile: 1.0,
    invariant: bool = False,
    restarts: bool = False,
) -> Any:
    """Mark `async def test_...(target: Target)` as a law: written in verbs only, for any target with a profile.

    `verbs` are those without which it is not applicable, `callers` how many different ones it needs, `seconds` its
    real time from a `Profile`; `restarts`: it restarts a target that can be, so nothing else runs beside it there.
    Source: contract laws.
    """
    import pytest

    if not isinstance(law_id, str) or "/" not in law_id:
        raise ValueError(f"@law({law_id!r}): expected a law id as in lease/exclusive (contract laws, catalogue)")
    spec = ScenarioSpec((law_id,), law=LawSpec(tuple(verbs), callers, seconds, invariant, restarts))
    return getattr(pytest.mark, MARK)(spec)


def scenario_id(nodeid: str) -> str:
    """`scenarios/hostagent/test_lease.py::test_free_at_ttl[2]` -> `hostagent/lease/free-at-ttl[2]`."""
    from lasttick.requirements import ids

    path, _, name = nodeid.partition("::")
    parts = PurePosixPath(path).parts
    if "scenarios" in parts:
        parts = parts[len(parts) - parts[::-1].index("scenarios") :]
    return ids.scenario_id(PurePosixPath(*parts), name)


def item_id(item: Any) -> str:
    """The id of a collected scenario.

    Of a file outside the root folder, as in a wheel, pytest's node id begins wherever the argument ended
    (`--pyargs lasttick.scenarios.hostagent`), and the id must not depend on that.
    """
    file, _, name = item.nodeid.partition("::")
    if not item.path.is_relative_to(item.config.rootpath) and "scenarios" in item.path.parts:
        file = item.path.as_posix()
    return scenario_id(f"{file}::{name}")


def not_applicable(spec: ScenarioSpec, mode: str) -> str | None:
    """Why this scenario cannot be judged in this mode, or None."""
    foreign = {"virtual": NEEDS_PROCESS, "process": NEEDS_VIRTUAL, "live": NEEDS_PROCESS + NEEDS_VIRTUAL}[mode]
    for need in spec.needs:
        if need in foreign:
            return f"needs {need}; {mode} mode has none"
    if mode == "virtual" and spec.rung == "process":
        return "runs on the process rung; virtual mode has no processes"
    if mode == "process" and spec.rung in ("model", "memory"):
        return f"runs on the {spec.rung} rung; process mode has only processes"
    return None
