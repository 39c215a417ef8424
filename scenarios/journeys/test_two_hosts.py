"""Two host agents, one rack, one lease store: one of them dies in the middle of a call, and comes back.

What an operator with two machines on one rack sees: who is served when, and that both consoles tell the same.
"""

from __future__ import annotations

from typing import Any

from lasttick import World, scenario

PHONES = ("phone-1", "phone-2")


async def rows(host: Any) -> dict[str, tuple[str, Any]]:
    """Each device's status and owner, as that host's console shows them."""
    return {row["device_id"]: (row["status"], row["owner"]) for row in (await host.status())["devices"]}


async def both_show(hosts: list[Any], busy: list[str], when: str) -> None:
    for host in hosts:
        shown = await host.busy()
        assert shown == busy, f"{when}: {host.options.name} shows {shown} as held, expected {busy}"
    first, second = [await rows(host) for host in hosts]
    assert first == second, f"{when}: the two consoles show {first} and {second}"


@scenario("HA-05", "HA-07", "HA-15", sees=("hand-over",))
async def test_one_of_two_hosts_dies_and_comes_back(world: World) -> None:
    """Alice drives a phone through one host, which is killed under her call. Bob, at the other host, is refused while
    her lease stands and while the phone still acts for her, then served. The dead host comes back: Alice is refused
    while Bob holds, and has the phone again when he has ended. The second phone is free all the time."""
    first = await world.hostagent(devices=PHONES, lease_store="shared")
    second = await world.hostagent(devices=PHONES, lease_store="shared")
    hosts, phone = [first, second], world.device("phone-1")
    alice, bob = await first.client("alice"), await second.client("bob")
    assert (await alice.tap("phone-1")).ok
    await both_show(hosts, ["phone-1"], "while alice holds")

    await phone.slow("tap", 2 * world.ttl_s)
    alice.begin_tap("phone-1")
    await world.advance(world.ttl_s / 6)
    assert phone.running == 1
    await first.kill()
    killed_s = world.now_s
    early = await bob.tap("phone-1")
    assert early.reason == "device_busy", f"the dead host's lease stands for a TTL, and bob got {early}"
    assert (await bob.tap("phone-2")).ok, "the other phone is nobody's"

    await world.until(killed_s + 1.4 * world.ttl_s)
    acting = await bob.tap("phone-1")
    assert acting.reason == "driver_stuck", f"the phone still acts for the dead host, and bob got {acting}"
    assert phone.calls == 2, "a second holder reached the phone during the dead host's call"

    await phone.slow("tap", 0)
    last_s = world.now_s + 3 * world.ttl_s
    while not (served := await bob.tap("phone-1")).ok:
        assert world.now_s < last_s, f"the phone has ended its call, and bob still gets {served}"
        await world.advance(world.ttl_s / 6)

    await first.restart()
    await both_show(hosts, ["phone-1"], "when the first host is back and bob holds")
    alice = await first.client("alice-again")
    refused = await alice.tap("phone-1")
    assert refused.reason == "device_busy", f"bob holds, and alice got {refused}"
    await bob.end()
    assert (await alice.tap("phone-1")).ok, "bob's session is over, and alice cannot have the phone"
    await both_show(hosts, ["phone-1"], "when bob has ended and alice holds again")
    assert phone.callers == ["alice", "alice", "bob", "alice-again"]
