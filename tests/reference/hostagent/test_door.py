"""HA-02, row by row."""

from __future__ import annotations

import asyncio
import hmac
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.reference.hostagent.door import Door

from .server_rig import send

TOKEN = "Right-Token_0"


async def inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def verify(token: str) -> bool:
    return hmac.compare_digest(token, TOKEN)  # raises TypeError for text outside ASCII


def status(values: list[bytes], method: str = "POST", path: str = "/mcp", name: bytes = b"authorization") -> int:
    headers = [(b"host", b"127.0.0.1:1"), *((name, value) for value in values)]
    return asyncio.run(send(Door(inner, verify), method, path, headers)).status


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([b"Bearer Right-Token_0"], 204),
        ([b"bearer Right-Token_0"], 204),
        ([b"BEARER  Right-Token_0"], 204),
        ([b"Bearer Right-Token_0 "], 204),
        ([b"Bearer right-token_0"], 401),
        ([b"Bearer Right-Token_"], 401),
        ([b"Bearer Right-Token_00"], 401),
        ([b"Right-Token_0"], 401),
        ([b"Basic Right-Token_0"], 401),
        ([b"Bearer"], 401),
        ([b"Bearer "], 401),
        ([b""], 401),
        ([], 401),
        ([b"Bearer Right-Token_0", b"Bearer Right-Token_0"], 401),
        ([b"Bearer Right-Token_0", b"Bearer wrong"], 401),
        ([b"Bearer wrong", b"Bearer Right-Token_0"], 401),
        ([b"Bearer Right-Token_0, Bearer Right-Token_0"], 401),
        ([b"Bearer Right-Token_0\xff"], 401),
        ([b"\xff\xfe\x00"], 401),
        (["Bearer Right-Token_０".encode()], 401),
        ([b"Bearer " + b"x" * 100_000], 401),
    ],
)
def test_header_shapes(values: list[bytes], expected: int) -> None:
    assert status(values) == expected


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
def test_every_method_needs_the_token(method: str) -> None:
    assert status([], method) == 401
    assert status([b"Bearer Right-Token_0"], method) == 204


def test_nowhere_but_in_the_header() -> None:
    assert status([], path="/mcp?token=Right-Token_0&access_token=Right-Token_0") == 401
    assert status([b"Bearer Right-Token_0"], name=b"proxy-authorization") == 401
    assert status([b"authorization=Bearer Right-Token_0; token=Right-Token_0"], name=b"cookie") == 401


def test_the_refusal() -> None:
    answer = asyncio.run(send(Door(inner, verify), "POST"))
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {"error": "invalid token"}
    head = asyncio.run(send(Door(inner, verify), "HEAD"))
    assert (head.status, head.body, head.headers["content-length"]) == (401, b"", "25")


def test_failures_are_silent_and_the_first_success_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)

    async def body() -> None:
        door = Door(inner, verify)
        for _ in range(3):
            await send(door, "POST", headers={"authorization": "Bearer wrong"})
        assert [record for record in caplog.records if record.name != "asyncio"] == []
        for _ in range(3):
            await send(door, "POST", headers={"authorization": f"Bearer {TOKEN}"})

    asyncio.run(body())
    mine = [record for record in caplog.records if record.name != "asyncio"]
    assert [record.levelno for record in mine] == [logging.INFO]
    assert TOKEN not in caplog.text


@given(values=st.lists(st.binary(max_size=40), max_size=3))
def test_no_bytes_crash_it(values: list[bytes]) -> None:
    assert status(values) == (204 if len(values) == 1 and values[0].lower().split() == [b"bearer", b"x"] else 401)


def test_websockets_are_refused_and_lifespan_passes() -> None:
    async def body() -> None:
        sent: list[Any] = []
        reached: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            reached.append(scope["type"])

        async def collect(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {TOKEN}".encode())]
        await Door(app, verify)({"type": "websocket", "headers": headers}, None, collect)
        assert [message["type"] for message in sent] == ["websocket.close"]
        await Door(app, verify)({"type": "lifespan"}, None, collect)
        assert reached == ["lifespan"]

    asyncio.run(body())
