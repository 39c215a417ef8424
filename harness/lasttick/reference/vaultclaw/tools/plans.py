"""Validate a plan, preview the profiles it needs, execute it, and read a run.

Source: contract vaultclaw 13, 14; VC-10, VC-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw import handoff, outcome
from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import Success
from lasttick.model.vaultclaw.module_hash import normalise_steps
from lasttick.reference.vaultclaw import plan_preflight
from lasttick.reference.vaultclaw.executing import settle_plan
from lasttick.reference.vaultclaw.required import required_object, required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.tools.execute_job import creates_profiles, finds_profiles, orchestration
from lasttick.reference.vaultclaw.vault import Vault

ANALYSIS = "analysis"
ANALYSIS_TEXTS = ("analysis_api_key_secret_id", "analysis_model")
"""Passed on to the vault, though the schema does not show them."""


async def plan_validate(call: ToolCall) -> Success:
    plan = required_object(call.arguments, "plan")
    normal, _ = normalise_steps(plan)
    answer = await call.vault.plan_validate(normal)
    return Success(answer.body, answer.meta)


async def plan_execute(call: ToolCall) -> Success:
    plan = required_object(call.arguments, "plan")
    vault, options = call.vault, orchestration(call.arguments)
    if not finds_profiles(options):
        return await execute_plan(vault, plan, extras(call.arguments), {"orchestrated": False})
    plan_input = call.arguments.raw("plan_input")
    found = await plan_preflight.strict(vault, plan, plan_input, auto_create=creates_profiles(options))
    report = {"orchestrated": True, "resolutions": found.resolutions}
    return await execute_plan(vault, found.plan, extras(call.arguments), report)


async def execute_plan(
    vault: Vault, plan: Mapping[str, Any], more: Mapping[str, Any], report: Mapping[str, Any]
) -> Success:
    """Normalise, execute, hand off. `more`: what is sent besides the plan; `report`: `preflight` so far.

    Raises ToolFailure: MCP_APPROVAL_REQUIRED with the hand-off, MCP_INTERNAL, and what failures are mapped to.
    """
    normal, module_hash = normalise_steps(plan)
    answer = await vault.plan_execute({"plan": normal, **more})
    await settle_plan(vault, answer)
    data = {"response": answer.body, "preflight": {**report, "module_hash": module_hash}, "plan": normal}
    return Success(data, answer.meta)


async def plan_run_get(call: ToolCall) -> Success:
    run_id = required_text(call.arguments, "run_id")
    answer = await call.vault.plan_run(run_id)
    run = handoff.run_of(answer.body)
    if run is None:
        return Success(answer.body, answer.meta)
    decided = outcome.run_outcome(run, handoff.job_of(answer.body))
    state = {"status": outcome.approval_status(outcome.run_state(run), decided), "decision_outcome": decided}
    return Success({**(answer.body or {}), "decision_outcome": decided, "approval_state": state}, answer.meta)


async def plan_unbounded_profile_preview(call: ToolCall) -> Success:
    plan = required_object(call.arguments, "plan")
    found = await plan_preflight.preview(call.vault, plan, call.arguments.raw("plan_input"))
    return Success({"resolutions": found.resolutions, "transformed_plan": found.plan})


def extras(arguments: Arguments) -> dict[str, Any]:
    """What is sent with a plan: `plan_input` as given, also null; the analysis members where they say something."""
    more: dict[str, Any] = {"plan_input": arguments.raw("plan_input")} if arguments.has("plan_input") else {}
    if arguments.boolean(ANALYSIS, False):
        more[ANALYSIS] = True
    return more | {name: text for name in ANALYSIS_TEXTS if (text := arguments.string(name))}


TOOLS = (
    Tool(
        "vaultclaw_plan_validate",
        "Have the vault check a plan, without running it.",
        properties_of(plan="o"),
        plan_validate,
        ("plan",),
    ),
    Tool(
        "vaultclaw_plan_execute",
        "Run a plan. Finds or makes the unbounded profiles that its generic HTTP steps need. If a person must decide "
        "first, the answer is MCP_APPROVAL_REQUIRED with the next call to make.",
        properties_of(plan="o", plan_input="*", orchestration="o"),
        plan_execute,
        ("plan",),
    ),
    Tool(
        "vaultclaw_plan_run_get",
        "Read a plan run: its state, and what was decided about it.",
        properties_of(run_id="s"),
        plan_run_get,
        ("run_id",),
    ),
    Tool(
        "vaultclaw_plan_unbounded_profile_preview",
        "Show which unbounded profiles the generic HTTP steps of a plan would use. Makes none and runs nothing.",
        properties_of(plan="o", plan_input="*"),
        plan_unbounded_profile_preview,
        ("plan",),
    ),
)
