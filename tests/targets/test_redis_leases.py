"""A world without a Redis cannot judge what needs one, and says how to get it."""

from __future__ import annotations

import asyncio

import pytest

from lasttick.engine.trace import Trace
from lasttick.targets.outcome import Inconclusive
from lasttick.targets.redis_leases import VARIABLE, RedisLeases


def test_no_redis_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "redis://user:secret@127.0.0.1:1")

    async def ask() -> None:
        await RedisLeases(Trace(), "lasttick-test").url("host")

    with pytest.raises(Inconclusive, match=r"needs a Redis server at 127\.0\.0\.1:1 .*install redis-server") as raised:
        asyncio.run(ask())
    assert "secret" not in str(raised.value)
