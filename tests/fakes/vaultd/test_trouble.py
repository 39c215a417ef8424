"""Does each trouble do to the caller, and to the vault, what its table says?"""

from __future__ import annotations

import asyncio
import base64
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lasttick_fakes.http_json import Refused
from lasttick_fakes.thirdparty import SHAPES
from lasttick_fakes.thirdparty.trouble import garbage
from lasttick_fakes.vaultd import Trouble
from lasttick_fakes.vaultd.scripted import Troubles
from lasttick_fakes.vaultd.trouble import echo, parse

EXECUTE = "/v0/connectors/execute"
LABELS = "google.gmail.labels.list"


async def act(bench: Any, **more: Any) -> httpx.Response:
    return await bench.call("POST", EXECUTE, await bench.request(LABELS, user_id="me"), **more)


def test_slow_is_late_and_done_all_the_same_when_the_caller_has_left(run) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("slow", s=30, path=EXECUTE, count=2))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await act(bench)
        assert bench.vault.effects() == []
        await bench.until(30)
        assert [one["t_ns"] for one in bench.vault.effects()] == [30_000_000_000]
        assert (await act(bench)).status_code == 200
        assert bench.loop.time() == 60

    run(story)


def test_hang_says_nothing_until_the_caller_leaves_and_does_nothing(run) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("hang", path=EXECUTE, count=1))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await act(bench)
        await bench.until(3601)
        assert bench.vault.effects() == []
        assert bench.vault.log()[-1].status == 0
        assert (await act(bench)).status_code == 200

    run(story)


def test_half_an_answer_hides_what_was_done(run) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("half", path=EXECUTE, count=1))
        with pytest.raises(httpx.TransportError):
            await act(bench)
        assert len(bench.vault.effects()) == 1
        assert bench.vault.log()[-1].status == 0

    run(story)


def test_down_breaks_the_connection_and_does_nothing(run) -> None:
    async def story(bench):
        await bench.ok("POST", "/trouble", {"kind": "down", "path": EXECUTE})
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                await act(bench)
        await bench.ok("POST", "/trouble", {"kind": "heal"})
        assert (await act(bench)).status_code == 200
        assert len(bench.vault.effects()) == 1

    run(story)


@pytest.mark.parametrize(("key", "effects"), [(None, 2), ("k", 1)])
def test_a_duplicate_is_two_deliveries_and_the_key_decides(run, key: str | None, effects: int) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("duplicate", path=EXECUTE))
        assert (await act(bench, key=key)).status_code == 200
        seen = [one for one in bench.vault.log() if one.path == EXECUTE]
        assert [(one.body, one.status) for one in seen] == [(seen[0].body, 200)] * 2
        assert len(bench.vault.effects()) == effects

    run(story)


@pytest.mark.parametrize("shape", SHAPES)
def test_garbage_is_200_and_no_answer_of_the_vault(run, shape: str) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("garbage", shape=shape, path=EXECUTE))
        answer = await act(bench)
        assert (answer.status_code, answer.content) == (200, garbage(shape))
        assert bench.vault.effects() == []

    run(story)


@pytest.mark.parametrize("status", [500, 503, 599])
def test_5xx_is_a_page_and_does_nothing(run, status: int) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("5xx", status=status, path=EXECUTE))
        answer = await act(bench)
        assert (answer.status_code, "html" in answer.headers["content-type"]) == (status, True)
        assert bench.vault.effects() == []

    run(story)


def test_answers_are_what_they_are_told_to_be(run) -> None:
    async def story(bench):
        path = "/v0/connectors/validate"
        for body in (None, False, 7, "text", [], {"valid": "true"}, {"valid": False, "errors": [1]}):
            await bench.ok("POST", "/control/answers", {"path": path, "method": "post", "body": body})
            assert (await bench.call("POST", path, {})).json() == body
        await bench.ok("POST", "/control/answers", {"path": "/v0/jobs/*", "status": 418, "raw": "{oops", "times": 2})
        for job in ("job_1", "job_2"):
            answer = await bench.call("GET", f"/v0/jobs/{job}", token="nobody")
            assert (answer.status_code, answer.text) == (418, "{oops")
        assert (await bench.call("GET", "/v0/jobs/job_1")).status_code == 404
        assert (await bench.call("POST", path, {})).json()["valid"] is False

    run(story)


@pytest.mark.parametrize("status", [None, 200, 401])
def test_an_echo_shows_the_callers_own_token_everywhere(run, status: int | None) -> None:
    async def story(bench):
        bench.vault.trouble(Trouble("echo", status=status))
        answer = await bench.call("GET", "/v0/connectors", token="se/cret+token==")
        assert answer.status_code == (status or 500)
        text = answer.text
        for writing in ("se/cret+token==", quote("se/cret+token==", safe=""), "se/cret+", "token=="):
            assert writing in text
        assert base64.b64encode(b"se/cret+token==").decode() in text
        assert "se/cret" not in repr(bench.events)

    run(story)


def test_an_echo_without_a_token_is_an_answer_too() -> None:
    assert echo("")["error"]["details"]["pieces"] == []


def test_troubles_count_their_own_calls_and_the_oldest_wins() -> None:
    troubles = Troubles[Trouble]()
    troubles.add(Trouble("down", skip=1, count=2, path="/v0/jobs/*", method="get"))
    troubles.add(Trouble("5xx", count=3))
    calls = [("GET", "/v0/jobs/a"), ("POST", "/v0/jobs/a"), ("GET", "/v0/jobs/b"), ("GET", "/v0/jobs/c"), ("GET", "/x")]
    met = [troubles.meet(*call) for call in calls]
    assert [None if one is None else one.kind for one in met] == ["5xx", "5xx", "down", "down", "5xx"]
    assert troubles.meet("GET", "/x") is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "nap"},
        {"kind": ["slow"]},
        {"kind": "slow", "s": -1},
        {"kind": "slow", "s": "5"},
        {"kind": "slow", "s": float("nan")},
        {"kind": "5xx", "status": 404},
        {"kind": "answer", "status": 99},
        {"kind": "answer", "status": "200"},
        {"kind": "answer", "raw": 7},
        {"kind": "garbage", "shape": "other"},
        {"kind": "down", "path": 7},
        {"kind": "down", "method": 7},
        {"kind": "down", "count": 0},
        {"kind": "down", "count": True},
        {"kind": "down", "skip": -1},
        {"kind": "down", "often": 3},
    ],
)
def test_trouble_that_cannot_be_read_changes_nothing(run, body: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"(expected|known are)"):
        parse(body)

    async def story(bench):
        if body.get("s") == body.get("s"):  # NaN is no JSON: it cannot be sent
            assert (await bench.call("POST", "/trouble", body)).status_code == 400
        assert (await act(bench)).status_code == 200

    run(story)
