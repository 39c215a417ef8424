"""The operator's surface: its door, its documents, runs and ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .platform_rig import ADMIN, ENVIRON, ORG, READ, Rig, with_platform

SURFACE = [
    ("PUT", "/v1/admin/orgs/org-a"),
    ("GET", "/v1/admin/orgs/org-a"),
    ("PUT", "/v1/admin/registry"),
    ("GET", "/v1/admin/registry"),
    ("GET", "/v1/admin/runs?org_id=org-a"),
    ("GET", "/v1/admin/runs/x"),
    ("POST", "/v1/admin/runs/x/finish"),
    ("PUT", "/v1/admin/runs/x/manifest"),
    ("GET", "/v1/admin/ledger?org_id=org-a"),
]


@pytest.mark.parametrize(("method", "path"), SURFACE)
def test_nobody_else_gets_in(method: str, path: str) -> None:
    async def body(rig: Rig) -> None:
        good = f"Bearer {ADMIN}".encode()
        presented: list[list[bytes]] = [
            [],
            [b"Bearer wrong"],
            [good + b"x"],
            [good, good],
            [b"Basic " + ADMIN.encode()],
            [b"Bearer chat-token-of-org-a"],
            [b"Bearer " + ENVIRON["AGENT_SERVICE_SECRET"].encode()],
            [b"Bearer " + rig.token().encode()],
        ]
        for values in presented:
            headers = [(b"authorization", value) for value in values]
            answer = await rig.send(method, path, headers, b"not json")
            assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")
        headers = [(b"x-agent-secret", ENVIRON["AGENT_SERVICE_SECRET"].encode())]
        assert (await rig.send(method, path, headers)).status == 401

    with_platform(body)


def test_without_an_admin_token_there_is_no_way_in() -> None:
    async def body(rig: Rig) -> None:
        for headers in ({}, {"authorization": "Bearer "}, {"authorization": f"Bearer {ADMIN}"}):
            assert (await rig.send("GET", "/v1/admin/registry", headers)).status == 401

    with_platform(body, environ={"PLATFORM_ADMIN_TOKEN": ""})


@pytest.mark.parametrize("org_id", ["org-b", "a%2Fb", "with%20blank", "%E6%BC%A2"])
def test_a_document_comes_back_as_it_went_in(org_id: str) -> None:
    from urllib.parse import unquote

    async def body(rig: Rig) -> None:
        path = f"/orgs/{unquote(org_id)}"
        assert (await rig.admin("GET", path)).code == "NOT_FOUND"
        document = {"flags": {"x": [1.5, None, "ü\ud800"]}, "chat_tokens": ["t-1"], "credentials": {"shop": {"k": "v"}}}
        put = await rig.admin("PUT", path, document)
        assert (put.status, put.json) == (200, document)
        assert (await rig.admin("GET", path)).json == document
        assert (await rig.admin("PUT", path, {})).status == 200
        assert (await rig.admin("GET", path)).json == {}

    with_platform(body)


@pytest.mark.parametrize(("bad", "status"), [(b"", 400), (b"[]", 400), (b"{", 400), (b" " * (1 << 21), 413)])
def test_bad_bodies(bad: bytes, status: int) -> None:
    async def body(rig: Rig) -> None:
        for path in ("/orgs/org-a", "/registry"):
            assert (await rig.admin("PUT", path, bad)).status == status
        assert (await rig.admin("GET", "/orgs/org-a")).json == ORG

    with_platform(body)


def test_a_refused_document_changes_nothing() -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.admin("PUT", "/orgs/org-a", {"flag": {}})
        assert (answer.status, answer.code) == (400, "BAD_REQUEST")
        assert "the document has flag; expected only chat_tokens" in answer.json["message"]
        assert (await rig.admin("PUT", "/orgs/ ", {})).status == 400
        assert (await rig.admin("GET", "/orgs/org-a")).json == ORG
        before = (await rig.admin("GET", "/registry")).json
        entry = before["order_lookup"]
        answer = await rig.admin("PUT", "/registry", {"a-b": entry, "a_b": entry})
        assert (answer.status, "a-b:lookup" in answer.json["message"]) == (400, True)
        assert (await rig.admin("GET", "/registry")).json == before

    with_platform(body)


def test_a_chat_token_has_one_organisation() -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.admin("PUT", "/orgs/org-b", {"chat_tokens": ["new", "chat-token-of-org-a"]})
        assert (answer.status, answer.code) == (409, "CHAT_TOKEN_TAKEN")
        assert (await rig.admin("GET", "/orgs/org-b")).status == 404
        assert (await rig.chat({"text": "x"}, token="new")).status == 401
        rig.org(chat_tokens=["another"])
        assert (await rig.admin("PUT", "/orgs/org-b", {"chat_tokens": ["chat-token-of-org-a"]})).status == 200
        assert (await rig.chat({"text": "x"})).json["run_id"] == rig.platform.runs.of_org("org-b")[0].id

    with_platform(body)


def test_a_change_counts_from_the_next_use() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        assert (await rig.execute(run_id)).status == 200
        await rig.admin("PUT", "/orgs/org-a", {**ORG, "policies": {READ: "deny"}})
        assert (await rig.execute(run_id)).code == "POLICY_DENIED"
        await rig.admin("PUT", "/orgs/org-a", ORG)
        data = (await rig.admin("GET", "/registry")).json
        data["order_lookup"]["path"] = "/v2/orders"
        assert (await rig.admin("PUT", "/registry", data)).json == data
        assert (await rig.execute(run_id)).status == 200
        assert rig.third_asked[-1].url == "http://third.test:2/v2/orders/lookup"

    with_platform(body)


def test_runs() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        rig.run("org-b")
        run = (await rig.admin("GET", f"/runs/{run_id}")).json
        assert run == {
            "id": run_id,
            "orgId": "org-a",
            "runKind": "conversation_draft",
            "state": "active",
            "conversationId": "c-1",
            "metadata": {
                "inboundMessageRole": "user",
                "channel": "chat",
                "runtimeManifest": {"allowedTools": [READ]},
            },
        }
        assert (await rig.admin("GET", "/runs?org_id=org-a")).json == {"runs": [run]}
        assert (await rig.admin("GET", "/runs?org_id=nobody")).json == {"runs": []}
        assert (await rig.admin("POST", f"/runs/{run_id}/finish")).json == {**run, "state": "finished"}
        assert (await rig.admin("POST", f"/runs/{run_id}/finish")).status == 200
        assert (await rig.execute(run_id)).code == "RUN_NOT_ACTIVE"
        for method, path in [("GET", "/runs/no"), ("POST", "/runs/no/finish"), ("PUT", "/runs/no/manifest")]:
            assert (await rig.admin(method, path, {"allowedTools": []})).code == "NOT_FOUND"
        assert (await rig.admin("GET", "/runs")).status == 400

    with_platform(body)


def test_a_manifest_is_replaced() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        answer = await rig.admin("PUT", f"/runs/{run_id}/manifest", {"allowedTools": []})
        assert answer.json["metadata"] == {"inboundMessageRole": "user", "channel": "chat"}
        assert (await rig.execute(run_id)).code == "NOT_IN_MANIFEST"
        await rig.admin("PUT", f"/runs/{run_id}/manifest", {"allowedTools": ["x:y", READ]})
        assert (await rig.execute(run_id)).status == 200
        bad: list[Any] = [{}, {"allowedTools": READ}, {"allowedTools": [7]}, {"allowedTools": None}]
        for value in bad:
            assert (await rig.admin("PUT", f"/runs/{run_id}/manifest", value)).status == 400
        assert (await rig.execute(run_id)).status == 200

    with_platform(body)


def test_the_ledger() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        for _ in range(3):
            await rig.execute(run_id)
        rows = (await rig.admin("GET", "/ledger?org_id=org-a")).json["rows"]
        assert [row["seq"] for row in rows] == [1, 2, 3]
        assert (await rig.admin("GET", "/ledger?org_id=org-a&after=2")).json["rows"] == rows[2:]
        assert (await rig.admin("GET", "/ledger?org_id=org-b")).json["rows"] == []
        for query in (
            "",
            "?org_id=",
            "?org_id=org-a&after=-1",
            "?org_id=org-a&after=x",
            "?org_id=org-a&after=" + "9" * 99,
        ):
            assert (await rig.admin("GET", f"/ledger{query}")).status == 400
        assert json.dumps(rows).count(run_id) == 3

    with_platform(body)
