"""Run a request as a job: find the profile its secrets need, fill in, validate, execute, and hand a pending one off.

Source: contract vaultclaw 11 (connector_execute_job), 14; VC-06, VC-09, VC-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw import preflight, profiles
from lasttick.model.vaultclaw.arguments import Arguments, as_object, string
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.reference.vaultclaw.checked_request import checked
from lasttick.reference.vaultclaw.executing import settle_job
from lasttick.reference.vaultclaw.profile_resolver import resolve
from lasttick.reference.vaultclaw.required import required_object
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.vault import Vault


async def connector_execute_job(call: ToolCall) -> Success:
    request = required_object(call.arguments, "request")
    vault = call.vault
    request, report = await with_profile(vault, request, orchestration(call.arguments))
    ready = await checked(call, request)
    answer = await vault.execute_job(ready.request)
    await settle_job(vault, answer)
    report |= {"module_hash": ready.module_hash_report, "validation": ready.validation_answer.body}
    return Success({"response": answer.body, "preflight": report, "request": ready.request}, answer.meta)


def orchestration(arguments: Arguments) -> Arguments:
    """The `orchestration` argument; both of its members are true by default (see `finds_profiles`)."""
    return Arguments(arguments.object("orchestration"))


def finds_profiles(options: Arguments) -> bool:
    return options.boolean("unbounded_profiles", True)


def creates_profiles(options: Arguments) -> bool:
    return options.boolean("auto_create_profiles", True)


async def with_profile(
    vault: Vault, request: dict[str, Any], options: Arguments
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The outer request with the profile it needs, and the `preflight` report. Raises ToolFailure."""
    if not finds_profiles(options):
        return request, {"orchestrated": False}
    if not preflight.is_generic_http(request):
        return request, {"orchestrated": False, "reason": "only generic HTTP requests have unbounded profiles"}
    inner = inner_request(request)
    if profile_id := string(inner.get("profile_id")):
        return request, {
            "orchestrated": True,
            "reason": "the request names its profile_id",
            "profile_id": profile_id,
        }
    requirements = profiles.derive(inner)
    if not requirements:
        return request, {"orchestrated": True, "reason": "the request attaches no secrets"}
    found = await resolve(vault, requirements, auto_create=creates_profiles(options))
    profile_id = found.profile.profile_id
    return {**request, "request": {**inner, "profile_id": profile_id}}, {
        "orchestrated": True,
        "status": "created" if found.created else "resolved",
        "profile_id": profile_id,
        "requirements": profiles.as_json(requirements),
        "profile_match": found.match.as_json(),
    }


def inner_request(request: Mapping[str, Any]) -> dict[str, Any]:
    inner = as_object(request.get("request"))
    if inner is not None:
        return inner
    raise ToolFailure(
        "MCP_VALIDATION_ERROR",
        "request.request is no object; expected the inner request, with method and url, for the generic HTTP "
        "connector; put it there and call again",
    )


TOOLS = (
    Tool(
        "vaultclaw_connector_execute_job",
        "Run one connector request as a job. Finds or makes the unbounded profile that its secrets need, validates, "
        "and executes. If a person must decide first, the answer is MCP_APPROVAL_REQUIRED with the next call to make.",
        properties_of(request="o", orchestration="o"),
        connector_execute_job,
        ("request",),
    ),
)
