"""A wrong version that takes silence for a yes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.wait import Handle, Limits, Observation
from lasttick.mutants import Mutant
from lasttick.ports import Clock
from lasttick.reference.vaultclaw.tools import approvals
from lasttick.reference.vaultclaw.vault import Vault


def nobody_minded(right: Any) -> Callable[..., Any]:
    """A deadline that passes without a no is a yes."""

    async def wait_for_end(vault: Vault, clock: Clock, handle: Handle, bounds: Limits) -> Observation:
        try:
            seen: Observation = await right(vault, clock, handle, bounds)
            return seen
        except ToolFailure as failure:
            if failure.code != "MCP_WAIT_TIMEOUT":
                raise
            latest = failure.details["latest"]
            return Observation(latest["job"], latest["run"], "SUCCEEDED", "ALLOW")

    return wait_for_end


MUTANTS = [
    Mutant(
        "vaultclaw/silence-is-allow",
        breaks="VC-12",
        ruling=4,
        text="a wait whose deadline passes without a person's no is answered as allowed",
        killed_by="journeys/silence/nobody-answers",
        patch=lambda seam: seam.wrap(approvals, "wait_for_end", nobody_minded),
    ),
]
