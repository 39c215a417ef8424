"""Heartbeats on a bad road: in any order, more than once, out of an earlier life of host or cloud."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps import HELD_BY_MCP, cloud_trouble, cloud_view, heard, seen_busy, workflow

PHONE = "phone-1"
TAPS_MAX = 20


async def heartbeats_kept(world: World, cloud: Any) -> list[tuple[str, dict[str, Any]]]:
    """Path and body of each heartbeat that ever arrived, as a hop on the road might have kept them."""
    requests = (await world.get(f"{cloud.url}/v1/log"))["requests"]
    beats = [sent for sent in requests if sent["path"].endswith("/heartbeat")]
    return [(sent["path"], json.loads(base64.b64decode(sent["body_base64"]))) for sent in beats]


async def sent_again(world: World, cloud: Any, which: int) -> bool:
    """The hop sends a heartbeat it kept once more; False when there is none or the cloud does not know the host."""
    kept = await heartbeats_kept(world, cloud)
    if not kept or not await cloud_view(world, cloud):
        return False
    path, body = kept[which % len(kept)]
    await world.post(f"{cloud.url}{path}", body)
    return True


async def log_of(world: World, cloud: Any) -> list[dict[str, Any]]:
    """What became of each heartbeat that arrived."""
    log = (await world.get(f"{cloud.url}/v1/log"))["log"]
    return [line["data"] for line in log if line["kind"] == "cloud.heartbeat"]


async def held(world: World, host: Any, agent: Any) -> None:
    """The agent has the phone, as soon as the cloud's own work there is done."""
    for _ in range(TAPS_MAX):
        if (await agent.tap(PHONE)).ok:
            return
        await world.advance(world.tick_s)
    raise AssertionError(f"{agent.name} did not get the phone within {TAPS_MAX} ticks")


PERIOD = st.tuples(
    st.sampled_from(["good", "ignore", "refuse", "late", "late", "duplicate"]),
    st.sampled_from([0.3, 1.3, 2.2, 3.1]),
    st.sampled_from(["tap", "tap", "end", "nothing"]),
    st.sampled_from(["nothing", "nothing", "cloud-restart", "host-restart", "again-first", "again-middle"]),
)


