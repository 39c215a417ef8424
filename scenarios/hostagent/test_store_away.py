"""A host agent that cannot ask its lease store knows nothing: it drives nothing, shows nothing as free, and is well
again by itself. What it could not tell the store meanwhile it tells later.
"""

from __future__ import annotations

from lasttick import World, scenario

from .handover import expect_busy, expect_served
from .steps import seen_busy


@scenario("HA-08", "HA-11", needs=("schedule",))
async def test_nothing_is_shown_free_while_the_store_is_away(world: World) -> None:
    """An agent holds the phone and the cloud knows it; then the host is cut off from its lease store. Its console, its
    tools and its heartbeats do not say that the phone is free; when the store is back they show the lease again."""
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"], lease_store="shared", heartbeat_s=world.ttl_s / 6)
    alice = await host.client("alice")
    expect_served(await alice.tap("phone-1"), "alice, first")
    used_s = world.now_s
    await world.until(used_s + world.ttl_s / 4)
    assert await seen_busy(world, cloud) == ["phone-1"], "the cloud must know of alice's lease"

    world.lease_server.cut(host)
    await world.until(used_s + world.ttl_s * 3 / 4)
    assert await seen_busy(world, cloud) == ["phone-1"], "a heartbeat showed the phone as free on a guess"
    for tool, arguments in (("list_devices", {}), ("device_status", {"device_id": "phone-1"})):
        answer = await alice.call(tool, **arguments)
        assert answer.reason == "store_unavailable", f"{tool}: expected store_unavailable, got {answer}"
    shown = await (await host.console()).get("/api/status")
    assert shown.status_code == 503, f"/api/status: expected 503, got {shown.status_code}: {shown.text[:200]}"
    assert "lease store" in shown.json()["error"]

    world.lease_server.mend(host)
    assert await host.busy() == ["phone-1"], "the lease must be seen again"
    expect_served(await alice.tap("phone-1"), "alice, when the store is back")


@scenario("HA-07", needs=("schedule",))
async def test_the_end_of_a_session_is_told_when_the_store_is_back(world: World) -> None:
    """An agent ends its session while its host is cut off from the lease store. The end is answered well; when the
    store is back, the other host's agent gets the phone within half a TTL, though nobody waits out the lease."""
    here = await world.hostagent(devices=["phone-1"], lease_store="shared")
    there = await world.hostagent(devices=["phone-1"], lease_store="shared")
    alice, bob = await here.client("alice"), await there.client("bob")
    expect_served(await alice.tap("phone-1"), "alice, first")
    used_s = world.now_s
    world.lease_server.cut(here)
    await alice.end()
    expect_busy(await bob.tap("phone-1"), "bob, as the store has not heard of alice's end")
    world.lease_server.mend(here)
    await world.until(used_s + world.ttl_s / 2)
    expect_served(await bob.tap("phone-1"), "bob, half a TTL after alice's last use")


@scenario("HA-01", needs=("schedule",))
async def test_a_store_that_hangs_holds_up_no_stop(world: World) -> None:
    """Three agents are connected and hold phones, and one of them calls, when the lease store stops answering. The host
    is told to stop, and has stopped within five seconds; what it could not give back ends a TTL after its last use."""
    devices = ["phone-1", "phone-2", "phone-3"]
    here = await world.hostagent(devices=devices, lease_store="shared")
    there = await world.hostagent(devices=devices, lease_store="shared")
    for number, device_id in enumerate(devices):
        agent = await here.client(f"agent-{number}")
        expect_served(await agent.tap(device_id), "an agent, first")
    used_s = world.now_s
    world.lease_server.hold(here)
    agent.begin_tap("phone-3")
    await world.settle()
    await here.stop()
    assert world.now_s - used_s <= 5, f"the stop took {world.now_s - used_s:g} s; expected at most 5"
    await world.until(used_s + world.ttl_s)
    bob = await there.client("bob")
    expect_served(await bob.tap("phone-2"), "an agent at the other host, a TTL later")
