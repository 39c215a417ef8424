"""The tools for single entries: find one, read one, and make a request or plan out of a template. None asks the vault.

Source: contract vaultclaw 7, 15, 16.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.catalog_index import tags_of
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.model.vaultclaw.records import WrongType
from lasttick.model.vaultclaw.template import render
from lasttick.reference.vaultclaw.required import required_object, required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of


async def recipes_search(call: ToolCall) -> Success:
    given = call.arguments
    try:
        tags = tags_of(given.raw("tags"))
    except WrongType as error:
        raise ToolFailure(
            "MCP_VALIDATION_ERROR", f"{error}, or one text with commas (contract vaultclaw 15); give tags so"
        ) from None
    texts = {name: given.string(name) for name in ("query", "connector_id", "verb", "entry_type")}
    return Success({"items": await call.parts.catalog.search(**texts, tags=tags)})


async def recipe_get(call: ToolCall) -> Success:
    cookbook_id = required_text(call.arguments, "cookbook_id")
    recipe_id = required_text(call.arguments, "recipe_id")
    return Success(await call.parts.catalog.located(cookbook_id, recipe_id, call.arguments.string("version")))


async def template_render(call: ToolCall) -> Success:
    cookbook_id = required_text(call.arguments, "cookbook_id")
    template_id = required_text(call.arguments, "template_id")
    inputs = required_object(call.arguments, "inputs")
    found = await call.parts.catalog.located(cookbook_id, template_id, call.arguments.string("version"))
    kind = call.arguments.string("output_kind")
    return Success(render(found["entry"], inputs, kind, found["cookbook_id"], found["version"]))


TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_recipes_search",
        "Finds recipes and templates in the local catalog; the highest version of a cookbook comes first. The query is "
        "part of a text; connector_id, verb, entry_type and all of tags must be exactly those.",
        properties_of(query="s", connector_id="s", verb="s", tags="*", entry_type="s"),
        recipes_search,
    ),
    Tool(
        "vaultclaw_recipe_get",
        "Reads one entry of a cookbook: a recipe to execute as it is, or a template with its bindings. Without version "
        "it is that of the highest one.",
        properties_of(cookbook_id="s", recipe_id="s", version="s"),
        recipe_get,
        required=("cookbook_id", "recipe_id"),
    ),
    Tool(
        "vaultclaw_template_render",
        "Makes a connector request or a plan out of a template and inputs. Executes nothing. output_kind is AUTO, "
        "VERB_REQUEST or PLAN.",
        properties_of(cookbook_id="s", template_id="s", inputs="o", version="s", output_kind="s"),
        template_render,
        required=("cookbook_id", "template_id", "inputs"),
    ),
)
