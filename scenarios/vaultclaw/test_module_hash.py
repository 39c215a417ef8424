"""Where a request needs the connector's policy hash it is looked up, once; where it does not, nobody asks.

Source: contract vaultclaw 10, 11; ruling 9.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick import World, scenario

from .steps_approvals import VALIDATE, begin, says

INBOX = {"pred": {"field": "label", "op": "eq", "value": {"kind": "enum", "enum": "inbox"}}}
BOUNDED, LEGACY = "google_gmail_bounded", "legacy_secret_binding_fields"
LIST = "google.gmail.messages.list"
GET = "google.gmail.messages.get"
TOOLS = ("connector_validate", "connector_execute", "connector_execute_job")

NEEDED: list[tuple[dict[str, Any], str]] = [
    ({"connector_id": "google", "verb": GET}, BOUNDED),
    ({"connector_id": " Google ", "verb": "GOOGLE.Gmail.Anything"}, BOUNDED),
    ({"connector_id": "google", "verb": LIST, "module_hash": " \u2003"}, BOUNDED),
    ({"connector_id": "google", "verb": GET, "module_hash": 7}, BOUNDED),
    ({"connector_id": "any", "verb": "v", "request": {"token_secret_id": "s"}}, LEGACY),
    ({"connector_id": "any", "verb": "v", "request": {"required_secret_ids": ["", 7, "s"]}}, LEGACY),
    ({"connector_id": "google", "verb": "google.drive.x", "request": {"token_secret_id": "s"}}, LEGACY),
    ({"connector_id": "google", "verb": GET, "request": {"token_secret_id": "s"}}, BOUNDED),
]
"""Requests that need a hash, with the reason token."""
NOT_NEEDED: list[dict[str, Any]] = [
    {},
    {"connector_id": "google"},
    {"connector_id": "google", "verb": " "},
    {"connector_id": " ", "verb": GET},
    {"connector_id": 7, "verb": GET},
    {"connector_id": "google", "verb": GET, "module_hash": "given"},
    {"connector_id": "google", "verb": "google.gmail"},
    {"connector_id": "google", "verb": "google.drive.list"},
    {"connector_id": "googles", "verb": GET},
    {"connector_id": "any", "verb": GET},
    {"connector_id": "any", "verb": "v", "request": {"token_secret_id": " "}},
    {"connector_id": "any", "verb": "v", "request": {"token_secret_id": ["s"]}},
    {"connector_id": "any", "verb": "v", "request": {"required_secret_ids": "s"}},
    {"connector_id": "any", "verb": "v", "request": {"required_secret_ids": ["", 7]}},
    {"connector_id": "any", "verb": "v", "request": [{"token_secret_id": "s"}]},
    {"connector_id": "any", "verb": "v", "token_secret_id": "s"},
]
ASKS: list[Any] = [{"pred": {"a": 1}}, {"bool": {"and": []}}, {"pred": {}, "bool": {"x": 1}, "odd": 1}]
ASKS_NOTHING: list[Any] = [
    None,
    {},
    [],
    "label:inbox",
    {"pred": {}},
    {"pred": [1], "bool": "x"},
    {"bool": {}},
    {"x": {"a": 1}},
]


async def sent(vaultd: Any) -> dict[str, Any]:
    """The request that was validated last."""
    return dict(json.loads([seen["body"] for seen in await vaultd.log() if seen["path"] == VALIDATE][-1]))


@scenario("VC-07")
async def test_who_needs_a_hash_gets_one(world: World) -> None:
    """Bounded Gmail verbs, and requests that bind secrets the old way, get the connector's hash, looked up under the id
    as it was given and trimmed; the report says which and why."""
    vaultd, client = await begin(world)
    await says(vaultd, VALIDATE, {"valid": True}, times=None)
    for number, (request, reason) in enumerate(NEEDED):
        before = len(await vaultd.calls())
        await vaultd.trouble("answer", body={"policy_hash": f" hash-{number}\n"}, method="GET", count=1)
        answer = await client.call("connector_validate", request=request)
        called = (await vaultd.calls())[before:]
        assert called == [f"GET /v0/connectors/{request['connector_id'].strip()}", f"POST {VALIDATE}"], request
        assert answer.data["module_hash"] == {
            "applied": True,
            "reason": reason,
            "connector_id": request["connector_id"].strip(),
            "verb": request["verb"],
            "module_hash": f"hash-{number}",
        }
        assert answer.data["request"] == await sent(vaultd)
        expected = {**request, "module_hash": f"hash-{number}"}
        assert await sent(vaultd) == (expected | {"query_ast_v1": INBOX} if request["verb"] == LIST else expected)


@scenario("VC-07")
async def test_who_needs_none_is_left_alone(world: World) -> None:
    """A request that brings its hash, names no connector or no verb, or is of another kind, is sent as it is and
    nothing is looked up."""
    vaultd, client = await begin(world)
    await says(vaultd, VALIDATE, {"valid": True}, times=None)
    for request in NOT_NEEDED:
        answer = await client.call("connector_validate", request=request)
        report = answer.data["module_hash"]
        assert set(report) == {"applied", "reason"}, request
        assert (report["applied"], bool(report["reason"])) == (False, True), request
        assert await sent(vaultd) == request == answer.data["request"]
    assert await vaultd.calls() == [f"POST {VALIDATE}"] * len(NOT_NEEDED)


@scenario("VC-07")
async def test_a_listing_that_asks_for_nothing_asks_for_the_inbox(world: World) -> None:
    """The verbs that list messages, in any case, get a query for the inbox unless they have one, also when they bring
    their hash; other verbs do not, and in a plan it is the step's own query."""
    vaultd, client = await begin(world)
    await says(vaultd, VALIDATE, {"valid": True}, times=None)
    for verb in (LIST, f"{LIST}.v1", LIST.upper(), f" {LIST} "):
        for query in (*ASKS_NOTHING, *ASKS)[:: 1 if verb == LIST else 4]:
            request = {"connector_id": "google", "verb": verb, "module_hash": "given", "query_ast_v1": query}
            await client.call("connector_validate", request=request)
            assert (await sent(vaultd))["query_ast_v1"] == (query if query in ASKS else INBOX), (verb, query)
    for verb in (f"{LIST}.v2", "google.gmail.messages.listing", GET):
        await client.call("connector_validate", request={"connector_id": "google", "verb": verb, "module_hash": "x"})
        assert "query_ast_v1" not in await sent(vaultd), verb
    steps: list[Any] = [
        {"step_id": "a", "connector_id": "google", "verb": LIST},
        {"step_id": "b", "connector_id": "google", "verb": GET, "request_base": [1]},
        {"step_id": "c", "connector_id": "google", "verb": LIST, "query_ast_base": ASKS[0], "request_base": {"x": 1}},
        {"step_id": "d", "verb": LIST},
        {"step_id": "e", "connector_id": "any", "verb": "v", "request_base": None},
        7,
    ]
    expected = [
        {**steps[0], "request_base": {}, "query_ast_base": INBOX},
        {**steps[1], "request_base": {}},
        *steps[2:4],
        {**steps[4], "request_base": {}},
        7,
    ]
    await vaultd.trouble("answer", body={"valid": True}, path="/v0/connectors/plans/validate")
    assert (await client.call("plan_validate", plan={"steps": steps})).data == {"valid": True}
    assert json.loads((await vaultd.log())[-1]["body"]) == {"plan": {"steps": expected}}
    await vaultd.trouble(
        "answer", body={"run": {"run_id": "r", "state": "SUCCEEDED"}}, path="/v0/connectors/plans/execute"
    )
    report = (await client.call("plan_execute", plan={"steps": steps})).data["preflight"]["module_hash"]
    assert (report["applied_count"], report["applied"]) == (0, [])
    assert not [call for call in await vaultd.calls() if call.startswith("GET")], "no step of a plan gets a hash"


