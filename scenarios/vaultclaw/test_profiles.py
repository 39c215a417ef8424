"""Which unbounded profile lets a request use its secrets? One that fits, or the smallest one, made for it and no more.

Source: contract vaultclaw 11, 12, 21; rulings 16, 18.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import (
    A_ID,
    A_KEY,
    API,
    EXECUTE_JOB,
    HTTP,
    PROFILE_GET,
    PROFILE_LIST,
    PROFILE_UPSERT,
    VALIDATE,
    A,
    attachment,
    begin,
    called,
    executed,
    header,
    http_request,
    says,
    sent,
)

B = attachment()
C = [
    attachment("z_tok", "write", "https://b.example/x?a=1&b=<2>", required=False),
    attachment(
        " api_key ",
        target="https://a.example",
        intent=" http.auth ",
        expected_secret_types=["oauth2", " api-key", "api-key", ""],
    ),
    attachment(target="https://a.example"),
]
D = [attachment("clé", target='https://例.example/\u2028\x7f\t"\\/')]
EXAMPLES: dict[str, tuple[list[dict[str, Any]], str, int]] = {
    "A": ([A], "8042d5b7fd92", 5),
    "B": ([B], "f775acd08af6", 3),
    "B twice": ([B, B], "32157e9f0322", 6),
    "C": (C, "b945063ca8ac", 11),
    "D": (D, "d4b4a471e501", 3),
}
"""Requirements, the digits of their hash, and the score of the profile made from them (contract 21)."""
MINIMAL_C = [
    {
        "slot": "api_key",
        "required": True,
        "allowed_intents": ["http.auth"],
        "expected_secret_types": ["api-key", "oauth2"],
        "allowed_modes": ["read"],
        "allowed_targets": ["https://a.example"],
    },
    {
        "slot": "z_tok",
        "required": True,
        "allowed_modes": ["write"],
        "allowed_targets": ["https://b.example/x?a=1&b=<2>"],
    },
]


def profile(profile_id: str, *slots: dict[str, Any]) -> dict[str, Any]:
    return {"type": "connector.unbounded.profile.v1", "profile_id": profile_id, **HTTP, "slots": list(slots)}


async def keys(vaultd: Any, after: int = 0) -> list[str | None]:
    """The idempotency keys under which profiles were written."""
    return [header(seen, "idempotency-key") for seen in await vaultd.log(after) if seen["path"] == PROFILE_UPSERT]


@scenario("VC-09")
async def test_the_worked_examples_byte_for_byte(world: World) -> None:
    """Each set of requirements has the id, the key and the score of the contract, and the profile that is made has
    just what they need; asked again, the same one is found."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    for number, (name, (requirements, digits, score)) in enumerate(EXAMPLES.items()):
        client = server.client(f"tenant-{number}")
        await client.configure()
        after = len(await vaultd.log())
        made = (await client.call("unbounded_profile_resolve", requirements=requirements)).data
        assert (made["profile_id"], made["created"]) == (f"mcp.auto.{digits}", True), name
        assert await keys(vaultd, after) == [f"mcp-unbounded-profile-{digits}"]
        assert made["profile_match"]["score"] == score, name
        assert made["profile_match"]["missing_requirements"] is None
        assert len(made["profile_match"]["satisfied_requirements"]) == len(requirements)
        assert (await sent(vaultd, PROFILE_UPSERT, after))[0] == {"profile": made["profile"]}
        if name == "C":
            assert made["profile"]["slots"] == MINIMAL_C
            assert made["profile_match"]["satisfied_requirements"] == [
                "api_key:read:https://a.example",
                "api_key:read:https://a.example",
                "z_tok:write:https://b.example/x?a=1&b=<2>",
            ]
        again = (await client.call("unbounded_profile_resolve", requirements=requirements)).data
        assert again == {**made, "created": False}


