"""Are the floors leases at all? A floor that forgets to refuse would mean nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lasttick.bench.floors import NO, TTL_NS, YES, BareDict, BareLine, BareRow
from lasttick.model.lease import Holder

ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")


class HandClock:
    t_ns = 0

    def now_ns(self) -> int:
        return self.t_ns

    def wall(self) -> Any:
        raise AssertionError

    async def sleep(self, seconds: float) -> None:
        raise AssertionError


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["dict", "row"])
def floor(request: pytest.FixtureRequest, clock: HandClock, tmp_path: Path) -> Iterator[BareDict | BareRow]:
    if request.param == "dict":
        yield BareDict(clock)
        return
    with BareRow.opened(tmp_path / "bare.db", clock) as row:
        yield row


def test_a_floor_excludes_and_expires(floor: BareDict | BareRow, clock: HandClock) -> None:
    async def body() -> None:
        assert await floor.acquire("phone-1", ALICE) is YES
        assert await floor.acquire("phone-1", BOB) is NO
        clock.t_ns = TTL_NS - 1
        assert await floor.acquire("phone-1", BOB) is NO
        assert await floor.acquire("phone-1", ALICE) is YES
        assert await floor.release("phone-1", BOB) is False
        assert await floor.release("phone-1", ALICE) is True
        assert await floor.release("phone-1", ALICE) is False
        assert await floor.acquire("phone-1", BOB) is YES
        clock.t_ns += TTL_NS
        assert await floor.acquire("phone-1", ALICE) is YES

    asyncio.run(body())


def test_the_dict_renews_only_what_is_held(clock: HandClock) -> None:
    bare = BareDict(clock)
    assert bare.renew("phone-1", "alice") is False
    assert bare.take("phone-1", "alice") is True
    assert bare.renew("phone-1", "bob") is False
    assert bare.renew("phone-1", "alice") is True
    clock.t_ns = TTL_NS
    assert bare.renew("phone-1", "alice") is False


def test_the_row_is_as_durable_as_the_stores(tmp_path: Path, clock: HandClock) -> None:
    with BareRow.opened(tmp_path / "bare.db", clock) as row:
        assert row._sql("PRAGMA journal_mode").fetchone() == ("wal",)
        assert row._sql("PRAGMA synchronous").fetchone() == (1,)


def test_the_line_is_first_in_first_out() -> None:
    async def body() -> list[str]:
        line, order = BareLine(), []

        async def wait(name: str) -> None:
            assert await line.wait_until_usable("phone-1", name, timeout=1)
            order.append(name)
            await asyncio.sleep(0)
            line.release_device("phone-1", name)

        await asyncio.gather(*(wait(name) for name in "abc"))
        assert line._lines == {}
        return order

    assert asyncio.run(body()) == ["a", "b", "c"]
