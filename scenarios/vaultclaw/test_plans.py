"""What will a plan do before it does it? Its generic HTTP steps are resolved, or it does not run; what runs was shown.

Source: contract vaultclaw 10, 13, 21.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import (
    A_ID,
    API,
    EXECUTE_PLAN,
    HTTP,
    PROFILE_GET,
    PROFILE_LIST,
    PROFILE_UPSERT,
    A,
    attachment,
    begin,
    called,
    executed,
    http_request,
    says,
    sent,
)

GET_API = {"method": "GET", "url": f"{API}/v1"}


def step(step_id: str, base: Any = None, *bindings: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A generic HTTP step."""
    bound = [{"path": path, "ref": ref} for path, ref in bindings]
    return {"step_id": step_id, **HTTP, "request_base": base or {}, "request_bindings": bound, **more}


def plan_of(*steps: dict[str, Any]) -> dict[str, Any]:
    """A plan whose steps follow one another."""
    chained = [{**one, "default_success_next_step_id": after["step_id"]} for one, after in pairwise(steps)]
    return {"type": "connector.execution.plan.v1", "steps": [*chained, steps[-1]]}


def ref(source: str, path: str | None = None, **more: Any) -> dict[str, Any]:
    return {"source": source, **({} if path is None else {"path": path}), **more}


UNRESOLVED = step(
    "a",
    None,
    ("/url", ref("plan_input", "/u")),
    ("/m", ref("plan_input", "/b/c")),
    ("/n", ref("plan_input", "/b/c")),
    ("/o", ref("step_output", "/x")),
    ("/r", ref("runtime", "/y")),
    ("/p", ref("plan_input")),
    ("/q", ref("literal")),
    ("/s", {}),
    ("/t", ref("weird")),
    ("/k", ref("plan_input", "u")),
)
UNRESOLVED_REFS = [
    "/url -> plan_input:/u",
    "/m -> plan_input:/b/c",
    "/n -> plan_input:/b/c",
    "/o -> step_output:/x",
    "/r -> runtime:/y",
    "/p -> ref:plan_input_missing_path",
    "/q -> ref:literal_missing_value",
    "/s -> ref:missing_source",
    "/t -> ref:unsupported_source:weird",
    "/k -> plan_input:u",
]


@scenario("VC-10")
async def test_what_an_unresolved_step_lacks(world: World) -> None:
    """The worked example: every reference without a value is named, in order, with the inputs to give; nothing runs.
    The preview says the same and leaves the plan as it is."""
    vaultd, client = await begin(world)
    plan = plan_of(UNRESOLVED)
    answer = await client.call("plan_execute", plan=plan, plan_input={"b": {}})
    assert (answer.code, answer.category) == ("MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED", "plans")
    assert answer.error["retryable"] is False
    assert answer.details == {
        "step_id": "a",
        "unresolved_refs": UNRESOLVED_REFS,
        "required_plan_input_paths": ["/b/c", "/u", "u"],
    }
    shown = (await client.call("plan_unbounded_profile_preview", plan=plan, plan_input={"b": {}})).data
    assert shown["transformed_plan"] == plan
    (item,) = shown["resolutions"]
    assert (item["step_id"], item["status"], item["unresolved_refs"]) == ("a", "UNRESOLVED", UNRESOLVED_REFS)
    nothing = plan_of(step("b", GET_API, ("/body", ref("runtime", "/now"))))
    told = (await client.call("plan_execute", plan=nothing)).details
    assert (told["unresolved_refs"], told["required_plan_input_paths"]) == (["/body -> runtime:/now"], [])
    assert await vaultd.calls() == []


