"""Waits that a stop ends: with an answer for who still waits, and a cancellation for who was cancelled anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.in_flight import STOP_S, InFlight


async def work(seconds: float = 0.0) -> str:
    await asyncio.sleep(seconds)
    return "done"


async def tidy() -> None:
    try:
        await asyncio.sleep(100)
    finally:
        await asyncio.sleep(STOP_S / 2)


async def stubborn() -> str:
    while True:
        try:
            await asyncio.sleep(10)
            return "late"
        except asyncio.CancelledError:
            continue


def virtually(body: Callable[[InFlight], Coroutine[Any, Any, None]]) -> None:
    async def main(loop: VirtualLoop) -> None:
        await body(InFlight())

    run_virtual(main)


def test_results_and_errors_come_through() -> None:
    async def body(in_flight: InFlight) -> None:
        assert await in_flight.wait(work(1)) == "done"

        async def fails() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await in_flight.wait(fails())
        await in_flight.stop()

    virtually(body)


def test_a_stop_refuses_what_waits_and_what_comes() -> None:
    async def body(in_flight: InFlight) -> None:
        assert await in_flight.wait(work()) == "done"
        waits = [asyncio.ensure_future(in_flight.wait(tidy())) for _ in range(3)]
        await asyncio.sleep(1)
        await in_flight.stop()
        # Who waited has gone on as far as it could before the stop returns.
        assert all(wait.done() for wait in waits)
        for wait in waits:
            with pytest.raises(Refused, match="the platform is stopping"):
                await wait
        late = work()
        with pytest.raises(Refused):
            await in_flight.wait(late)
        assert late.cr_frame is None  # closed: nobody will ever await it

    virtually(body)


def test_who_was_cancelled_is_cancelled() -> None:
    async def body(in_flight: InFlight) -> None:
        for stopped in (False, True):
            wait = asyncio.ensure_future(in_flight.wait(work(100)))
            await asyncio.sleep(1)
            if stopped:
                wait.cancel()
                await in_flight.stop()
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait

    virtually(body)


def test_a_stop_waits_for_nobody_longer_than_it_may() -> None:
    async def body(in_flight: InFlight) -> None:
        wait = asyncio.ensure_future(in_flight.wait(stubborn()))
        await asyncio.sleep(1)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        await in_flight.stop()
        assert loop.time() - began_s == STOP_S
        assert await wait == "late"

    virtually(body)


def test_a_stop_lets_what_goes_on_alone_write_down_its_end(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    async def turn(in_flight: InFlight, name: str) -> None:
        try:
            await in_flight.wait(tidy())
        finally:
            ended.append(name)

    async def body(in_flight: InFlight) -> None:
        in_flight.go_on(turn(in_flight, "long begun"))
        await asyncio.sleep(1)
        in_flight.go_on(turn(in_flight, "just begun"))
        await in_flight.stop()
        assert sorted(ended) == ["just begun", "long begun"]

    virtually(body)
    assert caplog.text.count("the platform is stopping") == 2


def test_what_goes_wrong_alone_is_logged_without_what_it_says(caplog: pytest.LogCaptureFixture) -> None:
    async def wrong() -> None:
        raise ValueError("what somebody said")

    async def body(in_flight: InFlight) -> None:
        in_flight.go_on(wrong())
        await asyncio.sleep(1)

    virtually(body)
    assert "ValueError" in caplog.text
    assert "somebody" not in caplog.text