@scenario("HA-08", needs=("schedule",), sees=("skipped", "blind-window", "overtaken", "sent-again"))
@settings(max_examples=8)
@given(periods=st.lists(PERIOD, min_size=2, max_size=6))
@example(periods=[("refuse", 0.0, "nothing", "nothing"), ("refuse", 0.0, "nothing", "nothing")])
@example(
    periods=[
        ("late", 2.2, "nothing", "nothing"),
        ("ignore", 0.0, "tap", "nothing"),
        ("good", 0.0, "tap", "again-first"),
        ("good", 0.0, "end", "cloud-restart"),
    ]
)
async def test_in_any_order_no_held_device_is_acted_on(
    world: World, periods: list[tuple[str, float, str, str]]
) -> None:
    """Each heartbeat is lost, refused, late or doubled; old ones are sent again, cloud and host restart in between; an
    agent takes the phone and gives it back, and the cloud always has work. The cloud never drives a held phone; one
    good heartbeat later its view is right, and stays so whatever still arrives. Ready tasks run in a seeded order."""
    world.trouble.shuffle()
    cloud = await world.cloud()
    host = await world.hostagent(devices=[PHONE], heartbeat_s=world.ttl_s / 3)
    phone, alice, tasks = world.device(PHONE), await host.client("alice"), []
    await heard(world, cloud)
    for number, (kind, delay, doing, event) in enumerate(periods):
        if event == "cloud-restart":
            await cloud_trouble(world, cloud, "restart")
        elif event == "host-restart":
            await host.restart()
            alice = await host.client("alice")
        elif event.startswith("again"):
            kept = await heartbeats_kept(world, cloud)
            if await sent_again(world, cloud, 0 if event == "again-first" else len(kept) // 2):
                world.saw("sent-again")
        if kind != "good":
            timed = {"delay_s": delay * host.heartbeat_s} if kind in ("late", "duplicate") else {}
            await cloud_trouble(world, cloud, kind, count=1, **timed)
        if doing == "tap":
            await alice.tap(PHONE)
        elif doing == "end":
            await alice.end()
            alice = await host.client("alice")
        tasks.append(await cloud.submit(workflow=workflow(90, 300 + number), device_id=PHONE))
        await world.advance(host.heartbeat_s)
    await cloud_trouble(world, cloud, "heal")
    for _ in range(3):  # late ones are still on their way
        await held(world, host, alice)
        await world.advance(host.heartbeat_s + world.tick_s)
        assert await seen_busy(world, cloud) == [PHONE], "one good heartbeat sets the view right, and it stays so"

    if any(not beat["taken"] and beat["trouble"] in ("late", "duplicate", None) for beat in await log_of(world, cloud)):
        world.saw("overtaken")
    for task in [await cloud.task(task_id) for task_id in tasks]:
        if task["failure_reason"] is not None:
            world.saw("blind-window" if task["failure_reason"] == HELD_BY_MCP else "failed otherwise")
        elif not task["assignments"]:
            world.saw("skipped")
    assert phone.running == 0


@scenario("HA-08")
@pytest.mark.parametrize("says", ["leased", "free"])
async def test_what_an_earlier_life_said_is_gone_one_heartbeat_later(world: World, says: str) -> None:
    """A hop sends a heartbeat of the host's earlier life again, with a higher number than the new life has reached. It
    says the opposite of what is. One good heartbeat later the view is right, and it stays so."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=[PHONE], heartbeat_s=world.ttl_s / 3)
    alice = await host.client("alice")
    await heard(world, cloud)
    for _ in range(2):
        if says == "leased":
            assert (await alice.tap(PHONE)).ok
        await world.advance(host.heartbeat_s)
    path, body = (await heartbeats_kept(world, cloud))[-1]
    assert body["mcp_busy_device_ids"] == ([PHONE] if says == "leased" else [])
    await host.restart()
    alice = await host.client("alice")
    await world.advance(host.heartbeat_s / 2)
    if says == "free":
        assert (await alice.tap(PHONE)).ok
    await world.post(f"{cloud.url}{path}", body)
    task_id = await cloud.submit(workflow=workflow(90, 300), device_id=PHONE)
    for _ in range(2):
        await world.advance(host.heartbeat_s + world.tick_s)
        if says == "free":
            assert (await alice.tap(PHONE)).ok, "the cloud took a held phone"
        assert await seen_busy(world, cloud) == ([] if says == "leased" else [PHONE]), "one good heartbeat later"
    task = await cloud.task(task_id)
    if says == "leased":
        assert task["state"] == "succeeded", f"a phone that is free gets its work: {task['state']}"
    else:
        assert task["failure_reason"] in (None, HELD_BY_MCP), task["failure_reason"]


@scenario("HA-08")
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 1, 3), (3, 1, 2), (1, 1, 3, 1, 2), (2, 3, 2, 3, 1)])
async def test_the_newest_heartbeat_counts_in_every_order(world: World, order: tuple[int, ...]) -> None:
    """Three heartbeats, `free`, `leased`, `leased and another`, arrive in every order and more than once. The view is
    always that of the highest number so far, and what that one says is leased is never given out."""
    cloud = await world.cloud()
    devices = [{"device_id": name, "status": "idle"} for name in ("old-1", "old-2")]
    says = {1: [], 2: ["old-1"], 3: ["old-1", "old-2"]}
    await world.post(f"{cloud.url}/v1/hosts", {"host_id": "old-host", "devices": devices})
    newest = 0
    for seq in order:
        body = {"seq": seq, "devices": devices, "mcp_busy_device_ids": says[seq]}
        taken = (await world.post(f"{cloud.url}/v1/hosts/old-host/heartbeat", body))["taken"]
        assert taken == (seq > newest), f"number {seq} after number {newest}: taken is {taken}"
        newest = max(newest, seq)
        assert await seen_busy(world, cloud) == says[newest]