@scenario("VC-09")
async def test_a_job_gets_the_profile_its_secrets_need(world: World) -> None:
    """The contract's order of calls; what is validated, executed and shown is one object, with the profile in it. The
    second time the profile is there."""
    vaultd, client = await begin(world)
    needed = {"slot": "api_key", "intent": "http.auth", "expected_secret_types": ["api-key"], "mode": "read"}
    for status, calls in (
        ("created", [f"GET {PROFILE_LIST}", f"POST {PROFILE_UPSERT}", f"GET {PROFILE_GET}"]),
        ("resolved", [f"GET {PROFILE_LIST}", f"GET {PROFILE_GET}"]),
    ):
        after = len(await vaultd.log())
        data = (await client.call("connector_execute_job", request=http_request(A))).data
        assert await called(vaultd, after) == [*calls, f"POST {VALIDATE}", f"POST {EXECUTE_JOB}"]
        assert data["request"] == http_request(A, profile_id=A_ID)
        assert await sent(vaultd, VALIDATE, after) == await sent(vaultd, EXECUTE_JOB, after) == [data["request"]]
        preflight = data["preflight"]
        assert (preflight["orchestrated"], preflight["status"]) == (True, status)
        assert preflight["requirements"] == [{**needed, "target": API, "required": True}]
        assert preflight["profile_match"] == {
            "profile_id": A_ID,
            "score": 5,
            "satisfied_requirements": [f"api_key:read:{API}"],
            "missing_requirements": None,
        }
        assert preflight["profile_id"] == A_ID
    assert await keys(vaultd) == [A_KEY]
    listed = next(line for line in await vaultd.calls() if PROFILE_LIST in line)
    assert listed == f"GET {PROFILE_LIST}?connector_id=generic.http&verb=generic.http.request.v1"


@scenario("VC-09")
async def test_where_no_profile_is_looked_for(world: World) -> None:
    """A request that names its profile, attaches nothing, is another connector's, or is told not to: sent as it is."""
    vaultd, client = await begin(world)
    await client.call("unbounded_profile_upsert", profile=profile("p.own", {"slot": "api_key"}))
    off = {"unbounded_profiles": False}
    mail = {"connector_id": "identity", "verb": "identity.profile.read.v1", "request": {"slots": []}}
    named = http_request(A, profile_id="p.own")
    rows: list[tuple[dict[str, Any], Any, dict[str, Any]]] = [
        (named, None, {"orchestrated": True, "profile_id": "p.own"}),
        (http_request(), None, {"orchestrated": True}),
        (http_request(secret_attachments={"slot": "api_key"}), None, {"orchestrated": True}),
        (named, off, {"orchestrated": False}),
        (mail, None, {"orchestrated": False}),
    ]
    for request, options, expected in rows:
        after = len(await vaultd.log())
        data = (await client.call("connector_execute_job", request=request, orchestration=options)).data
        assert data["request"] == request
        found = {key: data["preflight"].get(key) for key in expected}
        assert found == expected
        assert await called(vaultd, after) == [f"POST {VALIDATE}", f"POST {EXECUTE_JOB}"]


OPEN_SLOT = {"slot": "api_key"}
EXACT = {
    "slot": "api_key",
    "required": True,
    "allowed_intents": ["HTTP.Auth"],
    "expected_secret_types": ["API-KEY", "other"],
    "allowed_modes": ["READ"],
    "allowed_targets": [API],
}


@scenario("VC-09")
async def test_the_best_profile_wins(world: World) -> None:
    """The worked example: of two exact ones the lower id, before an open one, and never one that misses anything; a
    profile that cannot be read is passed over. Case does not count."""
    vaultd, client = await begin(world)
    others = [
        profile("p.zeta", EXACT),
        profile("p.beta", EXACT),
        profile("p.alpha", {**EXACT, "allowed_modes": ["write"]}),
        profile("p.aaa", {**EXACT, "slot": "API_KEY"}),
        profile("p.open", OPEN_SLOT),
        profile("p.a", EXACT),
    ]
    for one in others:
        assert (await client.call("unbounded_profile_upsert", profile=one)).ok
    await says(vaultd, PROFILE_GET, {"profile": {**others[-1], "slots": {"slot": "api_key"}}})  # p.a is read first
    found = (await client.call("unbounded_profile_resolve", requirements=[A])).data
    assert (found["profile_id"], found["created"], found["profile_match"]["score"]) == ("p.beta", False, 5)
    await vaultd.trouble("5xx", path=PROFILE_GET, count=1)
    assert (await client.call("unbounded_profile_resolve", requirements=[A])).data["profile_id"] == "p.beta"
    assert (await client.call("unbounded_profile_resolve", requirements=[A])).data["profile_id"] == "p.a"
    poor = attachment(mode="append", intent="other")
    opened = (await client.call("unbounded_profile_resolve", requirements=[poor])).data
    assert (opened["profile_id"], opened["profile_match"]["score"]) == ("p.open", 4)
    assert opened["profile"] == profile("p.open", {"slot": "api_key", "required": False})
    both = (await client.call("unbounded_profile_resolve", requirements=[A, attachment("z_tok")])).data
    assert (both["created"], both["profile_match"]["score"]) == (True, 8)


