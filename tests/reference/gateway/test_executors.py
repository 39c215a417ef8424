"""What a third party can do to us, and what comes of it: bounded, with a code, without a word of its own."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.gateway import executors as module
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.http_json import BODY_MAX, Refused

from .platform_rig import Asked, Strangers

ENTRY = {"kind": "http"}
CANARY = "credential-canary-1234"


def run(
    third: Callable[[Asked], Any],
    *,
    url: str | None = "http://third.test:2/",
    entry: dict[str, Any] = ENTRY,
    slug: str = "shop",
    action: str = "get",
    input: dict[str, Any] | None = None,
) -> tuple[dict[str, Any] | str, float, list[Asked]]:
    """The result, or `STATUS CODE`; how long it took; what the third party saw."""

    async def main(loop: VirtualLoop) -> Any:
        strangers = Strangers()
        strangers.third = third
        executors = Executors(url, transport=strangers, timeout_s=20.0)
        try:
            result: Any = await executors.run(
                entry, slug, action, input or {}, credentials={"api_key": CANARY}, run_id="run-1"
            )
        except Refused as refused:
            told = refused.refusal
            result = f"{told.status} {told.code}" if CANARY not in told.message else "a leak"
        finally:
            await executors.aclose()
        return result, loop.time(), strangers.third_asked

    return run_virtual(main)


def test_the_request() -> None:
    result, _, (asked,) = run(lambda _: httpx.Response(200, json={"a": 1}), input={"id": "ü"})
    assert result == {"a": 1}
    assert asked.url == "http://third.test:2/shop/get"
    assert asked.json == {"id": "ü"}
    assert asked.header("x-api-key") == CANARY
    assert asked.header("x-correlation-id") == "run-1"
    assert asked.header("content-type") == "application/json"
    assert asked.header("host") == "third.test:2"
    assert asked.header("content-length") == str(len(asked.body))
    assert asked.header("accept-encoding") == "identity"
    assert not {"authorization", "cookie", "x-agent-secret"} & {name.lower() for name, _ in asked.headers}


def test_names_stay_in_their_segment() -> None:
    asked = run(lambda _: httpx.Response(200, json={}), slug="a/b?c#d", action="x/../y%2f", entry=ENTRY)[2][0]
    assert asked.url == "http://third.test:2/a%2Fb%3Fc%23d/x%2F..%2Fy%252f"
    asked = run(lambda _: httpx.Response(200, json={}), entry={"kind": "http", "path": "/v1/orders"})[2][0]
    assert asked.url == "http://third.test:2/v1/orders/get"


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b"{}", {}),
        (b"", None),
        (b"OK", None),
        (b"<html>", None),
        (b"[1]", None),
        (b"null", None),
        (b"7", None),
        (b'{"a": ', None),
        (b'{"a": NaN}', None),
        (b'{"a": 1e999}', None),
        (b'{"a": 1e308}', {"a": 1e308}),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b'{"a": "' + b"x" * (BODY_MAX - 9) + b'"}', {"a": "x" * (BODY_MAX - 9)}),
        (b'{"a": "' + b"x" * (BODY_MAX - 8) + b'"}', None),
    ],
    ids=range(16),
)
def test_bodies(body: bytes, result: Any) -> None:
    found = run(lambda _: httpx.Response(200, content=body))[0]
    assert found == ("502 UPSTREAM_GARBAGE" if result is None else result)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (201, "GARBAGE"),
        (204, "GARBAGE"),
        (302, "GARBAGE"),
        (307, "GARBAGE"),
        (400, "REJECTED"),
        (404, "REJECTED"),
        (499, "REJECTED"),
        (500, "ERROR"),
        (503, "ERROR"),
        (599, "ERROR"),
    ],
)
def test_statuses(status: int, code: str) -> None:
    headers = {"location": "http://elsewhere.test/"}
    result, _, asked = run(lambda _: httpx.Response(status, headers=headers, json={"echo": CANARY}))
    assert result == f"502 UPSTREAM_{code}"
    assert len(asked) == 1


@pytest.mark.parametrize(
    "error",
    [httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError, httpx.WriteError, httpx.UnsupportedProtocol],
)
def test_down(error: type[httpx.HTTPError]) -> None:
    assert run(lambda _: error(f"says {CANARY}"))[0] == "502 UPSTREAM_UNREACHABLE"  # type: ignore[call-arg]
    assert run(lambda _: httpx.ConnectTimeout("late"))[0] == "504 UPSTREAM_TIMEOUT"


def test_urls_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "URLS_MAX", 3)

    async def main(loop: VirtualLoop) -> None:
        executors = Executors("http://third.test:2", transport=Strangers(), timeout_s=20.0)
        for n in range(10):
            await executors.run(ENTRY, "shop", f"get_{n}", {}, run_id="run-1")
            assert len(executors._urls) <= 3

    run_virtual(main)


def test_no_third_party() -> None:
    result, _, asked = run(lambda _: httpx.Response(200, json={}), url=None)
    assert (result, asked) == ("502 UPSTREAM_UNREACHABLE", [])


@pytest.mark.parametrize(("late_s", "result"), [(19.999, {"a": 1}), (20.001, "504 UPSTREAM_TIMEOUT")])
def test_slow(late_s: float, result: Any) -> None:
    async def slow() -> httpx.Response:
        await asyncio.sleep(late_s)
        return httpx.Response(200, json={"a": 1})

    found, took_s, _ = run(lambda _: slow())
    assert found == result
    assert took_s == min(late_s, 20.0)


def test_a_body_that_drips_is_bounded_too() -> None:
    async def drip() -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(1)
            yield b" "

    assert run(lambda _: httpx.Response(200, content=drip()))[:2] == ("504 UPSTREAM_TIMEOUT", 20.0)


def test_a_body_that_never_ends_is_bounded_too() -> None:
    sent = 0

    async def flood() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b" " * 65_536

    assert run(lambda _: httpx.Response(200, content=flood()))[0] == "502 UPSTREAM_GARBAGE"
    assert sent <= BODY_MAX + 65_536


def test_a_packed_body_is_not_unpacked() -> None:
    async def packed() -> AsyncIterator[bytes]:
        yield gzip.compress(json.dumps({"a": "x" * 10_000_000}).encode())

    headers = {"content-encoding": "gzip"}
    small = httpx.Response(200, headers=headers, content=gzip.compress(b'{"a": 1}'))
    assert run(lambda _: small)[0] == "502 UPSTREAM_GARBAGE"
    assert run(lambda _: httpx.Response(200, headers=headers, content=packed()))[0] == "502 UPSTREAM_GARBAGE"


def test_a_body_that_breaks() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b'{"a":'
        raise httpx.ReadError("gone")

    assert run(lambda _: httpx.Response(200, content=broken()))[0] == "502 UPSTREAM_UNREACHABLE"
