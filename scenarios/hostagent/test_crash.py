"""A host agent that dies while it drives a device."""

from lasttick import World, scenario


@scenario("HA-05", "HA-15", sees=("hand-over",))
async def test_a_new_host_waits_for_what_its_predecessor_began(world: World) -> None:
    """The host is killed while a tap still moves. Its successor lets nobody near the phone until the phone is done."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    phone = world.device("phone-1")
    await phone.hang()
    alice = await host.client("alice")
    alice.begin_tap("phone-1")
    await world.advance(host.ttl_s / 4)
    assert phone.running == 1

    await host.kill()
    await host.restart()
    bob = await host.client("bob")
    early = await bob.tap("phone-1")
    assert early.reason == "driver_stuck", f"expected driver_stuck during the predecessor's tap, got {early}"
    assert phone.calls == 1, "a second holder reached the phone during the predecessor's tap"
    assert (await bob.tap("phone-2")).ok, "an idle phone of the same host must be free at once"

    await phone.heal()
    await world.advance(2)
    assert phone.running == 0
    assert (await bob.tap("phone-1")).ok, "the phone was done, and still nobody could have it"