@scenario("VC-07")
@pytest.mark.parametrize("tool", TOOLS)
async def test_one_look_up_in_a_call_and_a_new_one_in_the_next(world: World, tool: str) -> None:
    """However a call goes on, its policy is asked for once, before the validation; the next call asks again and sends
    what is true by then. Nobody sends the hash of before."""
    vaultd, client = await begin(world)
    request = {"connector_id": "google", "verb": "google.gmail.labels.list", "request": {"user_id": "me"}}
    hashes = []
    for effect in ("allow", "ask", "allow"):
        policy = {"verbs": {"google.gmail.messages.trash": effect}}
        await vaultd.control("PUT", "/control/policies", policy)
        before = len(await vaultd.calls())
        answer = await client.call(tool, request=request)
        assert answer.ok, answer.error
        called = (await vaultd.calls())[before:]
        assert called[:2] == ["GET /v0/connectors/google", f"POST {VALIDATE}"]
        assert called.count("GET /v0/connectors/google") == 1
        hashes.append((await sent(vaultd))["module_hash"])
    assert hashes[0] == hashes[2] != hashes[1]


@scenario("VC-07")
async def test_without_a_hash_nothing_is_executed(world: World) -> None:
    """A connector whose policy has no hash is a failure of its own; a look-up that fails is told as what it is. In both
    cases nothing is validated or executed."""
    vaultd, client = await begin(world)
    request = {"connector_id": "google", "verb": GET, "request": {"message_id": "m"}}
    path = "/v0/connectors/google"
    for tool in TOOLS:
        for body in ({}, {"policy_hash": " \n"}, {"policy_hash": 7}, {"policy_hash": None}, [1]):
            await says(vaultd, path, body)
            answer = await client.call(tool, request=request)
            assert (answer.code, answer.category, answer.error["retryable"]) == (
                "MCP_MODULE_HASH_REQUIRED",
                "policy",
                False,
            )
            request_id = dict((await vaultd.log())[-1]["headers"])["x-request-id"]
            assert answer.details == {"connector_id": "google", "request_id": request_id, "vault_http_status": 200}
            assert answer.meta == {"request_id": request_id, "vault_http_status": 200, "vault_code": ""}
        await says(vaultd, path, {"error": {"code": "FORBIDDEN", "message": "no"}}, status=403)
        assert (await client.call(tool, request=request)).code == "MCP_AUTH_FORBIDDEN"
    assert list(dict.fromkeys(await vaultd.calls())) == [f"GET {path}"]
