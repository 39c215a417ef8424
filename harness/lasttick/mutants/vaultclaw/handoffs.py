"""Wrong versions of what an agent gets when a person has to decide first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.vaultclaw import handoff, outcome, pending
from lasttick.model.vaultclaw.handoff import Handoff
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import executing
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer

HANDOFF, PENDING = "vaultclaw/handoff/", "vaultclaw/pending/"
JOBS = HANDOFF + "every-shape-of-an-answer[JOB]"


async def look_up_or_fail(vault: Vault, found: Handoff) -> Handoff:
    """A failure of the look-up is the tool's own."""
    if not found.can_be_looked_up:
        return found
    answer = await vault.pending_approvals(pending.look_up_query(found.challenge_id))
    return found.with_pending_id(pending.of_job(answer.body, found.job_id))


def an_object_or_nothing(pending_approval: Any) -> bool:
    return isinstance(pending_approval, dict) and pending_approval != {}


def any_job(body: Mapping[str, Any] | None) -> bool:
    return True


def without_kind(right: Any) -> Callable[..., Any]:
    """The handle lacks what says which id counts."""

    def as_json(self: Handoff) -> dict[str, Any]:
        shown: dict[str, Any] = right(self)
        del shown["next_action"]["arguments"]["handle"]["kind"]
        return shown

    return as_json


def twice_when_pending(right: Any) -> Callable[..., Any]:
    """What is pending is sent again, to see whether it still is."""

    async def execute_job(self: Vault, request: Mapping[str, Any]) -> VaultAnswer:
        answer: VaultAnswer = await right(self, request)
        if handoff.of_job(answer.body) is not None:
            answer = await right(self, request)
        return answer

    return execute_job


def any_of_them(given: Any, wanted: str) -> bool:
    return True


def oldest_first(right: Any) -> Callable[..., Any]:
    return lambda item: -right(item)


def only_those_that_wait(challenge_id: str) -> dict[str, str]:
    return pending.query(("WAITING",), pending.LOOK_UP_LIMIT, {"challenge_id": challenge_id})


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/resolver-failure-loses-handoff",
        breaks="VC-11",
        ruling=12,
        text="when the pending id cannot be looked up, that failure replaces the hand-off",
        killed_by=HANDOFF + "no-look-up-replaces-a-hand-off",
        patch=lambda seam: seam.replace(executing, "resolve_pending_id", look_up_or_fail),
    ),
    Mutant(
        "vaultclaw/grant-is-success",
        breaks="VC-11",
        ruling=13,
        text="a job that waits for a grant is told as done",
        killed_by=JOBS,
        patch=lambda seam: seam.replace(outcome, "APPROVAL_CODES", outcome.APPROVAL_CODES[:2]),
    ),
    Mutant(
        "vaultclaw/pending-string-is-success",
        breaks="VC-11",
        ruling=13,
        text="a pending approval that is no object counts as none",
        killed_by=JOBS,
        patch=lambda seam: seam.replace(outcome, "is_pending", an_object_or_nothing),
    ),
    Mutant(
        "vaultclaw/handoff-without-id",
        breaks="VC-11",
        ruling=13,
        text="a hand-off names no job and no run that its wait could ask for",
        killed_by=JOBS,
        patch=lambda seam: seam.replace(Handoff, "can_be_waited_for", property(lambda found: True)),
    ),
    Mutant(
        "vaultclaw/unknown-state-is-success",
        breaks="VC-11",
        ruling=4,
        text="an answer without a job, and a job in a state that nobody knows, count as executed",
        killed_by=JOBS,
        patch=lambda seam: seam.replace(handoff, "is_known_job", any_job),
    ),
    Mutant(
        "vaultclaw/next-action-without-kind",
        breaks="VC-11",
        text="the next call of a hand-off lacks the kind of its handle, so it cannot be made",
        killed_by=HANDOFF + "a-job-is-handed-to-a-person",
        patch=lambda seam: seam.wrap(Handoff, "as_json", without_kind),
    ),
    Mutant(
        "vaultclaw/pending-job-is-sent-again",
        breaks="VC-11",
        text="a job that waits for a person is executed a second time",
        killed_by=HANDOFF + "a-job-is-handed-to-a-person",
        patch=lambda seam: seam.wrap(Vault, "execute_job", twice_when_pending),
    ),
    Mutant(
        "vaultclaw/pending-id-of-any-job",
        breaks="VC-13",
        text="the newest pending approval of the challenge is taken, whatever job it is of",
        killed_by=PENDING + "the-newest-of-its-own-is-taken",
        patch=lambda seam: seam.replace(pending, "same", any_of_them),
    ),
    Mutant(
        "vaultclaw/oldest-pending-id",
        breaks="VC-13",
        text="of several pending approvals of one job the oldest is taken",
        killed_by=PENDING + "the-newest-of-its-own-is-taken",
        patch=lambda seam: seam.wrap(pending, "_sequence", oldest_first),
    ),
    Mutant(
        "vaultclaw/look-up-of-waiting-only",
        breaks="VC-13",
        text="a pending approval that was decided meanwhile is not found",
        killed_by=PENDING + "the-newest-of-its-own-is-taken",
        patch=lambda seam: seam.replace(pending, "look_up_query", only_those_that_wait),
    ),
]
