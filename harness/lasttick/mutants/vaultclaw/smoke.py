"""Wrong servers that a first look at them should find: what the smoke suite is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.vaultclaw import outcome
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import sender
from lasttick.reference.vaultclaw.sessions import Sessions

SMOKE = "vaultclaw/smoke/"


def kept(self: Sessions, scope: str) -> None:
    """A session is good until the next one."""


def denial_is_no_outcome(right: Any) -> Callable[..., Any]:
    """A run that was denied ended, and how is the vault's affair."""

    def run_outcome(run: Mapping[str, Any], job: Mapping[str, Any] | None) -> Any:
        decided = right(run, job)
        return "UNKNOWN" if decided == "DENY" else decided

    return run_outcome


def forbidden_is_forbidden(right: Any) -> Callable[..., Any]:
    """A refusal says that it is one, and not which scope is missing."""

    def failure_of(status: int, answer: Any, request_id: str) -> ToolFailure:
        failure: ToolFailure = right(status, answer, request_id)
        if failure.code != "MCP_AUTH_FORBIDDEN":
            return failure
        bare = ToolFailure(failure.code, failure.message, {"request_id": request_id, "vault_http_status": status})
        return bare

    return failure_of


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/cleared-session-goes-on",
        breaks="VC-22",
        text="a session that was cleared is still used",
        killed_by=SMOKE + "the-core-groups-pass[http]",
        patch=lambda seam: seam.replace(Sessions, "clear", kept),
    ),
    Mutant(
        "vaultclaw/denied-run-is-unknown",
        breaks="VC-22",
        text="a plan run that a person denied ends with an outcome that is not known",
        killed_by=SMOKE + "a-person-denies-and-the-wait-resumes[deny]",
        patch=lambda seam: seam.wrap(outcome, "run_outcome", denial_is_no_outcome),
    ),
    Mutant(
        "vaultclaw/missing-scope-without-its-code",
        breaks="VC-22",
        text="a scope that the token lacks is told without the vault's code",
        killed_by=SMOKE + "a-missing-scope-is-named[connectors.list.v1]",
        patch=lambda seam: seam.wrap(sender, "failure_of", forbidden_is_forbidden),
    ),
]
