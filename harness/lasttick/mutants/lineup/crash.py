"""Wrong versions of what a restarted adapter owes, and of what the ledger keeps for those who read it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.lineup import recovery, states
from lasttick.mutants import Mutant
from lasttick.reference.lineup.ledger import Ledger

MATRIX = "lineup/crash/killed-at-every-commit-and-every-frame"


def owing(owed: str, instead: str) -> Callable[[Any], Callable[..., Any]]:
    """Where one thing is owed, another is done."""

    def wrong(right: Any) -> Callable[..., Any]:
        def recover(left: Any) -> Any:
            found = right(left)
            return instead if found == owed else found

        return recover

    return wrong


def as_list(right: Any) -> Callable[..., Any]:
    """The audit keeps a result in its one form, not as it was sent."""

    def audit(self: Ledger, phase: str, disposition: str, reason: str | None, body: Any, **about: Any) -> None:
        result = body.get("result") if phase == "result" and isinstance(body, Mapping) else None
        if isinstance(result, Mapping) and "action_id" in result:
            body = {**body, "result": {"action_ids": [result["action_id"]]}}
        right(self, phase, disposition, reason, body, **about)

    return audit


def without_repetition(right: Any) -> Callable[..., Any]:
    """An answer to a card that has one already is nothing worth keeping."""

    def audit(self: Ledger, phase: str, disposition: str, reason: str | None, body: Any, **about: Any) -> None:
        if reason != states.CLOSED_REASONS["completed"]:
            right(self, phase, disposition, reason, body, **about)

    return audit


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/open-card-survives-restart",
        breaks="LU-10",
        text="a card that was open when the adapter died stays open, although nobody waits for its answer any more",
        killed_by=MATRIX,
        patch=lambda seam: seam.wrap(recovery, "recover", owing("abort", "nothing")),
    ),
    Mutant(
        "lineup/doubtful-answer-is-not-told",
        breaks="LU-10",
        text="of an answer that may not have reached the agent the person hears nothing",
        killed_by=MATRIX,
        patch=lambda seam: seam.wrap(recovery, "recover", owing("may not have reached", "nothing")),
    ),
    Mutant(
        "lineup/result-prompt-is-repeated",
        breaks="LU-10",
        text="an answer that may have reached the model is prompted again after a restart",
        killed_by=MATRIX,
        patch=lambda seam: seam.wrap(recovery, "recover", owing("not repeated", "send result")),
    ),
    Mutant(
        "lineup/kept-result-is-dropped",
        breaks="LU-10",
        text="an answer that was accepted and not yet sent is lost with the adapter",
        killed_by=MATRIX,
        patch=lambda seam: seam.wrap(recovery, "recover", owing("send result", "nothing")),
    ),
    Mutant(
        "lineup/restart-tells-again",
        breaks="LU-10",
        text="each start tells the person again of the same doubtful answer",
        killed_by="lineup/crash/killed-again-while-it-recovers",
        patch=lambda seam: seam.replace(Ledger, "told_calls", lambda self: set()),
    ),
    Mutant(
        "lineup/audit-keeps-the-one-form",
        breaks="LU-16",
        text="the audit keeps a result as it was normalised, not as the host sent it",
        killed_by="lineup/ledger/a-copy-of-the-file-tells-what-both-ends-saw",
        patch=lambda seam: seam.wrap(Ledger, "audit", as_list),
    ),
    Mutant(
        "lineup/audit-keeps-no-repetition",
        breaks="LU-16",
        text="a second answer to a card stands in no audit",
        killed_by="lineup/ledger/a-copy-of-the-file-tells-what-both-ends-saw",
        patch=lambda seam: seam.wrap(Ledger, "audit", without_repetition),
    ),
]
