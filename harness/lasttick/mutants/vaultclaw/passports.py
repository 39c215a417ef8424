"""Wrong versions of the passport e-mail workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.vaultclaw import passport, passport_plan
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.passport import Request
from lasttick.mutants import Mutant

PASSPORT = "vaultclaw/passport/"


def a_send_failure(error: ToolFailure, request: Request) -> tuple[str, dict[str, Any]]:
    return "MCP_GMAIL_DRAFT_SEND_FAILED", {}


def asks_for_what_was_given(right: Any) -> Callable[..., Any]:
    """All that the vault misses is asked for, what was given by hand too."""

    def classify(error: ToolFailure, request: Request) -> tuple[str, dict[str, Any]]:
        code, more = right(error, request)
        if "missing_fields" in more:
            missing = error.details["vault_error"]["details"]["missing_slots"]
            more = {"missing_fields": [slot for slot in passport.SLOTS if slot in missing]}
        return code, more

    return classify


def hand_off_is_a_failure(right: Any) -> Callable[..., Any]:
    """A mail that waits for a person is told as one that could not be sent."""

    def failure_of(error: ToolFailure, request: Request, summary: Mapping[str, Any]) -> ToolFailure:
        if error.code == "MCP_APPROVAL_REQUIRED":
            error = ToolFailure("MCP_INTERNAL", error.message, error.details)
        failure: ToolFailure = right(error, request, summary)
        return failure

    return failure_of


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/every-passport-failure-is-a-send-failure",
        breaks="VC-19",
        ruling=11,
        text="wherever the plan stops, the agent is told that sending failed",
        killed_by=PASSPORT + "where-the-plan-failed-says-what-to-do",
        patch=lambda seam: seam.replace(passport_plan, "classify", a_send_failure),
    ),
    Mutant(
        "vaultclaw/given-fields-are-asked-for-again",
        breaks="VC-19",
        ruling=11,
        text="the fields to fill in by hand include those that were",
        killed_by=PASSPORT + "where-the-plan-failed-says-what-to-do",
        patch=lambda seam: seam.wrap(passport_plan, "classify", asks_for_what_was_given),
    ),
    Mutant(
        "vaultclaw/waiting-passport-mail-is-a-failure",
        breaks="VC-19",
        text="a mail that waits for a person is told as one that could not be sent",
        killed_by=PASSPORT + "the-mail-waits-for-a-person",
        patch=lambda seam: seam.wrap(passport_plan, "failure_of", hand_off_is_a_failure),
    ),
]
