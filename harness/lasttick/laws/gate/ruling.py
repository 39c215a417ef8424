"""What does the gate say of each law, and with which exit code? Results held against scope and baseline. Pure.

A known failure keeps a word of its own. A law that the scope promises has to be run, decided, and judged as well as
promised; without a scope file every law that was played promises a verdict. Source: contract laws, "Files"; DESIGN
"exit codes".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypeAlias

from lasttick.checks import worst
from lasttick.evidence import ScenarioResult
from lasttick.laws.gate.baseline import Known
from lasttick.laws.gate.scope import JUDGES, Promise, Scope, policy_differences, weaker

PASSED, FAILED, INCONCLUSIVE = 0, 1, 4
POLICY = "scope/policy"
Word: TypeAlias = Literal["pass", "fail", "inconclusive", "not_applicable", "known"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """One law. `reason`: "" for a pass; `promised`: whether an inconclusive verdict turns the gate red."""

    law: str
    word: Word
    reason: str = ""
    cases: int = 0
    seconds: float = 0.0
    judged: str = JUDGES[0]
    replies: tuple[str, ...] = ()
    promised: bool = True
    scenarios: tuple[ScenarioResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """What results are held against. `scope`: None without a file; `only`: the laws that were asked for, None for all.

    `policy`: what the profile declares today; `today`: the day of the wall clock.
    """

    scope: Scope | None
    policy: Mapping[str, str]
    baseline: Sequence[Known]
    today: date
    only: Sequence[str] | None = None

    def among(self, laws: Sequence[str]) -> Rules:
        """The same, when only these laws are asked for."""
        return replace(self, only=tuple(laws))

    def all(self, results: Iterable[ScenarioResult]) -> list[Ruling]:
        """A ruling for each law, and for what the scope misses, sorted by id."""
        found = [self.of(ruling) for ruling in by_law(results)]
        if self.scope is not None:
            played = [ruling.law for ruling in found]
            for law, promise in self.scope.laws.items():
                if law not in played and (self.only is None or law in self.only):
                    reason = f"it was not run, and the scope promises {promise.cases} cases"
                    found.append(Ruling(law, "fail", reason))
            differences = list(policy_differences(self.scope, self.policy))
            if differences:
                found.append(Ruling(POLICY, "fail", "\n".join(differences)))
        return sorted(found, key=lambda ruling: ruling.law)

    def of(self, ruling: Ruling) -> Ruling:
        """What one law's own word becomes."""
        known = [entry for entry in self.baseline if entry.law == ruling.law]
        if known:
            ruling = _held_against_baseline(ruling, known, self.today)
        if self.scope is None:
            return ruling
        promise = self.scope.laws.get(ruling.law)
        return replace(ruling, promised=False) if promise is None else _held_against_scope(ruling, promise)


def by_law(results: Iterable[ScenarioResult]) -> list[Ruling]:
    """What the laws themselves say, sorted by id. A law of several scenarios: the worst, and all cases together."""
    of: dict[str, list[ScenarioResult]] = {}
    for result in sorted(results, key=lambda result: result.id):
        for law in result.laws:
            of.setdefault(law, []).append(result)
    return [_joined(law, of[law]) for law in sorted(of)]


def scope_of(rulings: Iterable[Ruling], policy: Mapping[str, str]) -> Scope:
    """What a later run must show again: every law that holds."""
    laws = {one.law: Promise(one.cases, one.judged) for one in rulings if one.word == "pass"}
    return Scope(laws, policy)


def exit_code(rulings: Sequence[Ruling]) -> int:
    """1: a law is broken, or the scope; 4: a promised verdict is missing, or nothing was judged at all."""
    words = [ruling.word for ruling in rulings]
    if "fail" in words:
        return FAILED
    if any(ruling.word == "inconclusive" and ruling.promised for ruling in rulings):
        return INCONCLUSIVE
    return PASSED if "pass" in words or "known" in words else INCONCLUSIVE


def _joined(law: str, results: Sequence[ScenarioResult]) -> Ruling:
    word = worst(result.verdict for result in results)
    speaking = [result for result in results if result.verdict == word]
    played = [result for result in results if result.verdict != "not_applicable"]
    return Ruling(
        law,
        word,
        "\n".join(result.reason for result in speaking if result.reason),
        cases=sum(result.cases or 0 for result in results),
        seconds=sum(result.duration_s for result in results),
        judged=min((result.judged or JUDGES[0] for result in played), key=JUDGES.index, default=JUDGES[0]),
        replies=tuple(reply for result in speaking for reply in result.replies),
        scenarios=tuple(results),
    )


def _held_against_scope(ruling: Ruling, promise: Promise) -> Ruling:
    if ruling.word == "not_applicable":
        reason = f"the scope promises {promise.cases} cases, and it was not run: {ruling.reason}"
        return replace(ruling, word="fail", reason=reason)
    if ruling.word == "pass" and (lack := weaker(promise, ruling.cases, ruling.judged)):
        return replace(ruling, word="fail", reason=lack)
    return ruling


def _held_against_baseline(ruling: Ruling, known: Sequence[Known], today: date) -> Ruling:
    if ruling.word == "pass":
        wrong = next((entry for entry in known if entry.verdict == "fails" or entry.over(today)), None)
        if wrong is None:
            return ruling
        said = "is over" if wrong.verdict == "flaky" else "says that it fails, and it passes"
        reason = f"the baseline entry ({wrong.shown()}) {said}; remove the entry"
        return replace(ruling, word="fail", reason=reason)
    if ruling.word != "fail":
        return ruling
    covering = [entry for entry in known if entry.covers(ruling.reason)]
    if not covering:
        return ruling
    current = next((entry for entry in covering if not entry.over(today)), None)
    if current is None:
        return replace(ruling, reason=f"{ruling.reason}\n(was {covering[0].shown()}: that day is over)")
    return replace(ruling, word="known", reason=f"{current.shown()}: {ruling.reason}")
