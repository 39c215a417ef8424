"""What a failing vault means to the caller: one table of codes, and a rule for everything that is not in it.

Source: contract vaultclaw 9; ruling 9.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.vaultclaw.json_text import trim

from .steps_approvals import HTTP, begin, http_request, says

CONNECTORS = "/v0/connectors"
TABLE = """
MCP_APPROVAL_REQUIRED approval CONNECTOR_APPROVAL_DECISION_REQUIRED PLAN_APPROVAL_REQUIRED \
CONNECTOR_APPROVAL_GRANT_REQUIRED
MCP_APPROVAL_DENIED approval PLAN_APPROVAL_DENIED CONNECTOR_APPROVAL_RULE_DENIED
MCP_UNBOUNDED_PROFILE_INVALID secrets UNBOUNDED_PROFILE_SLOT_UNRESOLVED UNBOUNDED_PROFILE_SLOT_VIOLATION \
UNBOUNDED_PROFILE_NOT_FOUND UNBOUNDED_PROFILE_REQUIRED_FIELDS_MISSING
MCP_AUTH_UNAUTHENTICATED auth UNAUTHENTICATED UNAUTHORIZED
MCP_AUTH_FORBIDDEN auth FORBIDDEN INSUFFICIENT_SCOPE
MCP_VALIDATION_ERROR validation INVALID_ARGUMENT PLAN_INVALID PLAN_STEP_INVALID PLAN_BINDING_INVALID \
PLAN_BINDING_SOURCE_MISSING PLAN_TRANSITION_AMBIGUOUS PLAN_TRANSITION_NO_MATCH
MCP_POLICY_ERROR policy PLAN_POLICY_DRIFT ERR_GENERIC_HTTP_RESPONSE_MODE_NOT_ALLOWED \
ERR_GENERIC_HTTP_CONTENT_TYPE_NOT_ALLOWED ERR_GENERIC_HTTP_SECRET_ATTACHED_BODY_NOT_ALLOWED \
ERR_GENERIC_HTTP_EXTRACT_SPEC_INVALID ERR_GENERIC_HTTP_EXTRACT_PARSE_FAILED \
ERR_GENERIC_HTTP_EXTRACT_REQUIRED_FIELD_MISSING
MCP_SECRET_ERROR secrets SECRET_SLOT_NOT_DEFINED SECRET_SLOT_UNRESOLVED SECRET_SLOT_CONFLICT \
SECRET_SLOT_BINDING_INVALID SECRET_SLOT_BINDING_NOT_FOUND SECRET_INTENT_INVALID SECRET_INTENT_NOT_FOUND \
SECRET_INTENT_TYPE_MISMATCH
MCP_PLAN_RUN_NOT_FOUND plans PLAN_RUN_NOT_FOUND
MCP_PLAN_RUN_INTERRUPTED plans PLAN_RUN_INTERRUPTED
"""
"""MCP code, category, and the vault codes that become it."""
MAPPED: dict[str, tuple[str, str]] = {
    code: (row.split()[0], row.split()[1]) for row in TABLE.strip().splitlines() for code in row.split()[2:]
}
UNMAPPED = ("DOCUMENT_SLOT_UNRESOLVED", "CONFLICT", "APPROVAL_DECISION_EXPIRED", "PLAN_INVALID_", "HTTP_ERROR", "0")
STATUSES = (400, 403, 409, 429, 499, 500, 503, 599)
NO_CODE: list[Any] = [None, [], "x", 7, {}, {"error": None}, {"error": "NOT_FOUND"}, {"error": ["FORBIDDEN"]}]
NO_CODE += [{"error": {"code": code}} for code in (None, "", " \u2003", 7, ["FORBIDDEN"], {"code": "FORBIDDEN"})]
DETAILS: tuple[Any, ...] = ({}, None, "x", [1])
HEX = "0123456789abcdef"
PHRASES = {401: "Unauthorized", 404: "Not Found", 422: "Unprocessable Entity", 429: "Too Many Requests"}
PHRASES |= {500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}
codes = st.text(max_size=20).map(trim).filter(lambda code: code and code.upper() not in MAPPED)


def meaning(code: str, status: int) -> tuple[str, str]:
    """MCP code and category of a vault's code, by the contract."""
    unknown = ("MCP_NETWORK_ERROR", "network") if status >= 500 else ("MCP_INTERNAL", "internal")
    return MAPPED.get(code.strip().upper(), unknown)


async def told(vaultd: Any, client: Any, body: Any, status: int) -> Any:
    await says(vaultd, CONNECTORS, body, status=status)
    return await client.call("connectors_list")


