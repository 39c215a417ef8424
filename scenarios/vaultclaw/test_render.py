"""Templates: bindings set values by path, defaults and missing inputs are named, and nothing of it asks the vault.

Source: contract vaultclaw 16, 21 "Render"; VC-16.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick_fakes.catalogs import bundle

from .steps_catalog import RECIPE, WORKED, snapshot, stored

LOCAL = (
    "cookbooks_list",
    "cookbook_get",
    "cookbook_export",
    "cookbook_upsert",
    "cookbook_import",
    "cookbook_delete",
    "recipes_search",
    "recipe_get",
    "template_render",
    "catalog_sources_list",
    "catalog_source_upsert",
    "catalog_source_delete",
    "cookbooks_remote_list",
    "cookbook_remote_install",
    "route_resolve",
)
"""The tools that never call the vault."""
GET_USER = {"cookbook_id": "http.recipes", "template_id": "tpl_get_user"}
BASE: dict[str, Any] = {"connector_id": "c", "verb": "v", "request": {"list": ["a"], "text": "t", "object": {"k": 1}}}


def template(*rows: Any, base: Any = None, entry_id: str = "t", **more: Any) -> dict[str, Any]:
    """A verb template; rows are bindings, or paths to which the input `v` goes."""
    bindings = [{"target_path": row, "input_key": "v"} if isinstance(row, str) else row for row in rows]
    made = {"entry_id": entry_id, "entry_type": "template.verb.v1", "base_request": BASE if base is None else base}
    return {**made, "bindings": bindings, **more}


def row(path: str, key: str, **more: Any) -> dict[str, Any]:
    return {"target_path": path, "input_key": key, **more}


async def rendered(client: Any, one: dict[str, Any], inputs: dict[str, Any], **more: Any) -> Any:
    """The answer of template_render for a template that is stored for it."""
    await stored(client, bundle("render", "1", [one]), "OVERWRITE")
    return await client.call(
        "template_render", cookbook_id="render", template_id=one["entry_id"], inputs=inputs, **more
    )


@scenario("VC-16")
async def test_the_worked_example(world: World) -> None:
    """An input, and a default that is named; the entry's own members are not merged in; where it came from is said.
    The stored template is the same afterwards."""
    server = await world.vaultclaw()
    client = server.client("acme")
    await stored(client, WORKED)
    before = snapshot(server.catalog_dir)
    for inputs, method, defaults in (
        ({"url": "http://a"}, "GET", [{"input_key": "method", "target_path": "/request/method"}]),
        ({"url": "http://b", "method": "PUT", "other": 1}, "PUT", []),
        ({"url": None, "method": None}, None, []),
    ):
        data = (await client.call("template_render", GET_USER, inputs=inputs)).data
        request = {"method": method, "url": inputs["url"]}
        assert data == {
            "rendered": {"connector_id": "generic.http", "verb": "generic.http.request.v1", "request": request},
            "missing_inputs": [],
            "used_defaults": defaults,
            "source_ref": {
                "cookbook_id": "http.recipes",
                "version": "1.0.0",
                "template_id": "tpl_get_user",
                "entry_type": "template.verb.v1",
                "output_kind": "VERB_REQUEST",
            },
        }
    assert snapshot(server.catalog_dir) == before


PATHS: dict[str, tuple[str, Any, Any]] = {
    # path -> value -> the request it gives
    "into a list": ("/request/list/2/k", {"x": 1}, {"list": ["a", None, {"k": {"x": 1}}]}),
    "a new list": ("/request/new/1", "v", {"new": [None, "v"]}),
    "leading zeros": ("/request/new/01", "v", {"new": [None, "v"]}),
    "new objects": ("/request/a/b/c", 1, {"a": {"b": {"c": 1}}}),
    "escapes": ("/request/a~1b/c~0d/~01", 1, {"a/b": {"c~d": {"~1": 1}}}),
    "other tildes": ("/request/~2", 1, {"~2": 1}),
    "no append marker": ("/request/object/-", 1, {"object": {"k": 1, "-": 1}}),
    "over a value": ("/request/list", None, {"list": None}),
    "empty key": ("/request/", 1, {"": 1}),
    "signs are keys": ("/request/object/-1", 1, {"object": {"k": 1, "-1": 1}}),
}
BAD_PATHS = {
    "index into an object": "/request/0",
    "key into a list": "/request/list/k",
    "append to a list": "/request/list/-",
    "key into a text": "/request/text/k",
    "index into a text": "/request/text/0",
}


@scenario("VC-16")
async def test_a_path_sets_its_value_or_says_why_not(world: World) -> None:
    """Digits are an index, which makes and grows lists with nulls; anything else is a key, which makes objects; two
    escapes; a node of another kind is an error that names input, path and cause."""
    client = (await world.vaultclaw()).client("acme")
    for what, (path, value, gives) in PATHS.items():
        data = (await rendered(client, template(path), {"v": value})).data
        assert data["rendered"] == {**BASE, "request": {**BASE["request"], **gives}}, what
    for what, path in BAD_PATHS.items():
        refused = await rendered(client, template(path), {"v": 1})
        assert refused.code == "MCP_TEMPLATE_INPUT_INVALID", what
        assert set(refused.details) == {"input_key", "target_path", "cause"}
        assert (refused.details["input_key"], refused.details["target_path"]) == ("v", path)
    huge = await rendered(client, template("/request/list/99999999999"), {"v": 1})
    assert huge.code == "MCP_TEMPLATE_INPUT_INVALID", "an index is no way to use up the memory"


@scenario("VC-16")
async def test_all_missing_inputs_are_named_in_order(world: World) -> None:
    """In the order of the bindings, that of their paths: all that are required, by word or by silence, and have no
    default. Null is given, another spelling of the key is not; a wrong path that is met comes first."""
    client = (await world.vaultclaw()).client("acme")
    rows = [
        row("/request/e", "silent"),
        row("/request/d", "said", required=True),
        row("/request/c", "optional", required=False),
        row("/request/b", "defaulted", required=True, default=[]),
        row("/request/a", "null default", default=None),
        row("/request/f", "given"),
    ]
    answer = await rendered(client, template(*rows), {"given": None, "Said": 1, "silent ": 1})
    assert answer.code == "MCP_TEMPLATE_RENDER_UNRESOLVED"
    assert answer.details == {
        "cookbook_id": "render",
        "version": "1",
        "template_id": "t",
        "missing_inputs": ["null default", "said", "silent"],
    }
    inputs = dict.fromkeys(("null default", "said", "silent", "given"), 1)
    data = (await rendered(client, template(*rows), inputs)).data
    assert data["used_defaults"] == [{"input_key": "defaulted", "target_path": "/request/b"}]
    assert data["rendered"]["request"] == {**BASE["request"], "a": 1, "b": [], "d": 1, "e": 1, "f": 1}
    wrong = template(row("/request/a", "missing"), row("/request/text/x", "given"))
    assert (await rendered(client, wrong, {"given": 1})).code == "MCP_TEMPLATE_INPUT_INVALID"


@scenario("VC-16")
async def test_what_is_rendered_is_a_request_or_a_plan(world: World) -> None:
    """The kind asked for must be the template's; a request needs connector, verb and an object, a plan needs steps;
    recipes are no templates; what is not there is not found; inputs must be an object."""
    client = (await world.vaultclaw()).client("acme")
    plan = {
        "entry_id": "p",
        "entry_type": "template.plan.v1",
        "base_plan": {"steps": [{"step_id": "s"}]},
        "bindings": [row("/steps/0/request_base/to", "v"), row("/steps", "steps", required=False)],
    }
    for kind in ("", "auto", "plan", "PLAN", "nonsense"):
        data = (await rendered(client, plan, {"v": 1}, output_kind=kind)).data
        assert data["rendered"] == {"steps": [{"step_id": "s", "request_base": {"to": 1}}]}
        assert (data["source_ref"]["output_kind"], data["source_ref"]["entry_type"]) == ("PLAN", "template.plan.v1")
    for one, kind in ((plan, "Verb_Request"), (template("/request/x"), "plan")):
        assert (await rendered(client, one, {"v": 1}, output_kind=kind)).code == "MCP_TEMPLATE_INPUT_INVALID"
    for one, inputs in (
        (template("/request"), {"v": []}),
        (template("/verb"), {"v": " "}),
        (template("/connector_id"), {"v": 7}),
        (template("/request/x", base={"connector_id": "c", "verb": "v"}, bindings=[row("/verb", "v")]), {"v": "v"}),
        ({**plan, "bindings": [row("/steps", "v")]}, {"v": []}),
        ({**plan, "bindings": [row("/steps", "v")]}, {"v": {}}),
    ):
        refused = await rendered(client, one, inputs)
        assert (refused.code, refused.details) == ("MCP_TEMPLATE_INPUT_INVALID", {}), (one, inputs)
    recipe = await rendered(client, {**RECIPE, "entry_id": "r"}, {})
    assert recipe.code == "MCP_TEMPLATE_NOT_FOUND"
    assert recipe.details == {"template_id": "r", "entry_type": "recipe.verb.v1"}
    missing = await client.call("template_render", cookbook_id="render", template_id="x", inputs={})
    assert missing.code == "MCP_CATALOG_NOT_FOUND"
    wrongs: tuple[dict[str, Any], ...] = ({"inputs": []}, {"inputs": None}, {"template_id": " "}, {"cookbook_id": 7})
    for wrong in wrongs:
        given_arguments = {"cookbook_id": "render", "template_id": "r", "inputs": {}, **wrong}
        assert (await client.call("template_render", given_arguments)).code == "MCP_VALIDATION_ERROR", wrong


@scenario("VC-16")
async def test_the_bundled_templates_render(world: World) -> None:
    """Every bundled template, with an input for each binding and with only the required ones."""
    client = (await world.vaultclaw()).client("acme")
    for cookbook in (await client.call("cookbooks_list", filter={"cookbook_id": "google.workspace"})).data["items"]:
        place = {"cookbook_id": cookbook["cookbook_id"], "version": cookbook["version"]}
        entries = (await client.call("cookbook_get", place)).data["bundle"]["entries"]
        templates = [one for one in entries if one["entry_type"].startswith("template.")]
        assert templates, place
        for one in templates:
            rows = one.get("bindings", ())
            needed = {r["input_key"] for r in rows if r.get("required", True) and "default" not in r}
            for keys in (needed, {r["input_key"] for r in rows}):
                arguments = {**place, "template_id": one["entry_id"], "inputs": dict.fromkeys(sorted(keys), "x")}
                data = (await client.call("template_render", arguments)).data
                assert len(data["used_defaults"]) == len([r for r in rows if r["input_key"] not in keys])


names = st.sampled_from(["cookbook_id", "version", "template_id", "recipe_id", "inputs", "bundle", "filter", "query"])
more_names = st.sampled_from(["source", "source_id", "tags", "conflict_policy", "request_text", "context", "options"])
values = st.sampled_from(
    [
        *("http.recipes", "google.workspace", "1.0.0", "1.3.0", "tpl_get_user", "s", "OVERWRITE", "", "../x"),
        *({}, {"url": "u"}, {"facts": {"url": "u"}}, WORKED, [], ["http"], None, 7, True),
        *("send email to a@example.com about weather in oslo", "send my passport to a@example.com", "call the api"),
    ]
)


@scenario("VC-16")
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(LOCAL), st.dictionaries(names | more_names, values, max_size=5)), max_size=12
    )
)
@example(
    calls=[
        ("template_render", {**GET_USER, "inputs": {"url": "http://a"}}),
        ("route_resolve", {"request_text": "send my passport over email to a@example.com"}),
    ]
)
@settings(max_examples=5)
async def test_catalog_and_route_tools_never_call_the_vault(
    world: World, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """A session is there and the vault records: whatever these tools are asked, all of them each time, it hears
    nothing. Without a session they answer the same."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    client, nobody = server.client("acme"), server.client("nobody")
    await client.configure()
    source = {"source_id": "s", "index_url": "http://127.0.0.1:9/index.json", "enabled": False}
    await stored(client, WORKED)
    await client.call("catalog_source_upsert", source=source)
    usual = [(tool, {**GET_USER, "recipe_id": "tpl_get_user", "source_id": "s", "inputs": {}}) for tool in LOCAL]
    before = await vaultd.calls()
    for tool, arguments in [*calls, *usual]:
        answer = await client.call(tool, arguments)
        assert answer.code != "MCP_SESSION_NOT_CONFIGURED"
        assert (answer.meta["request_id"], answer.meta["vault_http_status"]) == ("", 0)
        if "list" in tool or "get" in tool or tool in ("template_render", "recipes_search", "route_resolve"):
            assert (await nobody.call(tool, arguments)).envelope == answer.envelope
    assert await vaultd.calls() == before
