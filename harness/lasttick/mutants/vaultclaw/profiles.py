"""Wrong versions of profiles, and of plans before they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lasttick.model.vaultclaw import bindings, preflight, profiles
from lasttick.model.vaultclaw.preflight import ResolvedStep, UnresolvedStep
from lasttick.model.vaultclaw.profiles import Requirement
from lasttick.model.vaultclaw.unbounded_profile import CONNECTOR_ID, VERB, Profile, decode
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import plan_preflight, profile_resolver
from lasttick.reference.vaultclaw.vault import RANDOM, Vault, VaultAnswer

PROFILES, PLANS = "vaultclaw/profiles/", "vaultclaw/plans/"
EXAMPLES = PROFILES + "the-worked-examples-byte-for-byte"


def as_it_came_back(answer: VaultAnswer, expected: Profile) -> Profile:
    """Whatever was read is the profile, none at all as well."""
    return decode(answer.member("profile")) or Profile("", CONNECTOR_ID, VERB, "")


def each_once(right: Any) -> Callable[..., Any]:
    return lambda requirements: tuple(dict.fromkeys(right(requirements)))


def as_given(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(requirements)


def a_fresh_key(requirements: Iterable[Requirement]) -> str:
    return RANDOM


def the_last_of_equals(found: Iterable[Profile], requirements: Sequence[Requirement]) -> Any:
    fitting = [pair for one in found if not (pair := (one, profiles.match(one, requirements)))[1].missing]
    return max(fitting, key=lambda pair: (pair[1].score, pair[0].profile_id)) if fitting else None


def what_is_missing_is_no_harm(right: Any) -> Callable[..., Any]:
    """A profile that lacks something still scores, so the best of bad ones is taken."""
    return lambda profile, requirements: replace(right(profile, requirements), missing=())


def makes_what_it_lacks(right: Any) -> Callable[..., Any]:
    async def resolve_step(vault: Vault, step: Mapping[str, Any], plan_input: Any, *, auto_create: bool) -> Any:
        return await right(vault, step, plan_input, auto_create=True)

    return resolve_step


def hashes_in_plans(right: Any) -> Callable[..., Any]:
    """Each step is sent with a module_hash that nobody was shown."""

    async def plan_execute(self: Vault, body: Mapping[str, Any]) -> VaultAnswer:
        plan = body["plan"]
        steps = [{**step, "module_hash": "0" * 64} for step in plan.get("steps") or []]
        answer: VaultAnswer = await right(self, {**body, "plan": {**plan, "steps": steps}})
        return answer

    return plan_execute


def null_is_nothing(right: Any) -> Callable[..., Any]:
    def look_up(ref: Mapping[str, Any], plan_input: Any) -> Any:
        found = right(ref, plan_input)
        return bindings.Unresolved("ref:literal_missing_value") if found == bindings.Value(None) else found

    return look_up


def unresolved_is_left_out(right: Any) -> Callable[..., Any]:
    """What has no value yet is left out of the request."""

    def resolve_step(step: Mapping[str, Any], plan_input: Any) -> Any:
        found = right(step, plan_input)
        if isinstance(found, UnresolvedStep):
            return ResolvedStep(dict(step.get("request_base") or {}), "", ())
        return found

    return resolve_step


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/empty-profile-executes",
        breaks="VC-09",
        ruling=16,
        text="a new profile that reads back as none, or as another, is executed with",
        killed_by=PROFILES + "a-profile-that-reads-back-otherwise-is-not-used[nothing]",
        patch=lambda seam: seam.replace(profile_resolver, "read_back", as_it_came_back),
    ),
    Mutant(
        "vaultclaw/requirements-deduplicated",
        breaks="VC-09",
        text="a requirement that is given twice counts once in the hash",
        killed_by=EXAMPLES,
        patch=lambda seam: seam.wrap(profiles, "normalise", each_once),
    ),
    Mutant(
        "vaultclaw/order-of-requirements-counts",
        breaks="VC-09",
        text="the same requirements in another order have another profile",
        killed_by=PROFILES + "the-order-of-requirements-does-not-count",
        patch=lambda seam: seam.replace(profiles, "normalise", as_given),
    ),
    Mutant(
        "vaultclaw/fresh-key-for-each-profile",
        breaks="VC-09",
        text="the same new profile is written under a new idempotency key each time",
        killed_by=EXAMPLES,
        patch=lambda seam: seam.replace(profiles, "idempotency_key_of", a_fresh_key),
    ),
    Mutant(
        "vaultclaw/tie-takes-the-last-profile",
        breaks="VC-09",
        text="of two profiles that fit equally well the higher id is taken",
        killed_by=PROFILES + "the-best-profile-wins",
        patch=lambda seam: seam.replace(profiles, "choose", the_last_of_equals),
    ),
    Mutant(
        "vaultclaw/any-profile-fits",
        breaks="VC-09",
        text="a profile that does not allow a requirement is used for it",
        killed_by=PROFILES + "the-best-profile-wins",
        patch=lambda seam: seam.wrap(profiles, "match", what_is_missing_is_no_harm),
    ),
    Mutant(
        "vaultclaw/preview-makes-profiles",
        breaks="VC-10",
        text="the preview of a plan makes the profiles that it lacks",
        killed_by=PLANS + "a-preview-makes-nothing",
        patch=lambda seam: seam.wrap(plan_preflight, "resolve_step", makes_what_it_lacks),
    ),
    Mutant(
        "vaultclaw/plan-sent-is-not-the-plan-shown",
        breaks="VC-10",
        text="the plan that is sent has a module_hash in each step, the plan that is shown has none",
        killed_by=PLANS + "the-plan-sent-is-the-plan-shown",
        patch=lambda seam: seam.wrap(Vault, "plan_execute", hashes_in_plans),
    ),
    Mutant(
        "vaultclaw/null-is-no-value",
        breaks="VC-10",
        text="a binding whose value is null is unresolved",
        killed_by=PLANS + "the-plan-sent-is-the-plan-shown",
        patch=lambda seam: seam.wrap(bindings, "look_up", null_is_nothing),
    ),
    Mutant(
        "vaultclaw/unresolved-plan-runs",
        breaks="VC-10",
        text="a plan runs although bindings of it have no value, which are left out",
        killed_by=PLANS + "what-an-unresolved-step-lacks",
        patch=lambda seam: seam.wrap(preflight, "resolve_step", unresolved_is_left_out),
    ),
]
