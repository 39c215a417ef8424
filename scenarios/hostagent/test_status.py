"""What a person or an agent sees as the state of a device: one table, three places that show it."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from freezegun import freeze_time
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model import status
from lasttick.model.lease import Holder

from .steps import heard, moving, workflow

HOLDERS = {None: None, "mcp": Holder("mcp", "a" * 32), "cloud": Holder("cloud", "assignment-1")}
TABLE = {
    (health, owner, quarantined): (
        ("offline", None)
        if health == "offline"
        else ("error", None)
        if health == "error" or quarantined
        else ("busy", owner)
        if owner
        else ("idle", None)
    )
    for health, owner, quarantined in itertools.product(("ok", "offline", "error"), HOLDERS, (False, True))
}
"""Decision D6 over health x holder x quarantine, the first that applies. A device has one holder at most (HA-05)."""


@scenario("HA-11", rung="model")
async def test_the_display_table(world: World) -> None:
    """Every combination of a driver's health, who holds the device, and quarantine.
    Disconnected shows offline, else a fault or quarantine error, else a holder busy with its kind, else idle."""
    for (health, owner, quarantined), shown in TABLE.items():
        display = status.display_status(health, HOLDERS[owner], quarantined)
        got = (display.status, display.owner)
        assert got == shown, f"{health}, held by {owner}, quarantined {quarantined}: expected {shown}, got {got}"
    assert status.display_status("exploded", None, False).status == "error", "an unknown health counts as a fault"


class Stage:
    """One phone, an agent and a cloud, and the ways in which the phone gets into each state."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.phone = world.device("phone-1")

    async def set_up(self) -> Stage:
        self.cloud = await self.world.cloud()
        self.host = await self.world.hostagent(max_call_s=self.world.ttl_s)
        self.alice = await self.host.client("alice")
        await heard(self.world, self.cloud)
        return self

    async def idle(self) -> None:
        pass

    async def mcp(self) -> None:
        assert (await self.alice.tap("phone-1")).ok

    async def cloud_holds(self) -> None:
        await self.phone.slow("tap", self.host.ttl_s / 2)
        await self._assign()

    async def offline(self) -> None:
        await self.phone.disconnect()

    async def crashed(self) -> None:
        await self.phone.crash()

    async def offline_and_mcp(self) -> None:
        await self.mcp()
        await self.phone.disconnect()

    async def crashed_and_mcp(self) -> None:
        await self.mcp()
        await self.phone.crash()

    async def stuck_for_mcp(self) -> None:
        await self.phone.hang()
        assert (await self.alice.tap("phone-1")).reason == "driver_stuck"

    async def stuck_for_cloud(self) -> None:
        await self.phone.hang()
        await self.cloud.finished(await self._assign())

    async def healed(self) -> None:
        await self.stuck_for_mcp()
        await self.phone.heal()
        await self.world.settle()

    async def _assign(self) -> str:
        task_id: str = await self.cloud.submit(workflow=workflow(90, 300), device_id="phone-1")
        await moving(self.world, self.phone)
        return task_id


STATES: dict[str, tuple[Callable[[Stage], Awaitable[None]], str, str | None]] = {
    "idle": (Stage.idle, "idle", None),
    "held-over-mcp": (Stage.mcp, "busy", "mcp"),
    "held-by-the-cloud": (Stage.cloud_holds, "busy", "cloud"),
    "disconnected": (Stage.offline, "offline", None),
    "crashed": (Stage.crashed, "error", None),
    "disconnected-and-held": (Stage.offline_and_mcp, "offline", None),
    "crashed-and-held": (Stage.crashed_and_mcp, "error", None),
    "quarantined-by-an-agent": (Stage.stuck_for_mcp, "error", None),
    "quarantined-by-the-cloud": (Stage.stuck_for_cloud, "error", None),
    "out-of-quarantine": (Stage.healed, "busy", "mcp"),
}


@scenario("HA-11", rung="memory")
@pytest.mark.parametrize("state", list(STATES))
async def test_every_place_shows_the_same(world: World, state: str) -> None:
    """A phone is brought into one state by what really leads to it: agents, the cloud, trouble.
    device_status, list_devices and /api/status agree on the row of the table; reading them leases nothing."""
    bring_about, shown, owner = STATES[state]
    stage = await Stage(world).set_up()
    await bring_about(stage)
    held = await stage.host.busy()
    stranger = await stage.host.client("stranger", era="modern")
    alone = (await stranger.call("device_status", device_id="phone-1")).value
    (listed,) = (await stranger.call("list_devices")).value["devices"]
    (page,) = (await stage.host.status())["devices"]
    assert (alone["status"], alone["owner"]) == (shown, owner)
    assert listed == alone
    assert page == alone
    assert await stage.host.busy() == held


def dashboard_line(page: dict[str, Any]) -> str:
    """What a person reads who looks at `/api/status` on another machine, whose clock runs."""
    (row,) = page["mcp_busy_devices"]
    since = datetime.fromisoformat(page["time"]) - timedelta(seconds=row["held_s"])
    age_s = (datetime.now(UTC) - since).total_seconds()
    return f"{row['device_id']} held since {since:%H:%M:%S} ({age_s:.0f} s)"


@scenario("HA-11", needs=("wall-clock",))
@settings(max_examples=3)
@given(step_s=st.integers(-86_400, 86_400), read_after_s=st.integers(0, 300))
@example(step_s=0, read_after_s=0)
@example(step_s=-3_600, read_after_s=5)
async def test_held_since_is_right_on_a_wall_clock_that_was_set(world: World, step_s: int, read_after_s: int) -> None:
    """A lease is 40 s old when the host's wall clock is set, and a dashboard shows since when it is held, and how long.
    The age is what really passed, whatever the clock says; only the time of day moves with the clock."""
    host = await world.hostagent()
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    await world.until(host.ttl_s * 2 / 3)
    before = await host.status()
    world.trouble.step(step_s)
    page = await host.status()
    moved = datetime.fromisoformat(page["time"]) - datetime.fromisoformat(before["time"])
    assert moved == timedelta(seconds=step_s)
    assert page["mcp_busy_devices"] == before["mcp_busy_devices"], "ages do not come from the wall clock (ruling 3)"

    read_at = datetime.fromisoformat(page["time"]) + timedelta(seconds=read_after_s)
    with freeze_time(read_at, real_asyncio=True):
        line = dashboard_line(page)
    held_s = host.ttl_s * 2 / 3
    since = datetime.fromisoformat(page["time"]) - timedelta(seconds=held_s)
    assert line == f"phone-1 held since {since:%H:%M:%S} ({held_s + read_after_s:.0f} s)"
