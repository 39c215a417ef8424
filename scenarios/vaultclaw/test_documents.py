"""Which document is meant, and which is the latest: the vault's answers as they are, its codes and details too.

Source: contract vaultclaw 7, 8, 11.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from lasttick import World, scenario

from .steps_approvals import begin, says

SUGGEST, LATEST = "/v0/docs/types/suggest", "/v0/docs/types/latest"
BODIES: list[Any] = [
    {"items": [{"type_id": "identity.passport", "score": 0.75, "odd": {"\u2028": [None, 1e-7]}}], "error": None},
    {"document_id": "d-1", "item": {"document_id": "d-2"}},
    {},
]


@scenario("VC-08")
async def test_words_lead_to_types(world: World) -> None:
    """The query is trimmed, `top_k` is cut to a whole number, 5 when it is none or not positive, and has no maximum;
    the answer is the vault's own body."""
    vaultd, client = await begin(world)
    await vaultd.control("PUT", "/control/types/work.badge", {"words": ["badge"]})
    found = await client.call("document_types_suggest", query="a badge, please")
    assert [item["type_id"] for item in found.data["items"]] == ["work.badge"]
    table: list[tuple[Any, int]] = [
        (None, 5),
        (0, 5),
        (-3, 5),
        ("7", 5),
        (True, 5),
        (0.9, 5),
        (1.9, 1),
        (100_000, 100_000),
    ]
    for top_k, expected in table:
        await client.call("document_types_suggest", query=" \u2003passport\n", top_k=top_k)
        seen = (await vaultd.log())[-1]
        assert (seen["method"], seen["path"]) == ("POST", SUGGEST)
        assert json.loads(seen["body"]) == {"query": "passport", "top_k": expected}, top_k
        assert "idempotency-key" not in dict(seen["headers"])
    for body in BODIES:
        await says(vaultd, SUGGEST, body)
        answer = await client.call("document_types_suggest", query="x")
        assert answer.data == body
        assert answer.meta["request_id"] == dict((await vaultd.log())[-1]["headers"])["x-request-id"]


@scenario("VC-08")
async def test_the_latest_document_of_a_subject(world: World) -> None:
    """The subject is `self` unless one is named; type and subject are form-encoded in the query; the document is the
    caller's own tenant's, the latest."""
    vaultd, client = await begin(world)
    for ident, tenant, subject in (
        ("old", "acme", "self"),
        ("new", "acme", "self"),
        ("kid", "acme", "child"),
        ("x", "globex", "self"),
    ):
        told = {"tenant": tenant, "type_id": "work.badge", "subject_id": subject}
        await vaultd.control("PUT", f"/control/documents/{ident}", told)
    for given, subject, found in (
        ({}, "self", "new"),
        ({"subject_id": " "}, "self", "new"),
        ({"subject_id": 7}, "self", "new"),
        ({"subject_id": " child "}, "child", "kid"),
    ):
        answer = await client.call("document_types_latest", type_id=" work.badge ", **given)
        assert answer.data["item"]["document_id"] == found, (given, answer.data)
        assert (await vaultd.log())[-1]["path"] == f"{LATEST}?subject_id={subject}&type_id=work.badge"
    await client.call("document_types_latest", type_id="a b&c=d", subject_id="e,f+\u00e9")
    path, _, query = (await vaultd.log())[-1]["path"].partition("?")
    assert (path, query) == (LATEST, "subject_id=e%2Cf%2B%C3%A9&type_id=a+b%26c%3Dd")
    assert parse_qsl(query) == [("subject_id", "e,f+\u00e9"), ("type_id", "a b&c=d")]
    for body in BODIES:
        await vaultd.trouble("answer", body=body, path=LATEST, count=1)
        assert (await client.call("document_types_latest", type_id="t")).data == body


@scenario("VC-08", "VC-05")
async def test_the_vaults_code_and_details_survive(world: World) -> None:
    """A document that is not there has a code of the vault's, which has no meaning of its own here; it, its message and
    its details come through, from either tool. So does a missing scope."""
    vaultd, client = await begin(world)
    missing = await client.call("document_types_latest", type_id="identity.nothing")
    assert (missing.code, missing.category, missing.error["retryable"]) == ("MCP_INTERNAL", "internal", False)
    assert missing.error["vault_code"] == "DOCUMENT_SLOT_UNRESOLVED" == missing.meta["vault_code"]
    assert missing.details["vault_error"]["code"] == "DOCUMENT_SLOT_UNRESOLVED"
    for tool, path, arguments in (
        ("document_types_suggest", SUGGEST, {"query": "x"}),
        ("document_types_latest", LATEST, {"type_id": "x"}),
    ):
        for code, status in (("document_slot_unresolved", 404), ("DOCUMENT_TYPE_RETIRED", 410), ("X", 503)):
            error = {"code": code, "message": f" {code} of x", "details": {"type_id": "x", "options": [1, {"a": None}]}}
            await vaultd.trouble("answer", body={"error": error}, status=status, path=path, count=1)
            answer = await client.call(tool, arguments)
            assert (answer.error["vault_code"], answer.error["message"]) == (code, error["message"])
            assert answer.details["vault_error"] == error
            assert answer.details["vault_http_status"] == status == answer.meta["vault_http_status"]
            assert answer.error["retryable"] is (status == 503)
    token = await vaultd.token("agent-less", tenant="acme", scopes=["connectors.list.v1"])
    await client.configure(token)
    for tool, arguments in (("document_types_suggest", {"query": "x"}), ("document_types_latest", {"type_id": "x"})):
        answer = await client.call(tool, arguments)
        assert (answer.code, answer.error["vault_code"]) == ("MCP_AUTH_FORBIDDEN", "INSUFFICIENT_SCOPE")
        assert answer.details["vault_error"]["details"]["required_scope"].startswith("docs.types.")
