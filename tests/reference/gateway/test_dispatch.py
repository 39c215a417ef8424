"""One turn, at both sites: run, wire, answer; and nothing of tools when there are none (GW-11, GW-12, GW-20)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from .platform_rig import ADMIN, Asked, Rig, with_platform

SITES = ["messages", "regenerate"]
TEXT = {"text": "where is my order?", "skill": "help"}


def off_bytes(run_id: str | None) -> bytes:
    """The wire of a turn without tools, byte for byte, written down here and not computed."""
    coded = b"null" if run_id is None else b'"' + run_id.encode() + b'"'
    org = b'"org-a"' if run_id else b"null"
    return b'{"conversation_id":"c-1","text":"where is my order?","org_id":' + org + b',"run_id":' + coded + b"}"


@pytest.mark.parametrize("site", SITES)
def test_a_turn_with_tools(site: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.chat({**TEXT, "skill": "shopping", "channel": "mail"}, site)
        (run,) = rig.platform.runs.of_org("org-a")
        assert (answer.status, answer.json) == (
            200,
            {"run_id": run.id, "answer": "good day", "conversation_id": "c-1"},
        )
        pairs = ["order_lookup:lookup", "shop:get_order", "shop:get_product"]
        assert run.metadata == {
            "inboundMessageRole": "user",
            "channel": "mail",
            "runtimeManifest": {"allowedTools": pairs},
        }
        (asked,) = rig.strangers.agent_asked
        assert asked.json == {
            "conversation_id": "c-1",
            "text": "where is my order?",
            "org_id": "org-a",
            "run_id": run.id,
            "toolsets": ["humanwork"],
            "mcp_tools": pairs,
        }
        assert (run.run_kind, run.state) == ("conversation_draft", "finished")

    with_platform(body)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize(
    "parts",
    [
        {"flags": {}},
        {"flags": {"tool_dispatch_enabled": False}},
        {"flags": {"tool_dispatch_enabled": "true"}},
        {"flags": {"tool_dispatch_enabled": 1}},
        {"bindings": []},
        {"bindings": [{"slug": "order_lookup", "state": "draft"}]},
        {"bindings": [{"slug": "order_lookup", "state": "published", "access": "write"}]},
        {"skills": {}},
        {"skills": {"help": []}},
        {"skills": {"help": ["unknown"]}},
    ],
)
def test_a_turn_without_tools(site: str, parts: dict[str, Any]) -> None:
    async def body(rig: Rig) -> None:
        rig.org(**parts)
        assert (await rig.chat(TEXT, site)).status == 200
        (run,) = rig.platform.runs.of_org("org-a")
        assert run.metadata == {"inboundMessageRole": "user", "channel": "chat"}
        assert [asked.body for asked in rig.strangers.agent_asked] == [off_bytes(run.id)]

    with_platform(body)


@pytest.mark.parametrize("skill", [None, "unknown", ""])
def test_no_skill_no_tools(skill: str | None) -> None:
    async def body(rig: Rig) -> None:
        await rig.chat({**TEXT, "skill": skill})
        assert "mcp_tools" not in rig.strangers.agent_asked[0].json

    with_platform(body)


def test_another_orgs_bindings_count_for_nothing() -> None:
    async def body(rig: Rig) -> None:
        rig.org("org-b", chat_tokens=["chat-token-of-org-b"], bindings=[])
        await rig.chat(TEXT, token="chat-token-of-org-b")
        assert set(rig.strangers.agent_asked[0].json) == {"conversation_id", "text", "org_id", "run_id"}

    with_platform(body)


@pytest.mark.parametrize("site", SITES)
def test_without_a_dispatch_org_there_is_no_run(site: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.chat(TEXT, site, token=ADMIN)
        assert answer.json == {"run_id": None, "answer": "good day", "conversation_id": "c-1"}
        assert [asked.body for asked in rig.strangers.agent_asked] == [off_bytes(None)]
        assert rig.platform.runs.of_org("org-a") == []

    with_platform(body)


def test_a_consultation_has_no_run_and_no_tools() -> None:
    async def body(rig: Rig) -> None:
        headers = {"authorization": "Bearer chat-token-of-org-a"}
        answer = await rig.send("POST", "/v1/consultations", headers, TEXT)
        assert (answer.status, answer.json) == (200, {"answer": "good day"})
        wire = rig.strangers.agent_asked[0].json
        assert wire.pop("conversation_id")
        assert wire == {"text": "where is my order?", "org_id": "org-a", "run_id": None}
        assert rig.platform.runs.of_org("org-a") == []

    with_platform(body)


def test_the_run_is_active_until_the_answer_is_stored() -> None:
    """Ruling 12: the agent can call during its turn, and never after it."""

    async def body(rig: Rig) -> None:
        during: list[int] = []

        async def agent(asked: Asked) -> httpx.Response:
            during.append((await rig.execute(asked.json["run_id"])).status)
            return httpx.Response(200, json={"answer": "it is on its way"})

        rig.strangers.agent = agent
        answer = await rig.chat(TEXT)
        assert during == [200]
        assert (await rig.execute(answer.json["run_id"])).code == "RUN_NOT_ACTIVE"
        assert rig.outcomes() == ["OK", "RUN_NOT_ACTIVE"]

    with_platform(body)


@pytest.mark.parametrize(
    ("agent", "status", "code"),
    [
        (httpx.ConnectError("x"), 502, "AGENT_UNREACHABLE"),
        (httpx.Response(500), 502, "AGENT_ERROR"),
        (httpx.Response(401), 502, "AGENT_ERROR"),
        (httpx.Response(307, headers={"location": "http://elsewhere.test/"}), 502, "AGENT_ERROR"),
        (httpx.Response(200, text="<html>"), 502, "AGENT_ERROR"),
        (httpx.Response(200, json=["x"]), 502, "AGENT_ERROR"),
        (httpx.Response(200, json={"answer": 7}), 502, "AGENT_ERROR"),
        (httpx.Response(200, json={}), 502, "AGENT_ERROR"),
        (None, 504, "AGENT_TIMEOUT"),
    ],
    ids=range(9),
)
@pytest.mark.parametrize("site", SITES)
def test_a_turn_that_fails_ends_its_run(site: str, agent: Any, status: int, code: str) -> None:
    async def body(rig: Rig) -> None:
        rig.strangers.agent = lambda _: asyncio.sleep(10_000) if agent is None else agent
        answer = await rig.chat(TEXT, site)
        assert (answer.status, answer.code) == (status, code)
        assert len(rig.strangers.agent_asked) == 1
        assert rig.third_asked == []
        (run,) = rig.platform.runs.of_org("org-a")
        assert run.state == "finished"
        assert rig.loop.time() == (300 if agent is None else 0)

    with_platform(body)


def test_a_turn_that_is_cut_off_ends_its_run() -> None:
    async def body(rig: Rig) -> None:
        rig.strangers.agent = lambda _: asyncio.sleep(10_000)
        task = asyncio.ensure_future(rig.chat(TEXT))
        await asyncio.sleep(1)
        assert rig.platform.runs.of_org("org-a")[0].state == "active"
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert rig.platform.runs.of_org("org-a")[0].state == "finished"

    with_platform(body)


def test_an_answer_that_can_not_be_stored_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlalchemy as sa

    from lasttick.reference.gateway.conversations import Conversations

    async def body(rig: Rig) -> None:
        def broken(*_: Any) -> None:
            raise sa.exc.OperationalError("INSERT", {}, Exception("disk full"))

        monkeypatch.setattr(Conversations, "add_answer", broken)
        assert (await rig.chat(TEXT)).code == "STORE_UNAVAILABLE"
        assert rig.platform.runs.of_org("org-a")[0].state == "finished"

    with_platform(body)


def test_a_run_whose_end_can_not_be_stored_is_over_all_the_same(tmp_path: Path) -> None:
    """Ruling 12: the turn ends while somebody holds the database's lock. Until its end is stored nobody is told
    anything of the run; from then on it is over."""

    async def body(rig: Rig) -> None:
        with closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as other:

            def agent(_: Any) -> Any:
                other.execute("BEGIN IMMEDIATE")
                return httpx.ConnectError("x")

            run_id = rig.run()
            rig.strangers.agent = agent
            assert (await rig.chat(TEXT)).code == "STORE_UNAVAILABLE"
            assert (await rig.execute(run_id)).code == "STORE_UNAVAILABLE"
            assert rig.third_asked == []
            other.execute("ROLLBACK")
        assert [run.state for run in rig.platform.runs.of_org("org-a")] == ["active", "finished"]

    with_platform(body, environ={"DATABASE_URL": f"sqlite:///{tmp_path}/gateway.sqlite"})


def test_the_agent_is_asked_with_both_headers() -> None:
    async def body(rig: Rig) -> None:
        await rig.chat(TEXT)
        (asked,) = rig.strangers.agent_asked
        assert asked.url == "http://agent.test:1/v1/chat"
        assert asked.header("x-agent-secret") == "agent-secret-AbCdEf-0123456789"
        assert asked.header("authorization") == "Bearer agent-secret-AbCdEf-0123456789"

    with_platform(body)


def test_texts_go_through_whole() -> None:
    async def body(rig: Rig) -> None:
        text = "ü 漢字 \U0001f600 \n -t x \"'\\ $(id)"
        rig.strangers.agent = lambda asked: httpx.Response(
            200, content=json.dumps({"answer": asked.json["text"] + " \ud83d"})
        )
        answer = await rig.chat({"text": text})
        assert answer.json["answer"] == text + " \ud83d"

    with_platform(body)


@pytest.mark.parametrize(
    ("environ", "status", "code"),
    [
        ({"AGENT_URL": ""}, 503, "AGENT_UNREACHABLE"),
        ({"AGENT_SERVICE_SECRET": "new\nline-secret"}, 502, "AGENT_UNREACHABLE"),
        ({"AGENT_SERVICE_SECRET": "secret-gehe\u00efm"}, 502, "AGENT_UNREACHABLE"),
        ({"AGENT_SERVICE_SECRET": " secret-with-blank"}, 502, "AGENT_UNREACHABLE"),
    ],
)
def test_an_agent_that_can_not_be_asked(environ: dict[str, str], status: int, code: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.chat(TEXT)
        assert (answer.status, answer.code) == (status, code)
        assert "secret-" not in answer.body.decode()

    with_platform(body, environ=environ)


def test_without_a_secret_none_is_sent() -> None:
    async def body(rig: Rig) -> None:
        await rig.chat(TEXT)
        assert rig.strangers.agent_asked[0].header("x-agent-secret") is None
        assert rig.strangers.agent_asked[0].header("authorization") is None

    with_platform(body, environ={"AGENT_SERVICE_SECRET": ""})
