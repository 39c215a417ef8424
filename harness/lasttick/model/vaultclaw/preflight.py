"""What will one step of a plan ask for, as far as it is known before the plan runs?

Only steps of the generic HTTP connector are looked at. The answer of `resolve_step` is complete up to "which profile
fits these requirements", which needs the vault. Source: contract vaultclaw 13 ("Preflight"); VC-10.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import bindings, profiles
from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.profiles import Requirement
from lasttick.model.vaultclaw.unbounded_profile import CONNECTOR_ID, VERB

RESOLVED, CREATED, UNRESOLVED, FAILED = "RESOLVED", "CREATED", "UNRESOLVED", "FAILED"
"""What became of one step."""


@dataclass(frozen=True, slots=True)
class ResolvedStep:
    """Every reference had a value. `profile_id` is what the request names itself; else `requirements` need one."""

    request: dict[str, Any]
    profile_id: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class UnresolvedStep:
    """Some references had none. `refs`: `PATH -> REASON` in the order of the bindings."""

    refs: tuple[str, ...]
    plan_input_paths: tuple[str, ...]


def is_generic_http(holder: Any) -> bool:
    """Is this a request or a step of the one connector and verb that have unbounded profiles? Case counts."""
    return (
        isinstance(holder, dict)
        and string(holder.get("connector_id")) == CONNECTOR_ID
        and string(holder.get("verb")) == VERB
    )


def steps_of(plan: Mapping[str, Any]) -> list[Any]:
    """A list of its own; empty when the plan has none."""
    steps = plan.get("steps")
    return list(steps) if isinstance(steps, list) else []


def resolve_step(step: Mapping[str, Any], plan_input: Any) -> ResolvedStep | UnresolvedStep:
    """Steps 1 to 5 of the preflight. Raises ToolFailure: a malformed binding or attachment."""
    request = copy.deepcopy(as_object(step.get("request_base")) or {})
    refs, paths = [], []
    try:
        for path, ref in map(bindings.read, _bindings(step)):
            found = bindings.look_up(ref, plan_input)
            if isinstance(found, bindings.Value):
                bindings.apply(request, path, found.value)
                continue
            refs.append(f"{path} -> {found.reason}")
            if found.plan_input_path:
                paths.append(found.plan_input_path)
    except bindings.MalformedBindingError as error:
        raise ToolFailure("MCP_INTERNAL", f"step {string(step.get('step_id'))!r}: {error}") from error
    if refs:
        return UnresolvedStep(tuple(refs), tuple(sorted(set(paths))))
    profile_id = string(request.get("profile_id"))
    return ResolvedStep(request, profile_id, () if profile_id else profiles.derive(request))


def with_request(step: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The step with its resolved request; nothing is left to bind."""
    return {**step, "request_base": dict(request), "request_bindings": []}


def with_steps(plan: Mapping[str, Any], steps: Sequence[Any]) -> dict[str, Any]:
    """The plan with these steps in the place of its own; a plan that has no list of steps stays as it is."""
    return {**plan, "steps": list(steps)} if isinstance(plan.get("steps"), list) else dict(plan)


def resolution(step: Mapping[str, Any], status: str, **more: Any) -> dict[str, Any]:
    """One item of `resolutions`. Of `more`, what is empty is left out."""
    return {"step_id": string(step.get("step_id")), "status": status, **{k: v for k, v in more.items() if v}}


def unresolved_failure(step: Mapping[str, Any], unresolved: UnresolvedStep) -> ToolFailure:
    """Why a plan cannot be executed with profiles that are found for it."""
    step_id = string(step.get("step_id"))
    return ToolFailure(
        "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED",
        f"step {step_id!r} has {len(unresolved.refs)} bindings without a value before the plan runs; expected a value "
        "for each binding of a generic HTTP step; give the plan_input paths in details, or a profile_id and "
        "orchestration.unbounded_profiles false",
        {
            "step_id": step_id,
            "unresolved_refs": list(unresolved.refs),
            "required_plan_input_paths": list(unresolved.plan_input_paths),
        },
    )


def _bindings(step: Mapping[str, Any]) -> list[Any]:
    given = step.get("request_bindings")
    return given if isinstance(given, list) else []
