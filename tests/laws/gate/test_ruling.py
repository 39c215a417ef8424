"""Results held against scope and baseline: which word, which exit code."""

from __future__ import annotations

from datetime import date
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.evidence import ScenarioResult, VerdictWord
from lasttick.laws.gate.baseline import Known
from lasttick.laws.gate.ruling import POLICY, Rules, Ruling, by_law, exit_code, scope_of
from lasttick.laws.gate.scope import Promise, Scope

TODAY = date(2026, 6, 1)
LAW = "lease/exclusive"
POLICIES = {"lag_s": "1"}


def result(verdict: VerdictWord = "pass", law: str = LAW, reason: str = "", **more: Any) -> ScenarioResult:
    more = {"cases": 4, "judged": "effects", **more}
    return ScenarioResult(f"laws/{law}", (), (law,), verdict, reason, 1.5, 0.0, **more)


def rules(
    promise: Promise | None = None,
    known: Known | None = None,
    *,
    scope: bool = True,
    only: tuple[str, ...] | None = None,
) -> Rules:
    laws = {} if promise is None else {LAW: promise}
    return Rules(Scope(laws, POLICIES) if scope else None, POLICIES, (known,) if known else (), TODAY, only)


def known(verdict: Any = "fails", until: date = TODAY, case: str | None = None) -> Known:
    return Known(LAW, verdict, until, "X-1", case)


PROMISE = Promise(4, "effects")
YESTERDAY = date(2026, 5, 31)


@pytest.mark.parametrize(
    ("held_against", "ended", "word", "code"),
    [
        # No scope file: every law that was played promises a verdict.
        (rules(scope=False), result(), "pass", 0),
        (rules(scope=False), result("fail", reason="x"), "fail", 1),
        (rules(scope=False), result("inconclusive", reason="x"), "inconclusive", 4),
        (rules(scope=False), result("not_applicable", reason="x"), "not_applicable", 4),
        # A scope file promises what it says.
        (rules(PROMISE), result(), "pass", 0),
        (rules(PROMISE), result(cases=9), "pass", 0),
        (rules(PROMISE), result(cases=3), "fail", 1),
        (rules(PROMISE), result(judged="answers"), "fail", 1),
        (rules(PROMISE), result("inconclusive", reason="x"), "inconclusive", 4),
        (rules(PROMISE), result("not_applicable", reason="no verb"), "fail", 1),
        (rules(), result("fail", reason="x"), "fail", 1),
        # The baseline.
        (rules(PROMISE, known()), result("fail", reason="x"), "known", 0),
        (rules(PROMISE, known()), result(), "fail", 1),
        (rules(PROMISE, known()), result("inconclusive", reason="x"), "inconclusive", 4),
        (rules(PROMISE, known(until=YESTERDAY)), result("fail", reason="x"), "fail", 1),
        (rules(PROMISE, known("flaky")), result("fail", reason="x"), "known", 0),
        (rules(PROMISE, known("flaky")), result(), "pass", 0),
        (rules(PROMISE, known("flaky", YESTERDAY)), result(), "fail", 1),
        (rules(PROMISE, known("flaky")), result(cases=1), "fail", 1),
        (rules(PROMISE, known(case="step back")), result("fail", reason="a step back freed it"), "known", 0),
        (rules(PROMISE, known(case="step back")), result("fail", reason="two holders"), "fail", 1),
    ],
)
def test_word_and_exit_code(held_against: Rules, ended: ScenarioResult, word: str, code: int) -> None:
    (ruling,) = held_against.all([ended])
    assert ruling.word == word
    assert exit_code([ruling]) == code
    assert ruling.reason or word == "pass"


def test_an_inconclusive_law_outside_the_scope_leaves_the_rest_green() -> None:
    other = result("inconclusive", "lease/clock-proof", "no clock.step")
    rulings = rules(PROMISE).all([result(), other])
    assert [ruling.promised for ruling in rulings] == [False, True]
    assert exit_code(rulings) == 0
    assert exit_code(rules(scope=False).all([result(), other])) == 4


def test_a_failure_says_more_than_a_missing_verdict() -> None:
    rulings = rules(PROMISE).all([result("inconclusive", reason="x"), result("fail", "lease/clock-proof", "y")])
    assert exit_code(rulings) == 1


def test_what_the_scope_promises_and_was_not_played() -> None:
    assert [ruling.reason for ruling in rules(PROMISE).all([])] == ["it was not run, and the scope promises 4 cases"]
    assert rules(PROMISE, only=("lease/clock-proof",)).all([]) == []
    assert [ruling.law for ruling in rules(PROMISE, only=(LAW,)).all([])] == [LAW]


def test_a_policy_that_differs_is_red_also_when_only_one_law_is_asked_for() -> None:
    changed = Rules(Scope({}, {"lag_s": "9"}), POLICIES, (), TODAY, (LAW,))
    ruling = next(ruling for ruling in changed.all([result()]) if ruling.law == POLICY)
    assert ruling.reason == "lag_s: the scope says 9, the profile 1"
    assert exit_code(changed.all([result()])) == 1


def test_nothing_at_all_is_no_pass() -> None:
    assert exit_code([]) == 4


def test_the_last_day_over_is_said_beside_the_reason() -> None:
    (ruling,) = rules(None, known(until=YESTERDAY)).all([result("fail", reason="two holders")])
    assert ruling.reason == "two holders\n(was known until 2026-05-31, X-1: that day is over)"


def test_an_entry_that_is_still_good_wins_over_one_that_is_over() -> None:
    both = Rules(None, POLICIES, (known(until=YESTERDAY), known()), TODAY)
    assert both.all([result("fail", reason="x")])[0].word == "known"


def test_a_law_of_several_scenarios_is_the_worst_of_them() -> None:
    parts = [
        result(cases=2, judged="effects", replies=("good",)),
        result("fail", reason="two holders", cases=1, judged="answers", replies=("bad",)),
        result("not_applicable", reason="no verb", cases=0, judged=""),
    ]
    for order in permutations(parts):
        (ruling,) = by_law(order)
        assert (ruling.word, ruling.reason, ruling.cases, ruling.judged) == ("fail", "two holders", 3, "answers")
        assert ruling.replies == ("bad",)
        assert ruling.seconds == 4.5


def test_a_scope_holds_what_passed() -> None:
    rulings = rules(scope=False).all([result(), result("fail", "lease/clock-proof", "x")])
    scope = scope_of(rulings, POLICIES)
    assert scope == Scope({LAW: PROMISE}, POLICIES)
    assert Rules(scope, POLICIES, (), TODAY).all([result()])[0].word == "pass"


words = st.sampled_from(["pass", "fail", "inconclusive", "not_applicable", "known"])


@given(st.lists(st.builds(Ruling, st.just(LAW), words, promised=st.booleans())))
def test_only_a_pass_or_a_known_failure_is_green_and_nothing_red_beside_it(rulings: list[Ruling]) -> None:
    code = exit_code(rulings)
    red = any(one.word == "fail" for one in rulings)
    missing = any(one.word == "inconclusive" and one.promised for one in rulings)
    good = any(one.word in ("pass", "known") for one in rulings)
    assert code == (1 if red else 4 if missing or not good else 0)
