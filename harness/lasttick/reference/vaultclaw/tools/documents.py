"""Tools: which document does a person mean, and which one is the latest? Source: contract vaultclaw 11; VC-08."""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of

TOP_K = 5
SELF = "self"


async def suggest(call: ToolCall) -> Success:
    query = required_text(call.arguments, "query")
    top_k = call.arguments.integer("top_k")
    answer = await call.vault.suggest_types(query, top_k if top_k > 0 else TOP_K)
    return Success(answer.body, answer.meta)


async def latest(call: ToolCall) -> Success:
    type_id = required_text(call.arguments, "type_id")
    answer = await call.vault.latest_document(type_id, call.arguments.string("subject_id") or SELF)
    return Success(answer.body, answer.meta)


TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_document_types_suggest",
        "Document types that fit a person's words, the best first.",
        properties_of(query="s", top_k="i"),
        suggest,
        ("query",),
    ),
    Tool(
        "vaultclaw_document_types_latest",
        "The latest document of a type, of the user or of another subject.",
        properties_of(type_id="s", subject_id="s"),
        latest,
        ("type_id",),
    ),
)
