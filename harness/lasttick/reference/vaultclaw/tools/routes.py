"""The tool that leads from a sentence to a route. It reads the catalog at most, and never asks the vault.

Source: contract vaultclaw 18; the rules are in `lasttick.model.vaultclaw.routing`.
"""

from __future__ import annotations

from typing import Any

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import Meta, Success, ToolFailure
from lasttick.model.vaultclaw.routing.resolve import SearchNeeded, choose_hit, resolve_hit, resolve_text
from lasttick.model.vaultclaw.routing.result import Resolution
from lasttick.model.vaultclaw.routing.search import Hit
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of

RESOLVER = "registry+search.v1"


async def route_resolve(call: ToolCall) -> Success:
    """Raises ToolFailure: no text, or the catalog's own failure when it had to be searched."""
    text = call.arguments.string("request_text", "request", "text")
    if not text:
        raise ToolFailure(
            "MCP_VALIDATION_ERROR",
            "request_text is missing or blank; expected what the user wants, in words; give it and call again",
        )
    options = Arguments(call.arguments.object("options"))
    facts = Arguments(call.arguments.object("context")).object("facts") or {}
    found = resolve_text(text, facts, options.boolean("allow_search_fallback", True))
    if isinstance(found, SearchNeeded):
        found = await _searched(call, found)
    return Success(found.as_json(), Meta(more={"resolver": RESOLVER}))


async def _searched(call: ToolCall, needed: SearchNeeded) -> Resolution:
    catalog = call.parts.catalog
    hits = await catalog.search(query=needed.query, tags=list(needed.tags))
    chosen = choose_hit(needed, [Hit.from_json(item) for item in hits])
    if isinstance(chosen, Resolution):
        return chosen
    entry: dict[str, Any] = {}
    if chosen.hit.is_template:
        entry = await catalog.recipe(chosen.hit.cookbook_id, chosen.hit.entry_id, chosen.hit.version)
    return resolve_hit(chosen, entry)


_PROPERTIES: dict[str, dict[str, Any]] = properties_of(request_text="s", options="o", context="o")
_PROPERTIES["context"]["properties"] = properties_of(facts="o")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_route_resolve",
        "Finds the route for a request in words: which template, recipe or connector call it needs, with which inputs, "
        "and what is missing. Executes nothing.",
        _PROPERTIES,
        route_resolve,
        required=("request_text",),
    ),
)
