"""The tools for the list of remote sources. A token is never kept: a source names the variable that holds it.

Source: contract vaultclaw 7, 17.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of


async def catalog_sources_list(call: ToolCall) -> Success:
    """`sources` is null when there is none."""
    catalog = call.parts.catalog
    return Success({"sources": await catalog.sources() or None, "root_dir": str(catalog.root)})


async def catalog_source_upsert(call: ToolCall) -> Success:
    """A source that is missing is an invalid one: the catalog says so itself."""
    return Success(await call.parts.catalog.upsert_source(call.arguments.raw("source")))


async def catalog_source_delete(call: ToolCall) -> Success:
    return Success(await call.parts.catalog.delete_source(required_text(call.arguments, "source_id")))


TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_catalog_sources_list",
        "Lists the remote sources that cookbooks can be installed from.",
        {},
        catalog_sources_list,
    ),
    Tool(
        "vaultclaw_catalog_source_upsert",
        "Adds or replaces a remote source: source_id, index_url, enabled, auth_mode (NONE or BEARER_ENV) and "
        "auth_env_var, the name of the environment variable that holds the token.",
        properties_of(source="o"),
        catalog_source_upsert,
        required=("source",),
    ),
    Tool(
        "vaultclaw_catalog_source_delete",
        "Removes a remote source; what was installed from it stays.",
        properties_of(source_id="s"),
        catalog_source_delete,
        required=("source_id",),
    ),
)
