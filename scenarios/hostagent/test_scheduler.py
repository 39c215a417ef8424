"""What the cloud knows of leases: heartbeats that arrive, that do not, and clouds that forget."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps import (
    HELD_BY_MCP,
    cloud_trouble,
    cloud_view,
    heard,
    heartbeat_bytes,
    seen_busy,
    workflow,
)


@scenario("HA-08")
async def test_a_leased_device_is_skipped_within_one_heartbeat(world: World) -> None:
    """An agent takes one of two phones; the cloud gets work for both. The free one works, the other is left alone.
    One heartbeat after the lease, until it ends, no assignment is made; every heartbeat's bytes say what is held."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1", "phone-2"], heartbeat_s=world.ttl_s / 4)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    assert (await alice.tap("phone-1")).ok
    taken_s = phone.last_end_s
    await world.until(taken_s + host.heartbeat_s + world.tick_s)
    assert await seen_busy(world, cloud) == ["phone-1"]

    wanted = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1")
    other = await cloud.finished(await cloud.submit(workflow=workflow(90, 301), device_id="phone-2"))
    assert other["state"] == "succeeded", other["failure_reason"]
    await world.until(taken_s + host.ttl_s - world.tick_s)
    waiting = await cloud.task(wanted)
    assert waiting["assignments"] == [], "no assignment is made for a device that a heartbeat said is leased"
    assert phone.callers == ["alice"]

    await world.until(taken_s + host.ttl_s + host.heartbeat_s + world.tick_s)
    done = await cloud.finished(wanted)
    assert done["state"] == "succeeded", done["failure_reason"]
    assert len(done["assignments"]) == 1
    bodies = [json.loads(body) for body in await heartbeat_bytes(world, cloud)]
    assert [sorted(body) for body in bodies] == [["devices", "mcp_busy_device_ids", "seq"]] * len(bodies)
    assert bodies[0]["mcp_busy_device_ids"] == []
    assert ["phone-1"] in [body["mcp_busy_device_ids"] for body in bodies]
    assert bodies[-1]["mcp_busy_device_ids"] == []
    for body in await heartbeat_bytes(world, cloud):
        assert str(alice.raw.session_id)[:8].encode() not in body, "who holds a device is not the cloud's business"


@scenario("HA-08")
async def test_each_heartbeat_says_what_is_held(world: World) -> None:
    """An agent takes one of two phones and later ends its session. The cloud reads the bytes of each heartbeat.
    From within one heartbeat on they name that phone and no other, then none; never who holds it."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice = await host.client("alice")
    await heard(world, cloud)
    assert json.loads((await heartbeat_bytes(world, cloud))[-1])["mcp_busy_device_ids"] == []
    assert (await alice.tap("phone-2")).ok
    await world.advance(host.heartbeat_s + world.tick_s)
    held = (await heartbeat_bytes(world, cloud))[-1]
    assert json.loads(held)["mcp_busy_device_ids"] == ["phone-2"], f"one heartbeat after the call: {held!r}"
    assert str(alice.raw.session_id)[:8].encode() not in held
    await alice.end()
    await world.advance(host.heartbeat_s + world.tick_s)
    bodies = [json.loads(body) for body in await heartbeat_bytes(world, cloud)]
    assert bodies[-1]["mcp_busy_device_ids"] == [], f"one heartbeat after the session's end: {bodies[-1]}"
    assert [body["seq"] for body in bodies] == sorted({body["seq"] for body in bodies}), "numbered in order, each once"


TROUBLE = st.tuples(
    st.sampled_from(["ignore", "refuse", "delay", "late", "duplicate"]),
    st.integers(1, 3),
    st.sampled_from([0.25, 0.75, 1.5, 2.5]),
)


@scenario("HA-08", sees=("skipped", "blind-window"))
@settings(max_examples=6)
@given(troubles=st.lists(TROUBLE, min_size=1, max_size=3))
@example(troubles=[("ignore", 2, 0.25)])
@example(troubles=[("duplicate", 2, 0.75), ("late", 2, 1.5)])
async def test_troubled_heartbeats_never_let_the_cloud_act_on_a_held_device(
    world: World, troubles: list[tuple[str, int, float]]
) -> None:
    """Heartbeats are lost, refused, delayed, late or doubled; an agent keeps a phone and the cloud has work for it.
    Not one driver call of the cloud starts there, and one good heartbeat later the cloud's view is right."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"])
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    for kind, count, delay in troubles:
        timed = {"delay_s": delay * host.heartbeat_s} if kind in ("delay", "late", "duplicate") else {}
        await cloud_trouble(world, cloud, kind, count=count, **timed)
    tasks = []
    for number in range(sum(count for _, count, _ in troubles)):
        assert (await alice.tap("phone-1")).ok
        tasks.append(await cloud.submit(workflow=workflow(90, 300 + number), device_id="phone-1"))
        await world.advance(host.heartbeat_s)
    await cloud_trouble(world, cloud, "heal")
    assert (await alice.tap("phone-1")).ok
    await world.advance(host.heartbeat_s + world.tick_s)

    assert await seen_busy(world, cloud) == ["phone-1"], "one good heartbeat sets the view right"
    assert phone.callers == ["alice"] * phone.calls, f"the cloud acted on a held device: {phone.callers}"
    for task in [await cloud.task(task_id) for task_id in tasks]:
        if task["assignments"]:
            assert task["failure_reason"] == HELD_BY_MCP
            world.saw("blind-window")
        else:
            world.saw("skipped")


