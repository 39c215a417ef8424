"""A device lease from its first call to its last tick."""

from hypothesis import example, given
from hypothesis import strategies as st

from lasttick import World, scenario


@scenario("HA-06")
@given(ticks=st.integers(-3, 3))
@example(ticks=-1)
@example(ticks=0)
async def test_free_exactly_at_ttl(world: World, ticks: int) -> None:
    """A phone last used at t is held until t + TTL. One tick before, a second agent is refused; at it, it gets it."""
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await alice.call("tap", device_id="phone-1", x=1, y=1)
    await world.until(phone.last_end_s + host.ttl_s + ticks * world.tick_s)
    answer = await bob.call("tap", device_id="phone-1", x=2, y=2)
    assert answer.ok if ticks >= 0 else answer.error.data["reason"] == "device_busy"