@scenario("VC-10")
async def test_the_plan_sent_is_the_plan_shown(world: World) -> None:
    """The worked example: bindings become values, pointers are unescaped, null is a value, and the profile is put in.
    What is sent, executed and shown is one plan, and the vault does what it says."""
    vaultd, client = await begin(world)
    one = step(
        "one",
        {"method": "GET"},
        ("/url", ref("plan_input", "/u")),
        ("/headers/x~1y", ref("literal", value=1)),
        ("/c", {"value": [1, 2]}),
        ("/none", ref("const", value=None)),
        ("/secret_attachments", ref("plan_input", "/att")),
    )
    given_input = {"u": f"{API}/v1", "att": [A]}
    data = (await client.call("plan_execute", plan=plan_of(one), plan_input=given_input)).data
    request = {
        "method": "GET",
        "url": f"{API}/v1",
        "headers": {"x/y": 1},
        "c": [1, 2],
        "none": None,
        "secret_attachments": [A],
        "profile_id": A_ID,
    }
    assert data["plan"]["steps"] == [{**one, "request_base": request, "request_bindings": []}]
    assert await sent(vaultd, EXECUTE_PLAN) == [{"plan": data["plan"], "plan_input": given_input}]
    assert [effect["arguments"] for effect in await vaultd.effects()] == [request]
    needed = {**A, "required": True}
    resolution = {"step_id": "one", "status": "CREATED", "profile_id": A_ID, "requirements": [needed]}
    assert data["preflight"]["orchestrated"] is True
    assert data["preflight"]["resolutions"] == [resolution]
    assert await called(vaultd) == [
        f"GET {PROFILE_LIST}",
        f"POST {PROFILE_UPSERT}",
        f"GET {PROFILE_GET}",
        f"POST {EXECUTE_PLAN}",
    ]
    shown = (await client.call("plan_unbounded_profile_preview", plan=plan_of(one), plan_input=given_input)).data
    assert shown["transformed_plan"] == data["plan"]
    assert shown["resolutions"] == [{**resolution, "status": "RESOLVED"}]


@scenario("VC-10")
async def test_steps_of_other_connectors_are_left_alone(world: World) -> None:
    """Only generic HTTP steps are looked at: another connector keeps its bindings for the vault to resolve. A step that
    fails keeps the profile that was made for the one before it, and nothing runs."""
    vaultd, client = await begin(world)
    read = {
        "step_id": "read",
        "connector_id": "identity",
        "verb": "identity.profile.read.v1",
        "request_base": {"subject_ref": "self"},
        "request_bindings": [{"path": "/slots", "ref": ref("plan_input", "/slots")}],
    }
    listed = {"step_id": "list", "connector_id": "google", "verb": "google.gmail.messages.list"}
    fine, named = step("fine", {**GET_API, "secret_attachments": [A]}), step("named", {**GET_API, "profile_id": A_ID})
    plan = plan_of(read, listed, fine, named)
    data = (await client.call("plan_execute", plan=plan, plan_input={"slots": []})).data
    by_id = {one["step_id"]: one for one in data["plan"]["steps"]}
    assert by_id["read"] == plan["steps"][0]
    pred = {"field": "label", "op": "eq", "value": {"kind": "enum", "enum": "inbox"}}
    assert by_id["list"]["query_ast_base"]["pred"] == pred
    assert by_id["list"]["request_base"] == {}
    assert by_id["fine"]["request_base"]["profile_id"] == A_ID
    assert [(one["step_id"], one["status"]) for one in data["preflight"]["resolutions"]] == [
        ("fine", "CREATED"),
        ("named", "RESOLVED"),
    ]
    assert await sent(vaultd, EXECUTE_PLAN) == [{"plan": data["plan"], "plan_input": {"slots": []}}]
    assert "module_hash" not in str(await sent(vaultd, EXECUTE_PLAN))
    after = len(await vaultd.log())
    other = attachment("other")
    broken = plan_of(step("new", {**GET_API, "secret_attachments": [other]}), UNRESOLVED)
    assert (await client.call("plan_execute", plan=broken)).code == "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED"
    assert f"POST {PROFILE_UPSERT}" in await called(vaultd, after)
    assert await executed(vaultd, after) == 0
    assert (await client.call("unbounded_profile_resolve", requirements=[other])).data["created"] is False


@scenario("VC-10")
async def test_a_preview_makes_nothing(world: World) -> None:
    """Whatever becomes of one step, the preview goes on: it says for each what would be, makes no profile and runs
    nothing."""
    vaultd, client = await begin(world)
    steps = [
        step("plain", GET_API),
        step("named", {**GET_API, "profile_id": "p.own", "secret_attachments": [A]}),
        step("none fits", {**GET_API, "secret_attachments": [A]}),
        step("odd attachment", {**GET_API, "secret_attachments": [{}]}),
        step("odd binding", GET_API, ("url", ref("literal", value="x"))),
        step("through a text", GET_API, ("/url/x", ref("literal", value="x"))),
        step("unresolved", GET_API, ("/url", ref("steps", "/y"))),
    ]
    plan = plan_of(*steps)
    shown = (await client.call("plan_unbounded_profile_preview", plan=plan)).data
    assert [(one["step_id"], one["status"]) for one in shown["resolutions"]] == [
        ("plain", "RESOLVED"),
        ("named", "RESOLVED"),
        ("none fits", "FAILED"),
        ("odd attachment", "FAILED"),
        ("odd binding", "FAILED"),
        ("through a text", "FAILED"),
        ("unresolved", "UNRESOLVED"),
    ]
    items = {one["step_id"]: one for one in shown["resolutions"]}
    assert items["named"]["profile_id"] == "p.own"
    assert items["none fits"]["requirements"] == [{**A, "required": True}]
    assert items["unresolved"]["unresolved_refs"] == ["/url -> steps:/y"]
    assert shown["transformed_plan"] == plan
    assert await called(vaultd) == [f"GET {PROFILE_LIST}"]
    await says(vaultd, PROFILE_LIST, {"error": {"code": "FORBIDDEN", "message": "not you"}}, status=403)
    refused = (await client.call("plan_unbounded_profile_preview", plan=plan_of(steps[2]))).data["resolutions"]
    assert refused == [{"step_id": "none fits", "status": "FAILED", "reason": "FORBIDDEN: not you"}]
    for odd in steps[3:6]:
        assert (await client.call("plan_execute", plan=plan_of(odd))).code == "MCP_INTERNAL"
    assert await executed(vaultd) == 0


