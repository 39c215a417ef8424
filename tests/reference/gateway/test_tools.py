"""The ToolGatewayService from outside: order of the checks, tenants, doors, rows (GW-05 to GW-09)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from lasttick.reference.gateway import tools
from lasttick.reference.gateway.database import agent_run, org, setting

from .platform_rig import INTERNAL, READ, WRITE, Rig, with_platform


def spoil(rig: Rig, what: str, run_id: str) -> None:
    """Make one of the checks fail, between the run's start and the call."""
    if what == "run":
        rig.platform.runs.finish(run_id)
    elif what == "manifest":
        run = rig.platform.runs.by_id(run_id)
        assert run is not None
        rig.platform.runs.set_allowed_tools(run, [WRITE])
    elif what == "reclassified":
        data = json.loads(json.dumps(rig.platform.catalogue.tools().entries))
        data["order_lookup"]["actions"][0]["accessClass"] = "write"
        rig.platform.catalogue.put_tools(data)


SETTINGS: dict[str, dict[str, Any]] = {
    "withdrawn": {"bindings": [{"slug": "order_lookup", "state": "draft"}]},
    "narrowed": {"bindings": [{"slug": "order_lookup", "state": "published", "access": "write"}]},
    "policy": {"policies": {READ: "deny"}},
    "flag": {"flags": {"tool_dispatch_enabled": False}},
    "credentials": {"credentials": {"order_lookup": {"api_key": ""}}},
}
ORDER = [
    ("run", 409, "RUN_NOT_ACTIVE"),
    ("manifest", 403, "NOT_IN_MANIFEST"),
    ("reclassified", 403, "ACCESS_CLASS_FORBIDDEN"),
    ("withdrawn", 403, "ACCESS_CLASS_FORBIDDEN"),
    ("narrowed", 403, "ACCESS_CLASS_FORBIDDEN"),
    ("policy", 403, "POLICY_DENIED"),
    ("flag", 403, "TOOL_DISPATCH_DISABLED"),
    ("credentials", 424, "CREDENTIALS_INCOMPLETE"),
]


def test_a_read_through_the_internal_door() -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        answer = await rig.execute(run_id, input={"order_id": "A-1"})
        assert (answer.status, answer.json) == (200, {"ok": True, "result": {"order": {"order_id": "A-1"}}})
        (asked,) = rig.third_asked
        assert (asked.url, asked.json) == ("http://third.test:2/order_lookup/lookup", {"order_id": "A-1"})
        (row,) = rig.rows()
        assert row == {
            "seq": 1,
            "org_id": "org-a",
            "door": "internal",
            "sub": "internal-agent:org-a",
            "run_id": run_id,
            "tool_name": "order_lookup",
            "action": "lookup",
            "input": '{"order_id":"A-1"}',
            "opened_at": "2026-01-01T00:00:00+00:00",
            "closed_at": "2026-01-01T00:00:00+00:00",
            "status": 200,
            "outcome": "OK",
        }

    with_platform(body)


@pytest.mark.parametrize(("what", "status", "code"), ORDER)
def test_each_check_alone(what: str, status: int, code: str) -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        spoil(rig, what, run_id)
        rig.org(**SETTINGS.get(what, {}))
        answer = await rig.execute(run_id)
        assert (answer.status, answer.code) == (status, code)
        assert rig.third_asked == []
        assert [(row["status"], row["outcome"]) for row in rig.rows()] == [(status, code)]

    with_platform(body)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_first_check_that_fails_answers(first: int) -> None:
    """All from `first` on fail; what is asked before them holds."""

    async def body(rig: Rig) -> None:
        run_id = rig.run()
        settings: dict[str, Any] = {}
        for what, _, _ in reversed(ORDER[first:]):
            spoil(rig, what, run_id)
            settings |= SETTINGS.get(what, {})
        rig.org(**settings)
        answer = await rig.execute(run_id)
        assert (answer.status, answer.code) == ORDER[first][1:]
        assert rig.third_asked == []

    with_platform(body)


