"""`lasttick check`: the laws on a live target, and an exit code for CI.

What is printed is one line per law as it ends, and why. Source: contract laws; DESIGN "exit codes".
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lasttick.cli.errors import INCONCLUSIVE, PASSED, UsageError
from lasttick.cli.pytest_runs import refuse_wrong_workers

if TYPE_CHECKING:
    from lasttick.laws.gate.plan import Plan, PlannedLaw
    from lasttick.laws.gate.preflight import Seen
    from lasttick.laws.gate.ruling import Rules, Ruling
    from lasttick.laws.profiles.loaded import Loaded
    from lasttick.laws.profiles.profile import Profile
    from lasttick.ports import Clock

BUDGET = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([smh])")
SMOKE = "VC-22"
"""The one requirement that is played on a live target by itself: it has no profile, only an environment."""
UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed."""

    config: Path
    only: tuple[str, ...] = ()
    budget: str | None = None
    junit: Path | None = None
    markdown: Path | None = None
    plan: bool = False
    write_scope: bool = False
    workers: str | None = None
    verbose: bool = False
    target: str | None = None


def check(asked: Asked, clock: Clock | None = None) -> int:
    """Raises UsageError, GateError, Unreachable, ProfileError, SmokeRefused; each carries its exit code."""
    if SMOKE in asked.only:
        return _smoke(asked)
    if asked.target is not None:
        raise UsageError("--target without --only VC-22", "the target of the laws in --config", "drop one of them")
    budget_s = seconds_of(asked.budget)
    _refuse_wrong_options(asked)
    from lasttick.laws.profiles.load import load

    loaded = load(asked.config, os.environ)
    rules = _rules(asked, loaded, clock)
    from lasttick.cli.check_play import collect, play

    found = collect(asked.config, asked.only) if asked.plan or asked.only else None
    if asked.plan:
        assert found is not None
        return _print_plan([one.planned for one in found], loaded, asked.config)
    if found is not None:
        rules = rules.among([one.planned.law for one in found])
    for option, file in _files(asked):
        _refuse_unwritable(option, file)
    played = play(
        loaded,
        asked.config,
        rules,
        nodes=None if found is None else [one.node for one in found],
        budget_s=budget_s,
        workers=asked.workers,
        verbose=asked.verbose,
    )
    if played.code is not None:
        return played.code
    return _finish(asked, rules, played.rulings, loaded, sound=played.sound)


def _smoke(asked: Asked) -> int:
    """Raises UsageError, SmokeRefused."""
    if asked != Asked(asked.config, only=(SMOKE,), target=asked.target):
        raise UsageError(
            f"--only {SMOKE} with other options",
            f"--only {SMOKE} alone, or with --target: the smoke suite takes the rest from its environment",
            "drop the others",
        )
    from lasttick.cli.smoke import smoke

    return smoke(asked.target)


def seconds_of(budget: str | None) -> float | None:
    """`90s`, `10m` or `1h` in seconds. Raises UsageError."""
    if budget is None:
        return None
    match = BUDGET.fullmatch(budget)
    seconds = float(match[1]) * UNIT_S[match[2]] if match else 0.0
    if seconds <= 0:
        raise UsageError(f"--budget is {budget!r}", "a time above 0 such as 90s, 10m or 1h", "try --budget 10m")
    return seconds


def _refuse_wrong_options(asked: Asked) -> None:
    refuse_wrong_workers(asked.workers)
    if (blank := next((only for only in asked.only if not only.strip()), None)) is not None:
        raise UsageError(f"--only is {blank!r}", "the id of a law, part of one, or a pattern", "drop it for all")
    for other, given in (("--plan", asked.plan), ("--only", bool(asked.only))):
        if asked.write_scope and given:
            raise UsageError(
                f"--write-scope with {other}", "a whole run, as the scope is what it shows", f"drop {other}"
            )


def _rules(asked: Asked, loaded: Loaded, clock: Clock | None) -> Rules:
    """Scope and baseline beside the profile, under its name. Raises GateError for one that cannot be read."""
    from lasttick.engine.clock import SystemClock
    from lasttick.laws.gate.baseline import read_baseline
    from lasttick.laws.gate.ruling import Rules
    from lasttick.laws.gate.scope import policy_of, read_scope
    from lasttick.requirements import load_catalogue

    laws = [law.id for law in load_catalogue().laws]
    scope = read_scope(asked.config.with_suffix(".scope"))
    return Rules(
        scope=None if asked.write_scope else scope,
        policy=policy_of(loaded.profile),
        baseline=read_baseline(asked.config.with_suffix(".baseline.toml"), laws),
        today=(clock or SystemClock()).wall().date(),
    )