@scenario("VC-09")
async def test_no_profile_and_none_may_be_made(world: World) -> None:
    """With nothing that fits, and no leave or no scope to make it, the caller is told what is needed, and nothing is
    executed."""
    vaultd = await world.vaultd()
    client = (await world.vaultclaw()).client("acme")
    await client.configure(token=await vaultd.token("agent-1", tenant="acme", scopes=["connectors.execute_job.v1"]))
    needed = [{**A, "required": True}]
    no = {"auto_create_profiles": False}
    for answer in (
        await client.call("unbounded_profile_resolve", requirements=[A], auto_create=False),
        await client.call("connector_execute_job", request=http_request(A), orchestration=no),
    ):
        assert (answer.code, answer.category, answer.details) == (
            "MCP_UNBOUNDED_PROFILE_REQUIRED",
            "secrets",
            {"requirements": needed},
        )
    assert PROFILE_UPSERT not in " ".join(await called(vaultd))
    for answer in (
        await client.call("unbounded_profile_resolve", requirements=[A]),
        await client.call("connector_execute_job", request=http_request(A)),
    ):
        assert (answer.code, answer.error["vault_code"]) == ("MCP_UNBOUNDED_PROFILE_REQUIRED", "")
        assert answer.details == {"requirements": needed, "idempotency_key": A_KEY}
        assert "connectors.unbounded.profiles.write" in answer.error["message"]
    assert await executed(vaultd) == 0
    assert f"POST {VALIDATE}" not in await called(vaultd)


READ_BACK: dict[str, Any] = {
    "nothing": {},
    "null": {"profile": None},
    "no id": {"profile": {}},
    "another id": {"profile": profile("mcp.auto.000000000000", OPEN_SLOT)},
    "no profile": {"profile": {**profile(A_ID), "slots": "api_key"}},
}


@scenario("VC-09", "VC-10")
@pytest.mark.parametrize("read", READ_BACK.values(), ids=READ_BACK.keys())
async def test_a_profile_that_reads_back_otherwise_is_not_used(world: World, read: Any) -> None:
    """The new profile comes back as none, or as another one: an error, and neither job nor plan is executed."""
    vaultd, client = await begin(world)
    step = {"step_id": "a", **HTTP, "request_base": http_request(A)["request"]}
    tries: list[tuple[str, dict[str, Any]]] = [
        ("connector_execute_job", {"request": http_request(A)}),
        ("plan_execute", {"plan": {"type": "connector.execution.plan.v1", "steps": [step]}}),
        ("unbounded_profile_resolve", {"requirements": [A]}),
    ]
    for tool, arguments in tries:
        await says(vaultd, PROFILE_LIST, {"items": []})
        await says(vaultd, PROFILE_GET, read)
        answer = await client.call(tool, arguments)
        assert (answer.code, answer.error["retryable"]) == ("MCP_INTERNAL", False), tool
    assert await executed(vaultd) == 0
    assert f"POST {VALIDATE}" not in await called(vaultd)


