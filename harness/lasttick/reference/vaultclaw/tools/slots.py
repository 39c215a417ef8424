"""Tools: which secret stands in which slot of a connector's verb? Only ids, never a secret.

Source: contract vaultclaw 7, 8, 11.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of

BINDING = ("connector_id", "verb", "slot", "secret_id")


async def bindings(call: ToolCall) -> Success:
    query = {name: required_text(call.arguments, name) for name in ("connector_id", "verb")}
    if call.arguments.boolean("include_revoked", False):
        query["include_revoked"] = "true"
    answer = await call.vault.slot_bindings(query)
    return Success(answer.body, answer.meta)


async def bind(call: ToolCall) -> Success:
    binding = {name: required_text(call.arguments, name) for name in BINDING}
    answer = await call.vault.slot_bind(binding)
    return Success(answer.body, answer.meta)


TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_slot_bindings_list",
        "Which secrets are bound to the slots of a connector's verb.",
        properties_of(connector_id="s", verb="s", include_revoked="b"),
        bindings,
        ("connector_id", "verb"),
    ),
    Tool(
        "vaultclaw_slot_bind",
        "Bind a secret, by its id, to a slot of a connector's verb.",
        properties_of(connector_id="s", verb="s", slot="s", secret_id="s"),
        bind,
        BINDING,
    ),
)