def _finish(asked: Asked, rules: Rules, rulings: list[Ruling], loaded: Loaded, *, sound: bool) -> int:
    """The files that were asked for, and the exit code. `sound`: whether every law that was started is in there."""
    from lasttick.laws.gate.outcome_files import junit, markdown, summary
    from lasttick.laws.gate.ruling import exit_code, scope_of

    code = exit_code(rulings)
    if code == PASSED and not sound:
        code = INCONCLUSIVE
    print(f"\n{summary(rulings)}; exit code {code}")
    if not rulings:
        print("lasttick: nothing was judged, so nothing is shown", file=sys.stderr)
    if asked.write_scope:
        scope = scope_of(rulings, rules.policy)
        if _write(file := asked.config.with_suffix(".scope"), scope.text()):
            print(f"{file} promises {len(scope.laws)} laws: commit it")
    if asked.junit is not None:
        _write(asked.junit, junit(rulings))
    if asked.markdown is not None:
        _write(asked.markdown, markdown(rulings, target=loaded.place, code=code))
    return code


def _files(asked: Asked) -> list[tuple[str, Path]]:
    """What is written when the laws are over, with the option that asks for it."""
    scope = asked.config.with_suffix(".scope") if asked.write_scope else None
    files = [("--junit", asked.junit), ("--markdown", asked.markdown), ("--write-scope", scope)]
    return [(option, file) for option, file in files if file is not None]


def _refuse_unwritable(option: str, file: Path) -> None:
    """Before anything is sent: a path that cannot be written must not cost the verdict. Raises UsageError."""
    try:
        is_new = not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8"):
            pass
        if is_new:
            file.unlink()
    except OSError as error:
        why = f"{option}: {file} cannot be written: {error.strerror or error}"
        raise UsageError(why, "a file in a folder that you may write", "name another file") from error


def _write(file: Path, text: str) -> bool:
    """Whether it could be written. If not any more, the verdict stands all the same."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"lasttick: {file} could not be written: {error.strerror or error}", file=sys.stderr)
        return False
    return True


def _print_plan(laws: list[PlannedLaw], loaded: Loaded, config: Path) -> int:
    """Raises GateError when the tolerance does not fit the target's round trip."""
    from lasttick.laws.deployment import Deployment
    from lasttick.laws.gate.beginning import measure
    from lasttick.laws.gate.errors import Unreachable
    from lasttick.laws.gate.outcome_files import plain
    from lasttick.laws.gate.plan import plan
    from lasttick.laws.gate.preflight import Seen
    from lasttick.laws.judges.tools import unseen

    async def planned() -> Plan:
        return await plan(laws, Deployment(loaded.profile, run="plan"), seen.resources or 1, seen.tools)

    note = ""
    try:
        seen = asyncio.run(measure(loaded, config))
    except Unreachable as error:
        seen, note = Seen(), str(error).partition("\n")[0]
    found = asyncio.run(planned())
    for line in found.lines:
        what = f"{line.seconds:5.0f} s" if not line.why_not else f"{'-':>7}"
        print(f"{what}  {line.law:<30}  {line.why_not}".rstrip())
    running = [line.seconds for line in found.lines if not line.why_not]
    print(
        f"\n{len(running)} of {len(found.lines)} laws run, in about {found.seconds:.0f} s "
        f"({sum(running):.0f} s one after the other; {_resources(seen)})"
    )
    if found.gaps:
        print("\nwhat each gap costs")
        for verb, lost in found.gaps.items():
            print(f"  {verb:<16}  {', '.join(lost)}")
    if lacking := _planned_later(loaded.profile):
        print(f"\nnot built yet: {lacking}")
    if loaded.profile.profile != "none":
        print(f"\nthe dialect of {loaded.profile.profile} is played by `lasttick run`, not yet on a live target")
    print(f"\n{_round_trip(seen, note)}")
    for sentence in unseen(loaded.profile, seen.tools):
        print(f"lasttick: {plain(sentence)}", file=sys.stderr)
    return PASSED


def _planned_later(profile: Profile) -> str:
    """Laws of the catalogue that no code plays yet, of the sections that the profile binds."""
    from lasttick.requirements import load_catalogue

    sections = [verb.partition(".")[0] for verb in profile.bound_verbs()]
    later = [law.id for law in load_catalogue().laws if law.planned is not None]
    return ", ".join(id_ for id_ in later if id_.partition("/")[0] in sections)


def _resources(seen: Seen) -> str:
    if seen.resources is None:
        return "one resource at a time, as nothing says how many there are"
    return f"{seen.resources} resource{'' if seen.resources == 1 else 's'} at a time"


def _round_trip(seen: Seen, note: str) -> str:
    if note:
        return f"the round trip was not measured: {note}"
    if seen.round_trip_s is None:
        return "the round trip was not measured: the profile binds no verb that reads"
    return f"the median round trip is {seen.round_trip_s * 1000:.1f} ms"
