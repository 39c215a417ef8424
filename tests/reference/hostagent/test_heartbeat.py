"""Heartbeats: on time, with what MCP sessions hold, and not to be stopped by any cloud (HA-08)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lease import Holder, LeaseView
from lasttick.reference.hostagent.cloud_client import CloudError, HostUnknown
from lasttick.reference.hostagent.heartbeat import HeartbeatLoop, mcp_busy_device_ids, next_beat_ns, payload
from lasttick.reference.hostagent.status_board import Look

S = 1_000_000_000


def lease(device_id: str, kind: Any = "mcp") -> LeaseView:
    return LeaseView(device_id, Holder(kind, "secret-session-id"), 0, 0, 0, False)


ROW = {"device_id": "phone-1", "platform": "android", "scale": 1, "status": "idle", "owner": None}


class StubCloud:
    """Remembers what it was told; `trouble` decides, by the number of the heartbeat, what goes wrong."""

    def __init__(self, trouble: Callable[[int], BaseException | float | None] = lambda n: None) -> None:
        self.told: list[tuple[float, str, Any]] = []
        self.trouble = trouble
        self.later: dict[int, int] = {}
        """By the number of the call: the later heartbeat that the cloud says it has."""
        self.beats = 0

    async def register(self, host_id: str, devices: Sequence[Mapping[str, Any]]) -> None:
        self.told.append((asyncio.get_running_loop().time(), "register", list(devices)))

    async def heartbeat(self, host_id: str, body: Mapping[str, Any]) -> int | None:
        self.beats += 1
        self.told.append((asyncio.get_running_loop().time(), "beat", dict(body)))
        wrong = self.trouble(self.beats)
        if isinstance(wrong, float):
            await asyncio.sleep(wrong)
        elif wrong is not None:
            raise wrong
        return self.later.pop(self.beats, None)


def beat(cloud: StubCloud, until_s: float, look: Callable[[], Look] = lambda: Look([ROW], [], 0)) -> HeartbeatLoop:
    async def seen() -> Look:
        return look()

    async def main(loop: VirtualLoop) -> HeartbeatLoop:
        beats = HeartbeatLoop(
            cloud=cloud,  # type: ignore[arg-type]
            host_id="host-1",
            clock=VirtualClock(loop),
            period_s=30.0,
            look=seen,
        )
        task = asyncio.create_task(beats.run())
        await loop.until(until_s)
        task.cancel()
        return beats

    return run_virtual(main)


def test_registers_then_beats_at_once_and_every_period() -> None:
    cloud = StubCloud()
    beats = beat(cloud, 95)
    row = {"device_id": "phone-1", "platform": "android", "status": "idle"}
    assert cloud.told[0] == (0.0, "register", [row])
    assert [(t, body["seq"]) for t, _, body in cloud.told[1:]] == [(0.0, 1), (30.0, 2), (60.0, 3), (90.0, 4)]
    assert cloud.told[1][2] == {"seq": 1, "devices": [row], "mcp_busy_device_ids": []}
    assert beats.registered.is_set()


def test_the_payload_names_devices_of_mcp_sessions_only_sorted_and_no_session() -> None:
    leases = [lease("b"), lease("c", "cloud"), lease("a")]
    assert mcp_busy_device_ids(leases) == ["a", "b"]
    body = payload(7, Look([ROW], leases, 0))
    assert body["mcp_busy_device_ids"] == ["a", "b"]
    assert "secret" not in repr(body)


@pytest.mark.parametrize("wrong", [CloudError("down"), RuntimeError("bug"), 45.0, 30.0, HostUnknown("again")])
def test_no_trouble_stops_it_and_the_next_beat_is_on_time(wrong: BaseException | float) -> None:
    cloud = StubCloud(lambda n: wrong if n == 2 else None)
    beat(cloud, 95)
    times = [t for t, what, _ in cloud.told if what == "beat"]
    assert times[-2:] == [60.0, 90.0]
    seqs = [body["seq"] for _, what, body in cloud.told if what == "beat"]
    assert seqs == sorted(set(seqs))


def test_a_cloud_that_forgot_us_hears_of_us_and_of_our_leases_at_once() -> None:
    cloud = StubCloud(lambda n: HostUnknown("404") if n == 2 else None)
    beat(cloud, 35)
    assert [(t, what) for t, what, _ in cloud.told] == [
        (0.0, "register"),
        (0.0, "beat"),
        (30.0, "beat"),
        (30.0, "register"),
        (30.0, "beat"),
    ]


def test_an_outage_is_one_warning_and_its_end_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    beat(StubCloud(lambda n: CloudError("down") if 2 <= n <= 50 else None), 1700)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "heartbeat failed: down"),
        ("INFO", "heartbeat works again"),
    ]


def test_a_failing_look_does_not_stop_it() -> None:
    looks = 0

    def look() -> Look:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise OSError("the lease store is away")
        return Look([ROW], [], 0)

    cloud = StubCloud()
    beat(cloud, 65, look)
    assert [t for t, what, _ in cloud.told if what == "beat"] == [0.0, 60.0]


@pytest.mark.parametrize(
    ("last_s", "now_s", "next_s"), [(0, 0, 30), (0, 29, 30), (0, 30, 60), (0, 31, 60), (30, 200, 210), (30, 29, 60)]
)
def test_missed_beats_are_not_made_up_for(last_s: int, now_s: int, next_s: int) -> None:
    assert next_beat_ns(last_s * S, 30 * S, now_s * S) == next_s * S


@pytest.mark.parametrize("later", [1, 2, 57])
def test_a_cloud_that_has_a_later_number_gets_a_later_one_at_once(later: int) -> None:
    cloud = StubCloud()
    cloud.later = {1: later}
    beat(cloud, 30.0)
    told = [(at, body["seq"]) for at, kind, body in cloud.told if kind == "beat"]
    assert told == [(0.0, 1), (0.0, later + 1), (30.0, later + 2)]


def test_a_cloud_that_is_never_content_gets_two_heartbeats_a_period() -> None:
    cloud = StubCloud()
    cloud.later = {number: 100 * number for number in range(1, 9)}
    beat(cloud, 60.0)
    assert [at for at, kind, _ in cloud.told if kind == "beat"] == [0.0, 0.0, 30.0, 30.0, 60.0, 60.0]


def test_a_cloud_that_has_an_older_number_is_left_alone() -> None:
    cloud = StubCloud()
    cloud.later = {3: 2}
    beat(cloud, 90.0)
    assert [body["seq"] for _, kind, body in cloud.told if kind == "beat"] == [1, 2, 3, 4]
