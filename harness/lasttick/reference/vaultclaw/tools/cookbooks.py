"""The tools for whole cookbooks: those in the catalog, and those of remote sources. None asks the vault.

Source: contract vaultclaw 7, 15, 17.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of


async def cookbooks_list(call: ToolCall) -> Success:
    given = Arguments(call.arguments.object("filter"))
    catalog = call.parts.catalog
    items = await catalog.list(given.string("query"), given.string("cookbook_id"), given.string("tag"))
    return Success({"items": items, "root_dir": str(catalog.root)})


async def cookbook_get(call: ToolCall) -> Success:
    cookbook_id = required_text(call.arguments, "cookbook_id")
    return Success({"bundle": await call.parts.catalog.get(cookbook_id, call.arguments.string("version"))})


async def cookbook_upsert(call: ToolCall) -> Success:
    """A bundle that is missing is an invalid one: the catalog says so itself."""
    policy = call.arguments.string("conflict_policy")
    return Success(await call.parts.catalog.upsert(call.arguments.object("bundle"), policy))


async def cookbook_delete(call: ToolCall) -> Success:
    cookbook_id = required_text(call.arguments, "cookbook_id")
    return Success(await call.parts.catalog.delete(cookbook_id, call.arguments.string("version")))


async def cookbooks_remote_list(call: ToolCall) -> Success:
    source_id = required_text(call.arguments, "source_id")
    return Success(await call.parts.remote.list(source_id, call.arguments.string("query")))


async def cookbook_remote_install(call: ToolCall) -> Success:
    source_id = required_text(call.arguments, "source_id")
    cookbook_id = required_text(call.arguments, "cookbook_id")
    given = [call.arguments.string(name) for name in ("version", "conflict_policy", "expected_sha256")]
    return Success(await call.parts.remote.install(source_id, cookbook_id, *given))


_PLACE = properties_of(cookbook_id="s", version="s")
_BUNDLE = properties_of(bundle="o", conflict_policy="s")
_ADDS = (
    "A version is written once: with other content under the same id and version, conflict_policy FAIL (the default) "
    "refuses, SKIP_IF_EXISTS keeps the old one, OVERWRITE replaces it."
)
_HIGHEST = "Without version it is the highest one."

TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_cookbooks_list",
        "Lists the cookbooks of the local catalog with their entries, by id and version. The filter takes query (part "
        "of a text), cookbook_id and tag.",
        properties_of(filter="o"),
        cookbooks_list,
    ),
    Tool(
        "vaultclaw_cookbook_get",
        f"Reads a whole cookbook of the local catalog. {_HIGHEST}",
        _PLACE,
        cookbook_get,
        required=("cookbook_id",),
    ),
    Tool(
        "vaultclaw_cookbook_export",
        f"Gives a cookbook of the local catalog as a bundle, which vaultclaw_cookbook_import takes. {_HIGHEST}",
        _PLACE,
        cookbook_get,
        required=("cookbook_id",),
    ),
    Tool(
        "vaultclaw_cookbook_upsert",
        f"Puts a cookbook into the local catalog. {_ADDS}",
        _BUNDLE,
        cookbook_upsert,
        required=("bundle",),
    ),
    Tool(
        "vaultclaw_cookbook_import",
        f"Puts an exported bundle into the local catalog. {_ADDS}",
        _BUNDLE,
        cookbook_upsert,
        required=("bundle",),
    ),
    Tool(
        "vaultclaw_cookbook_delete",
        f"Deletes one version of a cookbook from the local catalog. {_HIGHEST}",
        _PLACE,
        cookbook_delete,
        required=("cookbook_id",),
    ),
    Tool(
        "vaultclaw_cookbooks_remote_list",
        "Lists what a remote source serves. The query is part of an id, version, title, summary or tag.",
        properties_of(source_id="s", query="s"),
        cookbooks_remote_list,
        required=("source_id",),
    ),
    Tool(
        "vaultclaw_cookbook_remote_install",
        "Downloads a cookbook from a remote source into the local catalog, checked against its SHA-256 when one is "
        f"known. {_HIGHEST} {_ADDS}",
        properties_of(source_id="s", cookbook_id="s", version="s", conflict_policy="s", expected_sha256="s"),
        cookbook_remote_install,
        required=("source_id", "cookbook_id"),
    ),
)
