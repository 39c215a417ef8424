"""What laws show on the permission-card adapter: how much they judge, and the sentence for what a wrong one did."""

from __future__ import annotations

import pytest

from .verdicts import on_reference

SILENCE, DECIDER = "approval/silence-is-not-yes", "approval/decider-only"
CASES = {
    SILENCE: (
        "the deadline passed",
        "the asker was cut",
        "the answer was no decision",
        "the answer was a text about the word for yes",
        "the decider was cut",
        "the target was restarted; left out: going on undecided (approval.resume is not bound)",
    ),
    DECIDER: ("user, the asker", "stranger, who decides nothing"),
    "approval/survives-restart": ("a restart ends it",),
    "approval/shows-what-runs": ("its end", "what will run"),
    "approval/told-is-true": ("a yes", "a yes after the asker was cut"),
}


@pytest.mark.parametrize("law", CASES)
def test_the_reference_passes(law: str) -> None:
    ruled = on_reference(law, system="lineup")
    assert ruled.word == "pass", ruled
    assert ruled.cases == CASES[law]


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        (SILENCE, "allowed-with-the-card", "what user asked for happened before anybody said yes"),
        (SILENCE, "expiry-approves", "it ran without a yes: the deadline passed"),
        (DECIDER, "foreign-conversation-resolves", "it ran when stranger, who decides nothing, said yes"),
        ("approval/always-ends", "timer-runs-late", "is still listed when it must be over"),
        ("approval/deadline-exact", "timer-runs-late", "the request of user lasted more than"),
        ("approval/deny-is-final", "any-click-allows", "what was denied ran after a later yes"),
        ("approval/late-is-refused", "late-is-accepted", "was answered ok"),
        ("approval/bound-to-request", "one-answer-for-all", "the yes to another"),
        ("approval/shows-what-runs", "subject-is-its-kind", "the entry does not name what user asked for"),
    ],
)
def test_a_mutant_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    ruled = on_reference(law, f"lineup/{mutant}", system="lineup")
    assert ruled.word == "fail", ruled
    assert reason in ruled.reason
