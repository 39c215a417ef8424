"""The story of `lasttick demo`: a call that outlives its lease."""

from lasttick import World, scenario


@scenario("HA-05", "HA-06", sees=("refusal-during-call",))
async def test_a_call_outlives_its_lease(world: World) -> None:
    """Alice's tap takes one and a half times the TTL. Bob, who asks as the TTL runs out, must not get the phone."""
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 1.5 * host.ttl_s)

    alices = alice.begin_tap("phone-1")
    await world.settle()
    await world.until(phone.log[0].t_s + host.ttl_s)
    bobs = await bob.tap("phone-1")
    assert (await alices).ok, "the holder's own call must not suffer"
    assert bobs.reason == "device_busy", f"bob must be refused while alice's tap runs, got {bobs}"
    assert phone.callers == ["alice"], "somebody else reached the phone during alice's tap"