@scenario("HA-08", sees=("reordered",))
@settings(max_examples=4)
@given(late=st.floats(1.05, 2.9))
@example(late=1.5)
async def test_a_heartbeat_that_is_overtaken_changes_nothing(world: World, late: float) -> None:
    """A heartbeat that says `free` arrives after its successor, which says `leased` (a seeded sample of delays).
    The old one is not taken: the view stays right and the phone is left alone."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    await heard(world, cloud)
    await cloud_trouble(world, cloud, "late", count=1, delay_s=late * host.heartbeat_s)
    await world.advance(host.heartbeat_s + world.tick_s)  # the one that says `free` is now on its slow road
    assert (await alice.tap("phone-1")).ok
    await world.advance(host.heartbeat_s + world.tick_s)
    assert await seen_busy(world, cloud) == ["phone-1"]
    assert (await alice.tap("phone-1")).ok
    await world.advance((late - 1) * host.heartbeat_s)

    log = (await world.get(f"{cloud.url}/v1/log"))["log"]
    heartbeats = [line["data"] for line in log if line["kind"] == "cloud.heartbeat"]
    assert [beat["taken"] for beat in heartbeats if beat["trouble"] == "late"] == [False]
    world.saw("reordered")
    assert await seen_busy(world, cloud) == ["phone-1"]
    task = await cloud.task(await cloud.submit(workflow=workflow(90, 300), device_id="phone-1"))
    assert task["assignments"] == []
    assert world.device("phone-1").callers == ["alice", "alice"]


@scenario("HA-08")
async def test_a_restarted_cloud_knows_nothing_until_the_next_heartbeat(world: World) -> None:
    """The cloud restarts while an agent holds a phone, and has work for it. Nobody stored the lease.
    It gives out nothing before a heartbeat, and that heartbeat sets its view right."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    await heard(world, cloud)
    assert (await alice.tap("phone-1")).ok
    await world.advance(host.heartbeat_s + world.tick_s)
    assert await seen_busy(world, cloud) == ["phone-1"]

    await cloud_trouble(world, cloud, "restart")
    assert await cloud_view(world, cloud) == [], "no view of a host outlives the cloud's process"
    task_id = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1")
    assert (await alice.tap("phone-1")).ok
    await world.advance(host.heartbeat_s + world.tick_s)
    assert await seen_busy(world, cloud) == ["phone-1"], "one good heartbeat sets the view right"
    assert (await cloud.task(task_id))["assignments"] == []
    assert world.device("phone-1").callers == ["alice", "alice"]
    stored = b"".join(path.read_bytes() for path in host.options.identity_dir.iterdir() if path.is_file())
    assert b"phone-1" not in stored, "no lease is written to disk"

    await alice.end()
    await world.advance(host.heartbeat_s + world.tick_s)
    assert (await cloud.finished(task_id))["state"] == "succeeded"


@scenario("HA-08")
async def test_a_cloud_that_was_down_gets_the_view_right_with_one_heartbeat(world: World) -> None:
    """The cloud is away for several heartbeats. Tools go on working for the agent all the time.
    When it is back, the host is known again and what it holds is skipped."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    await heard(world, cloud)
    await cloud_trouble(world, cloud, "stop")
    for _ in range(3):
        assert (await alice.tap("phone-1")).ok
        await world.advance(host.heartbeat_s)
    await cloud_trouble(world, cloud, "start")
    task_id = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1")
    assert (await alice.tap("phone-1")).ok
    await world.advance(host.heartbeat_s + world.tick_s)
    assert await seen_busy(world, cloud) == ["phone-1"]
    assert (await cloud.task(task_id))["assignments"] == []
    assert world.device("phone-1").callers == ["alice"] * 4


@scenario("HA-08")
async def test_a_host_that_never_sends_the_field_is_served_as_before(world: World) -> None:
    """A host from before leases sends heartbeats without `mcp_busy_device_ids`; a new one sends a list of them.
    Without the field, and with an empty list, the work is given out; for a device on the list it is not."""
    cloud = await world.cloud()
    devices = [{"device_id": "old-phone", "status": "idle"}]

    async def beat(seq: int, **field: Any) -> None:
        await world.post(f"{cloud.url}/v1/hosts/old-host/heartbeat", {"seq": seq, "devices": devices, **field})

    async def claim() -> Any:
        async with httpx.AsyncClient(transport=world.transport(), trust_env=False, verify=False) as http:
            answer = await http.get(f"{cloud.url}/v1/hosts/old-host/assignments", params={"wait_s": 0})
        return answer.json() if answer.status_code == 200 else answer.status_code

    async def work(y: float) -> str:
        return await cloud.submit(workflow=workflow(90, y), device_id="old-phone")

    await world.post(f"{cloud.url}/v1/hosts", {"host_id": "old-host", "devices": devices})
    await beat(1)
    first = await work(300)
    given_out = await claim()
    assert (given_out["task_id"], given_out["device_id"]) == (first, "old-phone")
    await world.post(f"{cloud.url}/v1/assignments/{given_out['assignment_id']}/result", {"status": "succeeded"})
    assert (await cloud.task(first))["state"] == "succeeded"

    second = await work(301)
    await beat(2, mcp_busy_device_ids=["old-phone"])
    assert await claim() == 204, "a leased device is skipped"
    await beat(3, mcp_busy_device_ids=[])
    assert (await claim())["task_id"] == second
