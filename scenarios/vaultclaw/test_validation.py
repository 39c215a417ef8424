"""A request is executed only after a validation that says yes, and what is executed is what was validated.

Source: contract vaultclaw 11; ruling 7.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import MAIL, VALIDATE, begin, http_request, says
from .steps_tools import EXECUTING

members = st.sampled_from(["valid", "errors", "Valid", "ok", "error"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "true", "false", "x"]) | st.floats(-1, 1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(members, inner, max_size=2),
    max_leaves=4,
)
answers = st.dictionaries(members, values, max_size=4) | values
NAMED: list[Any] = [
    {"valid": True, "errors": []},
    {"valid": False, "errors": []},
    {"valid": False},
    {"valid": True, "errors": [{"path": "/request/to"}]},
    {"errors": [{"path": "/request/to"}]},
    {"errors": {"a": 1}},
    {"errors": []},
    {"valid": "true"},
    {"valid": 1},
    {"valid": None},
    {"valid": {}},
    {},
    None,
    [{"valid": False}],
]
TOOLS = ("connector_execute", "connector_execute_job")


def says_yes(answer: Any) -> bool:
    """Ruling 7: `valid` present and not true is no, absent with non-empty `errors` is no; no object says nothing."""
    if not isinstance(answer, dict):
        return True
    if "valid" in answer:
        return answer["valid"] is True
    return not answer.get("errors")


def bodies(log: list[dict[str, Any]], path: str) -> list[Any]:
    return [json.loads(seen["body"]) for seen in log if seen["path"] == path]


@scenario("VC-06")
@settings(max_examples=4)
@given(said=st.lists(answers, min_size=3, max_size=3))
@example(said=NAMED)
async def test_only_a_yes_is_executed(world: World, said: list[Any]) -> None:
    """Whatever JSON the vault answers to validate: an executing call is made only if it says yes, once, with the very
    object that was validated; else the refusal carries the vault's own words."""
    vaultd, client = await begin(world)
    request = http_request(headers={"x": [1, 2.5, None, "\u2028"]})
    for answer in said:
        for tool, call in zip(TOOLS, EXECUTING, strict=False):
            before = len(await vaultd.log())
            await says(vaultd, VALIDATE, answer)
            got = await client.call(tool, request=request)
            log = (await vaultd.log())[before:]
            executing = [made for seen in log if (made := f"{seen['method']} {seen['path']}") in EXECUTING]
            assert bodies(log, VALIDATE) == [request]
            if says_yes(answer):
                assert executing == [call], answer
                assert bodies(log, log[-1]["path"]) == [request], "what was executed is not what was validated"
                assert got.ok, (answer, got.error)
                continue
            assert executing == [], answer
            assert (got.code, got.error["retryable"]) == ("MCP_VALIDATION_ERROR", False), (answer, got.envelope)
            sent = dict(log[-1]["headers"])["x-request-id"]
            assert got.details == {"request_id": sent, "vault_http_status": 200, "validation": answer}
            assert got.meta == {"request_id": sent, "vault_http_status": 200, "vault_code": ""}
        await says(vaultd, VALIDATE, answer)
        shown = await client.call("connector_validate", request=request)
        assert shown.data["validation"] == (answer if isinstance(answer, dict) else None)
        assert shown.data["request"] == request, "validate only shows what the vault says"


@scenario("VC-06", "VC-07")
async def test_what_is_filled_in_is_validated_too(world: World) -> None:
    """A module_hash, a default query and a profile that the server puts into a request are in both calls, which have
    the same bytes; nothing else is changed."""
    vaultd, client = await begin(world)
    listing = {"connector_id": "google", "verb": "google.gmail.messages.list", "request": {"user_id": "me"}}
    drafts = {**MAIL, "verb": "google.gmail.drafts.create"}
    attached = http_request({"slot": "k", "mode": "read", "target": "https://api.example.com"}, body={"n": 1.0})
    for tool, path in zip(TOOLS, ("/v0/connectors/execute", "/v0/connectors/execute-job"), strict=True):
        for request in (listing, drafts, attached)[: 2 if tool == "connector_execute" else 3]:
            before = len(await vaultd.log())
            assert (await client.call(tool, request=request, orchestration={"odd": 1})).ok
            log = (await vaultd.log())[before:]
            (validated,) = [seen["body"] for seen in log if seen["path"] == VALIDATE]
            (executed,) = [seen["body"] for seen in log if seen["path"] == path]
            assert validated == executed
            sent = json.loads(executed)
            assert ("module_hash" in sent) == (request is not attached)
            assert ("query_ast_v1" in sent) == (request is listing)
            assert ("profile_id" in sent["request"]) == (request is attached)
            sent["request"].pop("profile_id", None)
            assert {name: sent[name] for name in request} == request


@scenario("VC-06")
async def test_a_validation_that_fails_is_the_end(world: World) -> None:
    """An error status, a vault that does not answer and one that is not there: no executing call, for either tool."""
    vaultd, client = await begin(world, timeout_ms=500)
    for tool in TOOLS:
        for status, code in ((400, "MCP_INTERNAL"), (500, "MCP_NETWORK_ERROR")):
            await says(vaultd, VALIDATE, {"valid": True}, status=status)
            assert (await client.call(tool, request=http_request())).code == code
        for kind in ("hang", "down", "half"):
            await vaultd.trouble(kind, path=VALIDATE, count=1)
            got = await client.call(tool, request=http_request())
            assert (got.code, got.error["vault_code"]) == ("MCP_INTERNAL", "NETWORK_ERROR"), kind
    assert not [call for call in await vaultd.calls() if call in EXECUTING]
    refused = await client.call("connector_execute", request={**MAIL, "request": {"to": "a@example.com"}})
    assert refused.code == "MCP_VALIDATION_ERROR"
    assert [one["path"] for one in refused.details["validation"]["errors"]] == ["/request/to"]
    assert await vaultd.effects() == []