def check(answer: Any, vault_code: str, status: int, message: Any, details: Any) -> None:
    """The whole failure that a vault code and a status lead to."""
    where = (vault_code, status, answer.error)
    assert (answer.code, answer.category) == meaning(vault_code, status), where
    assert answer.error["retryable"] is (status >= 500 or status == 429), where
    assert answer.error["vault_code"] == vault_code, where
    if message is not None:
        assert answer.error["message"] == message, where
    request_id = answer.details["request_id"]
    assert len(request_id) == 32, where
    assert not request_id.strip(HEX), where
    vault_error = {"code": vault_code, "message": answer.error["message"], "details": details}
    assert answer.details == {"request_id": request_id, "vault_http_status": status, "vault_error": vault_error}, where
    assert answer.meta == {"request_id": request_id, "vault_http_status": status, "vault_code": vault_code}, where


@scenario("VC-05")
async def test_every_code_has_its_meaning(world: World) -> None:
    """Each of the 37 vault codes, and some that are none of them, at statuses of every kind: MCP code and category by
    the code, retryable by the status alone, and all that the vault said survives."""
    assert len(MAPPED) == 37
    vaultd, client = await begin(world)
    for number, code in enumerate([*MAPPED, *UNMAPPED]):
        for status in STATUSES if number == 0 else (STATUSES[number % len(STATUSES)],):
            error = {"code": code, "message": f"about {code} ", "details": {"n": [1, None], "code": "FORBIDDEN"}}
            answer = await told(vaultd, client, {"error": error, "request_id": "the-vaults-own"}, status)
            check(answer, code, status, error["message"], error["details"])
    sent = [dict(seen["headers"])["x-request-id"] for seen in await vaultd.log()]
    assert answer.details["request_id"] == sent[-1], "the request id is the one that was sent"


@scenario("VC-05")
async def test_a_code_is_read_in_any_case_and_kept_in_its_own(world: World) -> None:
    """White space around a code is cut, its case does not matter, and it is passed on as it was; details that are no
    object are null."""
    vaultd, client = await begin(world)
    for code in ("forbidden", "Plan_Run_Not_Found", " \u2003INVALID_ARGUMENT\n", "\u001cFORBIDDEN", "plan invalid"):
        for details in DETAILS:
            answer = await told(vaultd, client, {"error": {"code": code, "message": "m", "details": details}}, 400)
            kept = code if code.startswith("\u001c") else code.strip()
            expected = ("MCP_INTERNAL", "internal") if kept.startswith("\u001c") else meaning(kept, 400)
            assert (answer.code, answer.category, answer.error["vault_code"]) == (*expected, kept)
            assert answer.details["vault_error"]["details"] == (details if isinstance(details, dict) else None)


@scenario("VC-05")
async def test_an_answer_without_a_code_has_its_status_for_one(world: World) -> None:
    """Whatever is no code counts as HTTP_ERROR; a blank message is the standard phrase of the status."""
    vaultd, client = await begin(world)
    for body in NO_CODE:
        for status in (404, 500):
            check(await told(vaultd, client, body, status), "HTTP_ERROR", status, PHRASES[status], None)
    for status, phrase in PHRASES.items():
        for message in (None, "", " \n", 7):
            answer = await told(vaultd, client, {"error": {"code": "FORBIDDEN", "message": message}}, status)
            check(answer, "FORBIDDEN", status, phrase, None)
    for raw in ("", "<h1>no</h1>", '{"error":{"code":"FORBIDDEN"}', "\u0000", "[" * 5000):
        script = {"path": CONNECTORS, "status": 401, "raw": raw}
        await vaultd.control("POST", "/control/answers", script)
        check(await client.call("connectors_list"), "HTTP_ERROR", 401, "Unauthorized", None)
    answer = await told(vaultd, client, {"error": {"message": "why"}}, 502)
    check(answer, "HTTP_ERROR", 502, "why", None)


@scenario("VC-05")
@settings(max_examples=8)
@given(code=codes, status=st.integers(400, 599), message=st.text(max_size=20))
@example(code="constructor", status=404, message="m")
@example(code="MCP_VALIDATION_ERROR", status=500, message="m")
async def test_any_other_code_goes_by_its_status(world: World, code: str, status: int, message: str) -> None:
    """A code that nobody knows is internal below 500 and the network's from there on; it is retryable from 500 on and
    at 429."""
    vaultd, client = await begin(world)
    answer = await told(vaultd, client, {"error": {"code": code, "message": f".{message}"}}, status)
    check(answer, code, status, f".{message}", None)


