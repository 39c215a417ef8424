"""Tools: which connectors are there, and what do they do at once? Executing through a job is execute_job's.

Source: contract vaultclaw 10, 11, ruling 7; VC-06, VC-07.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.checked_request import checked, prepared
from lasttick.reference.vaultclaw.required import required_object, required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of


async def list_all(call: ToolCall) -> Success:
    answer = await call.vault.connectors()
    return Success(answer.body, answer.meta)


async def get(call: ToolCall) -> Success:
    connector_id = required_text(call.arguments, "connector_id")
    answer = await call.vault.connector(connector_id)
    return Success(answer.body, answer.meta)


async def validate(call: ToolCall) -> Success:
    """The vault's word as it is, also when it says no (ruling 7)."""
    ready = await prepared(call, required_object(call.arguments, "request"))
    answer = await call.vault.validate(ready.request)
    data = {"validation": answer.body, "request": ready.request, "module_hash": ready.module_hash_report}
    return Success(data, answer.meta)


async def execute(call: ToolCall) -> Success:
    ready = await checked(call, required_object(call.arguments, "request"))
    answer = await call.vault.execute(ready.request)
    return Success(answer.body, answer.meta)


TOOLS: tuple[Tool, ...] = (
    Tool("vaultclaw_connectors_list", "The connectors that the vault offers this agent.", {}, list_all),
    Tool(
        "vaultclaw_connector_get",
        "One connector, with its verbs and its policy hash.",
        properties_of(connector_id="s"),
        get,
        ("connector_id",),
    ),
    Tool(
        "vaultclaw_connector_validate",
        "Have the vault check a request without executing it; a module_hash is put in where one is needed.",
        properties_of(request="o"),
        validate,
        ("request",),
    ),
    Tool(
        "vaultclaw_connector_execute",
        "Validate a request, and execute it at once when the vault finds it valid.",
        properties_of(request="o"),
        execute,
        ("request",),
    ),
)
