"""Who may chat, and which bodies are refused."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import pytest

from lasttick.reference.gateway.conversations import Conversations

from .platform_rig import ADMIN, Rig, with_platform

PATHS = ["/v1/conversations/c-1/messages", "/v1/conversations/c-1/regenerate", "/v1/consultations"]


@pytest.mark.parametrize("path", PATHS)
def test_strangers_are_refused_before_their_body_is_looked_at(path: str) -> None:
    async def body(rig: Rig) -> None:
        presented: list[dict[str, str]] = [
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Basic chat-token-of-org-a"},
            {"authorization": "Bearer "},
            {"authorization": "Bearer Chat-Token-Of-Org-A"},
            {"x-agent-secret": "agent-secret-AbCdEf-0123456789"},
            rig.runner(),
        ]
        for headers in presented:
            answer = await rig.send("POST", path, headers, b"not json")
            assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")
        assert rig.strangers.agent_asked == []

    with_platform(body)


def test_a_consultation_is_an_organisations() -> None:
    async def body(rig: Rig) -> None:
        headers = {"authorization": f"Bearer {ADMIN}"}
        assert (await rig.send("POST", "/v1/consultations", headers, {"text": "x"})).status == 401

    with_platform(body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"[]",
        {},
        {"text": None},
        {"text": 7},
        {"text": ["x"]},
        {"text": ""},
        {"text": " \n"},
        {"text": "a\x00b"},
        {"text": "a\ud800b"},
        {"text": "ü" * 65_501},
    ],
    ids=range(11),
)
def test_bad_texts(path: str, bad: Any) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.send("POST", path, {"authorization": "Bearer chat-token-of-org-a"}, bad)
        assert (answer.status, answer.code) == (400, "BAD_REQUEST")
        assert rig.strangers.agent_asked == []
        assert rig.platform.runs.of_org("org-a") == []

    with_platform(body)


@pytest.mark.parametrize("site", ["messages", "regenerate"])
@pytest.mark.parametrize("bad", [{"skill": 7}, {"skill": ["help"]}, {"channel": 7}, {"channel": ""}, {"channel": None}])
def test_bad_members(site: str, bad: dict[str, Any]) -> None:
    async def body(rig: Rig) -> None:
        assert (await rig.chat({"text": "x", **bad}, site)).status == 400

    with_platform(body)


def test_conversation_ids() -> None:
    async def body(rig: Rig) -> None:
        headers = {"authorization": "Bearer chat-token-of-org-a"}
        for name, status in [("x" * 200, 200), ("x" * 201, 400), ("\x00 ü'", 200), ("..", 200)]:
            answer = await rig.send("POST", f"/v1/conversations/{name}/messages", headers, {"text": "x"})
            assert answer.status == status
            if status == 200:
                assert answer.json["conversation_id"] == name

    with_platform(body)


def test_what_is_kept() -> None:
    """A message and its answer; another answer for a regeneration; per organisation."""

    async def body(rig: Rig) -> None:
        rig.org("org-b", chat_tokens=["chat-token-of-org-b"])
        first = (await rig.chat({"text": "one"})).json["run_id"]
        again = (await rig.chat({"text": "one"}, "regenerate")).json["run_id"]
        await rig.chat({"text": "two"}, token="chat-token-of-org-b")
        conversations = Conversations(rig.platform.catalogue._database, rig.clock)
        assert conversations.messages("org-a", "c-1") == [
            {"role": "user", "text": "one", "run_id": None},
            {"role": "assistant", "text": "good day", "run_id": first},
            {"role": "assistant", "text": "good day", "run_id": again},
        ]
        assert len(conversations.messages("org-b", "c-1")) == 2
        assert first != again

    with_platform(body)


LATER = {"authorization": "Bearer chat-token-of-org-a", "prefer": "wait=5, Respond-Async"}
MESSAGES = "/v1/conversations/c-1/messages"


def test_who_prefers_to_hear_later_is_told_the_run_at_once_and_finds_the_answer() -> None:
    async def body(rig: Rig) -> None:
        answering = asyncio.get_running_loop().create_future()
        rig.strangers.agent = lambda asked: answering
        answer = await rig.send("POST", MESSAGES, LATER, {"text": "Where is it?", "skill": "help"})
        assert (answer.status, dict(answer.headers)["preference-applied"]) == (202, "respond-async")
        run_id = answer.json["run_id"]
        assert answer.json == {"run_id": run_id, "conversation_id": "c-1"}
        (run,) = rig.platform.runs.of_org("org-a")
        assert (run.id, run.state) == (run_id, "active")
        asked = {"role": "user", "text": "Where is it?", "run_id": None}
        assert (await rig.send("GET", MESSAGES, LATER, b"")).json == {"messages": [asked]}

        answering.set_result(httpx.Response(200, json={"answer": "in a box"}))
        await asyncio.sleep(1)
        said = {"role": "assistant", "text": "in a box", "run_id": run_id}
        assert (await rig.send("GET", MESSAGES, LATER, b"")).json == {"messages": [asked, said]}
        assert rig.platform.runs.of_org("org-a")[0].state == "finished"

    with_platform(body)


@pytest.mark.parametrize("prefer", ["", "respond-asynchronously", "wait=5"])
def test_who_prefers_something_else_waits(prefer: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.send("POST", MESSAGES, {**LATER, "prefer": prefer}, {"text": "x"})
        assert (answer.status, answer.json["answer"]) == (200, "good day")

    with_platform(body)


def test_an_agent_that_fails_when_nobody_waits_ends_the_run(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        rig.strangers.agent = lambda asked: httpx.Response(500)
        with caplog.at_level(logging.WARNING):
            await rig.send("POST", MESSAGES, LATER, {"text": "x"})
            await asyncio.sleep(1)
        assert "a turn ended without an answer: the agent answered HTTP 500" in caplog.text
        assert rig.platform.runs.of_org("org-a")[0].state == "finished"

    with_platform(body)


def test_the_conversation_of_another_organisation_is_empty() -> None:
    async def body(rig: Rig) -> None:
        rig.org("org-b", chat_tokens=["chat-token-of-org-b"])
        await rig.chat({"text": "one"})
        assert (await rig.send("GET", MESSAGES, {}, b"")).status == 401
        other = {"authorization": "Bearer chat-token-of-org-b"}
        assert (await rig.send("GET", MESSAGES, other, b"")).json == {"messages": []}

    with_platform(body)