@scenario("VC-05")
@pytest.mark.parametrize("how", ["nobody there", "no answer in time", "broken off", "half of it", "no URL", "no host"])
async def test_no_answer_is_internal_and_worth_another_try(world: World, how: str) -> None:
    """A vault that cannot be reached, or whose answer does not come whole: MCP_INTERNAL, retryable, NETWORK_ERROR,
    status 0; the time-out covers the whole call, and nothing is retried."""
    vaultd, client = await begin(world, timeout_ms=500)
    trouble = {"no answer in time": "hang", "broken off": "down", "half of it": "half"}.get(how)
    if trouble:
        await vaultd.trouble(trouble)
    elif how == "nobody there":
        await vaultd.down()
    else:
        await client.configure(base_url="ftp://vault.test" if how == "no URL" else "http://")
    began_s = world.now_s
    answer = await client.call("connectors_list")
    assert (answer.code, answer.category, answer.error["retryable"]) == ("MCP_INTERNAL", "internal", True), answer.error
    assert answer.error["vault_code"] == "NETWORK_ERROR"
    assert answer.meta["vault_http_status"] == 0
    assert answer.meta["vault_code"] == "NETWORK_ERROR"
    assert set(answer.details) == {"request_id", "vault_http_status", "vault_error"}
    assert answer.details["vault_error"]["code"] == "NETWORK_ERROR"
    assert len(answer.meta["request_id"]) == 32
    if how == "no answer in time":
        assert 0.5 <= world.now_s - began_s <= (0.5 if world.mode == "virtual" else 3.0)
    if trouble:
        assert await vaultd.calls() == [f"GET {CONNECTORS}"]


@scenario("VC-05")
async def test_below_400_is_a_success(world: World) -> None:
    """An answer with a status below 400 is a success whatever its body says; a body that is no object is null."""
    vaultd, client = await begin(world)
    error = {"error": {"code": "FORBIDDEN", "message": "no", "details": {}}}
    for status, body, data in (
        (200, error, error),
        (202, error, error),
        (201, {}, {}),
        (200, [1], None),
        (200, 7, None),
    ):
        answer = await told(vaultd, client, body, status)
        assert (answer.data, answer.meta["vault_http_status"], answer.meta["vault_code"]) == (data, status, "")
    for raw in ("", "text", '{"a":', "null"):
        await vaultd.control("POST", "/control/answers", {"path": CONNECTORS, "raw": raw})
        assert (await client.call("connectors_list")).data is None, raw
    numbers = '{"a":1.0,"b":12345678901234567890,"c":1e2,"d":0.1,"e":-0.0,"f":1e400}'
    await vaultd.control("POST", "/control/answers", {"path": CONNECTORS, "raw": numbers.replace(',"f":1e400', "")})
    data = (await client.call("connectors_list")).data
    assert data == {"a": 1, "b": 12345678901234567000, "c": 100, "d": 0.1, "e": 0}


@scenario("VC-05")
async def test_each_call_says_who_and_what_in_its_headers(world: World) -> None:
    """A fresh request id, the program, the token, the content type of a POST; an idempotency key where the call has
    one, another each time, and on no reading call."""
    vaultd, client = await begin(world)
    for _ in range(2):
        await client.call("connector_execute", request=http_request())
        await client.call("connector_get", connector_id="generic.http")
        await client.call("document_types_suggest", query="passport")
        await client.call("slot_bind", **HTTP, slot="s", secret_id="i")
    log = await vaultd.log()
    keyed = {seen["path"]: "idempotency-key" in dict(seen["headers"]) for seen in log}
    assert keyed == {
        "/v0/connectors/validate": False,
        "/v0/connectors/execute": True,
        "/v0/connectors/generic.http": False,
        "/v0/docs/types/suggest": False,
        "/v0/connectors/secrets/slots/bind": True,
    }
    drawn = []
    for seen in log:
        headers = dict(seen["headers"])
        assert headers["user-agent"] == "accords-mcp/0.1.0"
        assert headers["authorization"].startswith("Bearer vat-")
        assert (headers.get("content-type") == "application/json") is (seen["method"] == "POST")
        drawn += [headers[name] for name in ("x-request-id", "idempotency-key") if name in headers]
    assert all(len(one) == 32 and not one.strip(HEX) for one in drawn)
    assert len(dict.fromkeys(drawn)) == len(drawn)


@scenario("VC-05")
async def test_an_id_stays_one_segment_of_its_path(world: World) -> None:
    """An id with a slash, a question mark or a percent sign reaches the vault as one segment, percent-encoded; `.` and
    `..` are refused before any call."""
    vaultd, client = await begin(world)
    tools = {
        "connector_get": ("connector_id", "/v0/connectors/"),
        "job_get": ("job_id", "/v0/jobs/"),
        "plan_run_get": ("run_id", "/v0/connectors/plans/runs/"),
    }
    encoded = {
        "a?x=1": "a%3Fx%3D1",
        "../approvals/pending": "..%2Fapprovals%2Fpending",
        "a b": "a%20b",
        "%2e%2e": "%252e%252e",
        "a#b": "a%23b",
        "a\\b": "a%5Cb",
        "\u00e9": "%C3%A9",
        "...": "...",
        "x\r\ny": "x%0D%0Ay",
    }
    for tool, (name, path) in tools.items():
        for ident, segment in encoded.items():
            await client.call(tool, {name: ident})
            seen = (await vaultd.log())[-1]
            assert (seen["method"], seen["path"]) == ("GET", path + segment), ident
        count = len(await vaultd.log())
        for ident in (".", "..", " .. "):
            assert (await client.call(tool, {name: ident})).code == "MCP_VALIDATION_ERROR", ident
        assert len(await vaultd.log()) == count