@scenario("VC-10")
async def test_what_is_said_of_plans_without_such_steps(world: World) -> None:
    """Resolutions are null without steps and an empty list without generic HTTP steps; switched off, nothing is
    resolved. The plan input is sent as given, null too, or not at all."""
    vaultd, client = await begin(world)
    identity = {"step_id": "i", "connector_id": "identity", "verb": "identity.profile.read.v1", "request_base": {}}
    bound = step("b", GET_API, ("/body", ref("plan_input", "/x")))
    off = {"unbounded_profiles": False}
    run = {"run": {"run_id": "run_1", "state": "SUCCEEDED"}}
    rows: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
        ({"type": "t"}, {}, {"orchestrated": True, "resolutions": None}),
        ({"type": "t", "steps": []}, {"plan_input": None}, {"orchestrated": True, "resolutions": None}),
        (plan_of(identity), {"plan_input": [1.5, "x"]}, {"orchestrated": True, "resolutions": []}),
        (plan_of(bound), {"orchestration": off, "plan_input": {}}, {"orchestrated": False}),
    ]
    for plan, more, preflight in rows:
        await says(vaultd, EXECUTE_PLAN, run)
        data = (await client.call("plan_execute", plan=plan, **more)).data
        assert {key: value for key, value in data["preflight"].items() if key != "module_hash"} == preflight
        plan_input = {key: more[key] for key in ("plan_input",) if key in more}
        assert (await sent(vaultd, EXECUTE_PLAN))[-1] == {"plan": data["plan"], **plan_input}
        assert data["plan"] == plan
    assert await called(vaultd) == [f"POST {EXECUTE_PLAN}"] * len(rows)
    for odd in (None, "plan", [plan_of(identity)]):
        assert (await client.call("plan_execute", plan=odd)).code == "MCP_VALIDATION_ERROR"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from(["", "x", "é", "/a~b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b/c", "~", ""]), inner),
    max_leaves=5,
)
bound_values = st.lists(
    st.tuples(st.sampled_from(["a", "b/c", "~1", "0", "é"]), st.sampled_from(["plan_input", "literal", ""]), values),
    max_size=4,
    unique_by=lambda one: one[0],
)


def escaped(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


@scenario("VC-10")
@given(bound=bound_values)
@example(bound=[("b/c", "plan_input", None), ("~1", "literal", {"a": [1]}), ("0", "", False)])
@settings(max_examples=8)
async def test_what_runs_is_what_was_shown(world: World, bound: list[tuple[str, str, Any]]) -> None:
    """Whatever the bindings hold: the preview, the answer, the call and the effect show one and the same request."""
    vaultd, client = await begin(world)
    plan_input = {"deep": {key: value for key, source, value in bound if source == "plan_input"}}
    bindings = [
        (
            f"/more{escaped(key)}",
            ref("plan_input", f"/deep{escaped(key)}") if source == "plan_input" else ref(source, value=value),
        )
        for key, source, value in bound
    ]
    plan = plan_of(step("s", http_request()["request"], *bindings))
    shown = (await client.call("plan_unbounded_profile_preview", plan=plan, plan_input=plan_input)).data
    data = (await client.call("plan_execute", plan=plan, plan_input=plan_input)).data
    request = http_request()["request"] | ({"more": {key: value for key, _, value in bound}} if bound else {})
    assert data["plan"]["steps"][0]["request_base"] == request
    assert shown["transformed_plan"] == data["plan"]
    assert [one["plan"] for one in await sent(vaultd, EXECUTE_PLAN)] == [data["plan"]]
    assert [effect["arguments"] for effect in await vaultd.effects()] == [request]
