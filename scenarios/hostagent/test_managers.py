"""Two host agents in one process, each with devices of its own under the same names: no default manager anywhere."""

from __future__ import annotations

from lasttick import World, scenario


# Two hosts in one process: in process mode each has a process of its own, where nothing could be shared.
@scenario("HA-12", rung="memory")
async def test_two_phones_of_one_name_on_two_hosts_never_meet(world: World) -> None:
    """Two hosts in one process each drive a device called phone-1, on a rack of its own and on another screen.
    Each host acts on its own: screens, leases, statuses and device logs never mix."""
    first = await world.hostagent(devices=["phone-1"])
    second = await world.hostagent(devices=["phone-1=ios@2"], rack="second")
    mine, yours = world.device("phone-1"), world.device("second/phone-1")
    alice, bob = await first.client("alice"), await second.client("bob")

    assert (await alice.call("launch_app", device_id="phone-1", app="notes")).value["screen"] == "notes"
    assert (await second.busy()) == [], "a lease of one host is none of the other's"
    assert (await bob.call("launch_app", device_id="phone-1", app="settings")).value["screen"] == "settings"
    assert (await alice.call("describe_screen", device_id="phone-1")).value["screen"] == "notes"
    assert (await bob.call("describe_screen", device_id="phone-1")).value["screen"] == "settings"
    assert mine.callers == ["alice", "alice"]
    assert yours.callers == ["bob", "bob"]

    (row,) = (await alice.call("list_devices")).value["devices"]
    assert (row["platform"], row["scale"]) == ("android", 1)
    (row,) = (await bob.call("list_devices")).value["devices"]
    assert (row["platform"], row["scale"]) == ("ios", 2)


@scenario("HA-12", rung="memory")
async def test_trouble_on_one_host_is_no_trouble_on_the_other(world: World) -> None:
    """Of two phones called phone-1 on two hosts, one hangs until it is in quarantine and one goes on.
    Quarantine, status and lease are each host's own; when one host stops, the other does not notice."""
    first = await world.hostagent(devices=["phone-1"], max_call_s=world.ttl_s / 2)
    second = await world.hostagent(devices=["phone-1"], rack="second")
    alice, bob = await first.client("alice"), await second.client("bob")
    await world.device("phone-1").hang()
    assert (await alice.tap("phone-1")).reason == "driver_stuck"
    assert (await alice.call("device_status", device_id="phone-1")).value["status"] == "error"
    assert (await bob.call("device_status", device_id="phone-1")).value["status"] == "idle"
    assert (await bob.tap("phone-1")).ok
    await world.device("phone-1").heal()
    await world.settle()
    await first.stop()
    assert (await bob.tap("phone-1")).ok
    assert await second.busy() == ["phone-1"]
    assert world.device("second/phone-1").callers == ["bob", "bob"]
