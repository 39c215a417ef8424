"""Which profiles do the steps of a plan need? Strictly, before it runs; or as a preview, which never fails and creates.

Both visit the generic HTTP steps in order, through one function, on a copy of the plan.
Source: contract vaultclaw 13; VC-10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import preflight, profiles
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.profile_resolver import resolve
from lasttick.reference.vaultclaw.vault import Vault


@dataclass(frozen=True, slots=True)
class Preflight:
    """The plan with its profiles. `resolutions`: one item for each generic HTTP step; None for a plan without steps."""

    plan: dict[str, Any]
    resolutions: list[dict[str, Any]] | None


async def strict(vault: Vault, plan: Mapping[str, Any], plan_input: Any, *, auto_create: bool) -> Preflight:
    """Raises ToolFailure of the first step that cannot be resolved; profiles of steps before it may be made by then."""
    steps, resolutions = preflight.steps_of(plan), []
    for position, step in enumerate(steps):
        if preflight.is_generic_http(step):
            steps[position], item = await resolve_step(vault, step, plan_input, auto_create=auto_create)
            resolutions.append(item)
    return Preflight(preflight.with_steps(plan, steps), resolutions if steps else None)


async def preview(vault: Vault, plan: Mapping[str, Any], plan_input: Any) -> Preflight:
    """A step that fails or is unresolved stays as it is, and its item says why."""
    steps, resolutions = preflight.steps_of(plan), []
    for position, step in enumerate(steps):
        if preflight.is_generic_http(step):
            try:
                steps[position], item = await resolve_step(vault, step, plan_input, auto_create=False)
            except ToolFailure as failure:
                item = failed(step, failure)
            resolutions.append(item)
    return Preflight(preflight.with_steps(plan, steps), resolutions if steps else None)


async def resolve_step(
    vault: Vault, step: Mapping[str, Any], plan_input: Any, *, auto_create: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The step with its resolved request, and its item of `resolutions`. Raises ToolFailure."""
    found = preflight.resolve_step(step, plan_input)
    if isinstance(found, preflight.UnresolvedStep):
        raise preflight.unresolved_failure(step, found)
    if not found.requirements:
        reason = "the request names its profile_id" if found.profile_id else "the request attaches no secrets"
        item = preflight.resolution(step, preflight.RESOLVED, profile_id=found.profile_id, reason=reason)
        return preflight.with_request(step, found.request), item
    resolved = await resolve(vault, found.requirements, auto_create=auto_create)
    profile_id = resolved.profile.profile_id
    status = preflight.CREATED if resolved.created else preflight.RESOLVED
    requirements = profiles.as_json(found.requirements)
    item = preflight.resolution(step, status, profile_id=profile_id, requirements=requirements)
    return preflight.with_request(step, {**found.request, "profile_id": profile_id}), item


def failed(step: Mapping[str, Any], failure: ToolFailure) -> dict[str, Any]:
    """The item of a step that stays as it is in a preview."""
    if failure.code == "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED":
        refs = failure.details["unresolved_refs"]
        return preflight.resolution(step, preflight.UNRESOLVED, reason=failure.message, unresolved_refs=refs)
    reason = f"{failure.vault_code or failure.code}: {failure.message}"
    requirements = failure.details.get("requirements")
    return preflight.resolution(step, preflight.FAILED, reason=reason, requirements=requirements)
