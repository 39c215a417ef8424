"""A tap in front of a part: it changes no byte, tells what it saw, and plays trouble to callers of tools only."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from lasttick.targets.gateway.tap import CALL_PATH, CHAT_PATH, TEXT_MAX, TROUBLE_PATH, Tap, trouble_json
from lasttick_fakes.thirdparty import SHAPES, BadTrouble


class Behind:
    """An application that answers 403 with the body it got."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        self.got.append((scope["path"], body))
        await send({"type": "http.response.start", "status": 403, "headers": [(b"x-mine", b"1")]})
        await send({"type": "http.response.body", "body": b'{"code": "POLICY_', "more_body": True})
        await send({"type": "http.response.body", "body": b'DENIED"}'})


class Scene:
    def __init__(self) -> None:
        self.behind = Behind()
        self.seen: list[tuple[str, str | None, dict[str, Any]]] = []
        self.tap = Tap(self.behind, lambda *told: self.seen.append(told))

    def ask(self, path: str, body: bytes | dict[str, Any], method: str = "POST") -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.tap), base_url="http://part") as http:
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                return await http.request(method, path, content=content)

        return asyncio.run(send())


CALL = {"orgId": "org-a", "runId": "r-1", "toolName": "crm", "action": "find", "input": {"secret": "s"}}


def test_a_tool_call_passes_unchanged_and_is_told_without_its_input() -> None:
    scene = Scene()
    answer = scene.ask(CALL_PATH, CALL)
    assert (answer.status_code, answer.content) == (403, b'{"code": "POLICY_DENIED"}')
    assert answer.headers["x-mine"] == "1"
    assert scene.behind.got == [(CALL_PATH, json.dumps(CALL).encode())]
    assert scene.seen == [
        ("gateway.call", "r-1", {"call": 1, "orgId": "org-a", "toolName": "crm", "action": "find"}),
        ("gateway.answer", "r-1", {"call": 1, "status": 403, "code": "POLICY_DENIED"}),
    ]


@pytest.mark.parametrize("body", [b"", b"\xff", b"[1]", b"[" * 100_000, b'{"runId": 7}', b"null"])
def test_whatever_comes_is_passed_on_and_told_without_a_run(body: bytes) -> None:
    scene = Scene()
    assert scene.ask(CALL_PATH, body).status_code == 403
    assert scene.behind.got == [(CALL_PATH, body)]
    assert [told[:2] for told in scene.seen] == [("gateway.call", None), ("gateway.answer", None)]


def test_what_a_stranger_says_of_himself_is_cut() -> None:
    scene = Scene()
    scene.ask(CALL_PATH, {"runId": "x" * 5000, "toolName": "y" * 5000})
    (_, run_id, data) = scene.seen[0]
    assert run_id == "x" * TEXT_MAX
    assert data["toolName"] == "y" * TEXT_MAX


def test_a_body_in_pieces_is_told_once_and_whole() -> None:
    scene = Scene()
    pieces = [b'{"runId"', b': "r-2"}', b""]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        pass

    asyncio.run(scene.tap({"type": "http", "path": CALL_PATH, "method": "POST"}, receive, send))
    assert [told[:2] for told in scene.seen] == [("gateway.call", "r-2"), ("gateway.answer", "r-2")]


def test_the_wire_of_a_turn_is_told_as_it_came() -> None:
    scene = Scene()
    wire = b'{"run_id": "r-3",  "text":"hi"}'
    scene.ask(CHAT_PATH, wire)
    assert scene.seen == [("agent.wire", "r-3", {"body": wire.decode()})]
    assert scene.behind.got == [(CHAT_PATH, wire)]


def test_other_paths_are_nobodys_business() -> None:
    scene = Scene()
    assert scene.ask("/v1/admin/registry", b"{}", "PUT").status_code == 403
    assert scene.seen == []


def test_trouble_meets_tool_calls_only_until_it_is_healed() -> None:
    scene = Scene()
    assert scene.ask(TROUBLE_PATH, trouble_json("5xx", status=500)).status_code == 200
    assert scene.ask(CALL_PATH, CALL).status_code == 500
    assert scene.ask(CHAT_PATH, b"{}").status_code == 403
    assert scene.ask(TROUBLE_PATH, trouble_json("heal")).status_code == 200
    assert scene.ask(CALL_PATH, CALL).status_code == 403
    assert [path for path, _ in scene.behind.got] == [CHAT_PATH, CALL_PATH], "the platform saw nothing of the first"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_garbage(shape: str) -> None:
    scene = Scene()
    scene.ask(TROUBLE_PATH, trouble_json("garbage", shape=shape))
    answer = scene.ask(CALL_PATH, CALL)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert scene.behind.got == []


def test_a_redirect_names_its_target() -> None:
    scene = Scene()
    scene.ask(TROUBLE_PATH, trouble_json("redirect", to="http://elsewhere/x"))
    answer = scene.ask(CALL_PATH, CALL)
    assert (answer.status_code, answer.headers["location"]) == (307, "http://elsewhere/x")
    scene.ask(TROUBLE_PATH, trouble_json("heal"))
    assert scene.ask(CALL_PATH, CALL).status_code == 403


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", {"kind": "odd"}, {}, {"kind": "slow", "s": -1}, {"kind": "redirect"}, {"kind": "redirect", "to": 7}],
)
def test_trouble_that_can_not_be_read_changes_nothing(body: Any) -> None:
    scene = Scene()
    answer = scene.ask(TROUBLE_PATH, body)
    assert answer.status_code == 400
    assert "; expected " in answer.json()["error"] or "; known are " in answer.json()["error"]
    assert scene.ask(CALL_PATH, CALL).status_code == 403


def test_trouble_is_checked_before_it_is_sent() -> None:
    with pytest.raises(BadTrouble, match="unknown trouble"):
        trouble_json("odd")
    assert trouble_json("redirect", to="http://x") == {"kind": "redirect", "to": "http://x"}