def test_a_run_that_is_not_the_callers_is_not_there() -> None:
    """GW-06: in every combination the same bytes as a run that never was, and a row in the caller's own ledger."""

    async def body(rig: Rig) -> None:
        rig.org("org-b", chat_tokens=["chat-token-of-org-b"])
        theirs, mine = rig.run("org-b"), rig.run("org-a")
        finished = rig.run("org-b")
        rig.platform.runs.finish(finished)
        as_a, as_b = rig.runner(org_id="org-a"), rig.runner(org_id="org-b")
        absent = await rig.execute("never-was")
        combinations = [
            await rig.execute("never-was", headers=as_a),
            await rig.execute(theirs),
            await rig.execute(theirs, headers=as_a),
            await rig.execute(theirs, headers=as_a, orgId="org-b"),
            await rig.execute(finished, headers=as_a, orgId="org-b"),
            await rig.execute(finished),
            await rig.execute(theirs, WRITE),
            await rig.execute(theirs, "no:such"),
            await rig.execute(mine, headers=as_a, orgId="org-b"),
            await rig.execute(mine, headers=as_a, orgId="ORG-A"),
            await rig.execute(mine, headers=as_a, orgId=None),
            await rig.execute(mine, headers=as_a, orgId=["org-a"]),
            await rig.execute(mine.upper(), headers=as_a),
            await rig.execute(mine + " ", headers=as_a),
            await rig.execute("", headers=as_a),
            await rig.execute("\x00", headers=as_a),
            await rig.execute("\ud800'; --", headers=as_a),
            await rig.execute("x" * 100_000, headers=as_a),
            await rig.execute(mine, orgId="nobody"),
        ]
        assert (absent.status, absent.code) == (404, "RUN_NOT_FOUND")
        for answer in combinations:
            assert answer.whole == absent.whole
        assert rig.third_asked == []
        assert rig.outcomes("org-a") == ["RUN_NOT_FOUND"] * len(combinations)
        assert rig.outcomes("nobody") == ["RUN_NOT_FOUND"]
        assert rig.outcomes("org-b") == []
        assert (await rig.execute(mine, orgId="org-b")).whole == absent.whole
        assert (await rig.execute(mine, headers=as_b)).whole == absent.whole
        assert rig.outcomes("org-b") == ["RUN_NOT_FOUND"] * 2
        assert (await rig.execute(mine, headers=as_a)).status == 200

    with_platform(body)


def test_an_org_id_missing_at_the_runner_door_is_not_the_callers() -> None:
    async def body(rig: Rig) -> None:
        call = {"runId": rig.run(), "toolName": "order_lookup", "action": "lookup", "input": {}}
        answer = await rig.send("POST", "/v1/runtime/tools/execute", rig.runner(), call)
        assert (answer.status, answer.code) == (404, "RUN_NOT_FOUND")

    with_platform(body)


def test_a_write_is_for_the_runner_door_only() -> None:
    """GW-05, ruling 2. The door is what the guard recorded: a token may call itself what it likes."""

    async def body(rig: Rig) -> None:
        run_id = rig.run(allowed=[READ, WRITE])
        answer = await rig.execute(run_id, WRITE)
        assert (answer.status, answer.code) == (403, "ACCESS_CLASS_FORBIDDEN")
        assert rig.third_asked == []
        for sub in ("runner-7", "internal-agent:org-a", "", "\ud800\x00"):
            assert (await rig.execute(run_id, WRITE, headers=rig.runner(sub=sub))).status == 200
        both = {**rig.runner(), **INTERNAL}
        assert (await rig.execute(run_id, WRITE, headers=both)).status == 403
        assert [row["door"] for row in rig.rows()] == ["internal", *["runner"] * 4, "internal"]

    with_platform(body)


@pytest.mark.parametrize(
    "pair", ["order_lookup:none", "none:lookup", "order_lookup:", ":lookup", "a:b:c", "shop:lookup"]
)
@pytest.mark.parametrize("door", ["internal", "runner"])
def test_an_action_that_is_not_in_the_registry(pair: str, door: str) -> None:
    async def body(rig: Rig) -> None:
        headers = INTERNAL if door == "internal" else rig.runner()
        answer = await rig.execute(rig.run(allowed=[pair]), pair, headers=headers)
        assert (answer.status, answer.code) == (403, "ACCESS_CLASS_FORBIDDEN")
        assert rig.third_asked == []

    with_platform(body)


def test_slug_and_action_are_not_joined_elsewhere() -> None:
    """Ruling 4: `a:b` + `c` is not `a` + `b:c`."""

    async def body(rig: Rig) -> None:
        run_id = rig.run()
        for tool_name, action in [("order_lookup:lookup", ""), ("order", "lookup:lookup"), ("order_lookup.lookup", "")]:
            answer = await rig.execute(run_id, toolName=tool_name, action=action)
            assert answer.code == "NOT_IN_MANIFEST"

    with_platform(body)