@scenario("VC-09")
async def test_a_profile_that_cannot_be_read_back_is_as_it_was_sent(world: World) -> None:
    """Only the reading fails: the profile was made, so the request goes with it."""
    vaultd, client = await begin(world)
    await vaultd.trouble("5xx", path=PROFILE_GET, count=1)
    data = (await client.call("connector_execute_job", request=http_request(A))).data
    assert data["request"]["request"]["profile_id"] == A_ID
    assert (data["preflight"]["status"], data["preflight"]["profile_match"]["score"]) == ("created", 5)


@scenario("VC-09")
async def test_attachments_that_cannot_be_read(world: World) -> None:
    """An attachment without its slot, mode or target ends the call before the vault is asked anything; of the tool's
    own argument, what is incomplete is left out."""
    vaultd, client = await begin(world)
    incomplete: list[Any] = [None, "api_key", [], {}, attachment(slot=" "), attachment(mode=""), {**B, "target": 7}]
    for odd in incomplete:
        answer = await client.call("connector_execute_job", request=http_request(B, odd))
        assert (answer.code, answer.details) == ("MCP_INTERNAL", {}), odd
    unreadable: list[Any] = [None, [], {}, "api_key", [B, "api_key"], [None]]
    for odd in unreadable:
        answer = await client.call("unbounded_profile_resolve", requirements=odd)
        assert answer.code == "MCP_VALIDATION_ERROR", odd
    none = await client.call("unbounded_profile_resolve", requirements=[{}, attachment(mode=" ")])
    assert (none.code, none.details) == ("MCP_UNBOUNDED_PROFILE_REQUIRED", {})
    answer = await client.call("connector_execute_job", request={**HTTP, "request": "GET"})
    assert answer.code == "MCP_VALIDATION_ERROR"
    assert await vaultd.calls() == []
    one = (await client.call("unbounded_profile_resolve", requirements=[{}, {**A, "required": False, "more": 1}])).data
    assert one["profile_id"] == A_ID


names = st.sampled_from(["api_key", "z_tok", "Ünï", "a<b>&c"])
needs = st.builds(
    lambda slot, mode, target, intent, types: attachment(
        slot, mode, target, **({"intent": intent} if intent else {}), expected_secret_types=types
    ),
    names,
    st.sampled_from(["read", "write"]),
    st.sampled_from([API, "https://例.example/?q=\u2028&x"]),
    st.sampled_from(["", "http.auth"]),
    st.lists(st.sampled_from(["oauth2", "api-key"]), max_size=2),
)


def place(one: dict[str, Any]) -> tuple[str, ...]:
    return (one["slot"], one["mode"], one["target"], one.get("intent", ""))


def digits_of(requirements: list[dict[str, Any]]) -> str:
    """The hash as the contract writes it, worked out here once more."""
    items = []
    for one in sorted(requirements, key=place):
        types = sorted(set(one["expected_secret_types"]))
        item = {"slot": one["slot"], "intent": one.get("intent"), "expected_secret_types": types}
        item |= {"mode": one["mode"], "target": one["target"], "required": True}
        items.append({key: value for key, value in item.items() if value not in (None, [])})
    text = json.dumps(items, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@scenario("VC-09")
@given(drawn=st.lists(needs, min_size=1, max_size=4, unique_by=place), seed=st.integers(0, 23))
@example(drawn=[A | {"slot": "z_tok"}, A, A | {"mode": "write"}], seed=3)
@settings(max_examples=8)
async def test_the_order_of_requirements_does_not_count(world: World, drawn: list[dict[str, Any]], seed: int) -> None:
    """Any permutation of distinct requirements has the same id; the profile made from one satisfies the other."""
    _, client = await begin(world)
    made = (await client.call("unbounded_profile_resolve", requirements=drawn)).data
    assert made["profile_id"] == f"mcp.auto.{digits_of(drawn)}"
    assert made["created"] is True
    assert made["profile_match"]["missing_requirements"] is None
    turn = 1 + seed % len(drawn)
    turned = [*drawn[turn:], *drawn[:turn]][::-1]
    assert (await client.call("unbounded_profile_resolve", requirements=turned)).data == {**made, "created": False}
    other = (await world.vaultclaw()).client("globex")
    await other.configure()
    assert (await other.call("unbounded_profile_resolve", requirements=turned)).data == made
