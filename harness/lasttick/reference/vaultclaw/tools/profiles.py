"""List, read, write and resolve unbounded profiles. Source: contract vaultclaw 11, 12; VC-09."""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.model.vaultclaw.profiles import from_argument
from lasttick.reference.vaultclaw.profile_resolver import resolve
from lasttick.reference.vaultclaw.required import required_object, required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of


async def unbounded_profiles_list(call: ToolCall) -> Success:
    query = {name: text for name in ("connector_id", "verb") if (text := call.arguments.string(name))}
    if call.arguments.boolean("include_revoked", False):
        query["include_revoked"] = "true"
    answer = await call.vault.profiles(query)
    return Success(answer.body, answer.meta)


async def unbounded_profile_get(call: ToolCall) -> Success:
    profile_id = required_text(call.arguments, "profile_id")
    answer = await call.vault.profile(profile_id)
    return Success(answer.body, answer.meta)


async def unbounded_profile_upsert(call: ToolCall) -> Success:
    profile = required_object(call.arguments, "profile")
    answer = await call.vault.upsert_profile(profile)
    return Success(answer.body, answer.meta)


async def unbounded_profile_resolve(call: ToolCall) -> Success:
    requirements = from_argument(call.arguments.raw("requirements"))
    vault = call.vault
    if not requirements:
        raise ToolFailure(
            "MCP_UNBOUNDED_PROFILE_REQUIRED",
            "none of the requirements has slot, mode and target; expected at least one that has all; complete them",
        )
    found = await resolve(vault, requirements, auto_create=call.arguments.boolean("auto_create", True))
    return Success(
        {
            "profile_id": found.profile.profile_id,
            "created": found.created,
            "profile_match": found.match.as_json(),
            "profile": found.profile.as_json(),
        }
    )


TOOLS = (
    Tool(
        "vaultclaw_unbounded_profiles_list",
        "List the vault's unbounded profiles.",
        properties_of(connector_id="s", verb="s", include_revoked="b"),
        unbounded_profiles_list,
    ),
    Tool(
        "vaultclaw_unbounded_profile_get",
        "Read one unbounded profile.",
        properties_of(profile_id="s"),
        unbounded_profile_get,
        ("profile_id",),
    ),
    Tool(
        "vaultclaw_unbounded_profile_upsert",
        "Write one unbounded profile.",
        properties_of(profile="o"),
        unbounded_profile_upsert,
        ("profile",),
    ),
    Tool(
        "vaultclaw_unbounded_profile_resolve",
        "Find the unbounded profile that meets a set of requirements; if none does, have the smallest one made.",
        properties_of(requirements="a", auto_create="b"),
        unbounded_profile_resolve,
        ("requirements",),
    ),
)