@pytest.mark.parametrize("name", ["runId", "toolName", "action", "input"])
@pytest.mark.parametrize("value", [None, 7, True, [], ["x"], "text", {"a": 1}])
def test_an_unreadable_body_is_400_and_leaves_no_row(name: str, value: Any) -> None:
    if isinstance(value, dict if name == "input" else str):
        return

    async def body(rig: Rig) -> None:
        answer = await rig.execute(rig.run(), headers=INTERNAL, **{name: value})
        assert (answer.status, answer.code) == (400, "BAD_REQUEST")
        assert name in answer.json["message"]
        assert (await rig.execute(rig.run(), headers={}, **{name: value})).status == 401
        assert (rig.rows(), rig.third_asked) == ([], [])

    with_platform(body)


def test_credentials_that_the_tool_needs() -> None:
    async def body(rig: Rig) -> None:
        data = json.loads(json.dumps(rig.platform.catalogue.tools().entries))
        data["order_lookup"]["credentials"] = ["api_key", "shop_id"]
        rig.platform.catalogue.put_tools(data)
        run_id = rig.run()
        assert (await rig.execute(run_id)).code == "CREDENTIALS_INCOMPLETE"
        rig.org(credentials={"order_lookup": {"api_key": "key-canary-123"}})
        assert (await rig.execute(run_id)).code == "CREDENTIALS_INCOMPLETE"
        rig.org(credentials={"order_lookup": {"api_key": "key-canary-123", "shop_id": "s-1"}})
        assert (await rig.execute(run_id)).status == 200
        assert rig.third_asked[0].header("x-api-key") == "key-canary-123"
        assert rig.third_asked[0].header("x-shop-id") == "s-1"

    with_platform(body)


def test_a_run_that_ends_during_a_call() -> None:
    """What was allowed when it was asked goes on; the next call is refused."""

    async def body(rig: Rig) -> None:
        run_id = rig.run()

        async def third() -> httpx.Response:
            await asyncio.sleep(5)
            return httpx.Response(200, json={})

        rig.strangers.third = lambda _: third()
        task = asyncio.ensure_future(rig.execute(run_id))
        await asyncio.sleep(1)
        rig.platform.runs.finish(run_id)
        assert (await rig.execute(run_id)).status == 409
        assert (await task).status == 200

    with_platform(body)


def test_a_spoilt_registry_allows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        run_id = rig.run()
        with rig.platform.catalogue._database.begin() as connection:
            connection.execute(setting.update().where(setting.c.name == "registry").values(value="{"))
        assert (await rig.execute(run_id)).code == "ACCESS_CLASS_FORBIDDEN"
        assert (await rig.execute(run_id, headers=rig.runner())).code == "ACCESS_CLASS_FORBIDDEN"
        assert "allows nothing" in caplog.text

    with_platform(body)


def test_spoilt_rows_allow_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        for table, column in [(agent_run, "metadata"), (org, "document")]:
            for spoilt in ("{", "[]", "7", '{"flag": {}}', "[" * 100_000):
                rig.org()
                run_id = rig.run()
                with rig.platform.catalogue._database.begin() as connection:
                    connection.execute(table.update().values({column: spoilt}))
                assert (await rig.execute(run_id)).status == 403
                assert (await rig.admin("GET", f"/runs/{run_id}")).status == 200
        assert rig.third_asked == []
        assert "allows nothing" in caplog.text

    with_platform(body)


def test_a_hundred_calls_at_once_get_their_own_answers() -> None:
    async def body(rig: Rig) -> None:
        async def echo(asked: Any) -> httpx.Response:
            await asyncio.sleep(asked.json["n"] % 7)
            return httpx.Response(200, json={"n": asked.json["n"]})

        rig.strangers.third = echo
        run_id = rig.run()
        answers = await asyncio.gather(*(rig.execute(run_id, input={"n": n}) for n in range(100)))
        assert [answer.json["result"]["n"] for answer in answers] == list(range(100))
        assert rig.outcomes() == ["OK"] * 100

    with_platform(body)


def test_the_tenant_and_the_door_have_seams() -> None:
    """What the wrong versions of rulings 2 and 5 replace is used."""

    async def body(rig: Rig) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tools, "tenant_of", lambda admitted, body: body.get("orgId"))
            theirs = rig.run("org-b", [READ])
            rig.org("org-b", chat_tokens=[])
            assert (await rig.execute(theirs, headers=rig.runner(), orgId="org-b")).status == 200
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tools, "door_of", lambda admitted: "runner")
            assert (await rig.execute(rig.run(allowed=[WRITE]), WRITE)).status == 200

    with_platform(body)
