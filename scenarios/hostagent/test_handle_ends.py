"""What becomes of a lease handle when its first call ends badly: unheard, stuck, refused by the device itself."""

from __future__ import annotations

import pytest

from lasttick import World, scenario

from .handover import expect_busy, expect_served, takes_over_exactly
from .test_handles import expect_unknown, present
from .turns import TURNS_MAX, turns

PHONE = "phone-1"
SLOW_TURNS = 15
"""More than a call needs from its sending to the phone; then nothing more happens until the phone ends."""


@scenario("HA-16", "HA-07", needs=("every-await",))
@pytest.mark.parametrize(("driver", "sse"), [("quick", True), ("slow", True), ("slow", False)])
async def test_a_first_call_is_dropped_at_each_turn(world: World, driver: str, sse: bool) -> None:
    """At each turn of a stateless client's first call its connection breaks, so nobody has the handle.
    Bob is refused while the phone moves, and has it one TTL after the phone's end, exactly: no lease is left over."""
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s / 10, sse=sse)
    phone, bob = world.device(PHONE), await host.client("bob")
    length_s = host.ttl_s / 2 if driver == "slow" else 0.0
    for turn in range(TURNS_MAX):
        if phone.calls:
            await world.until(phone.last_end_s + host.ttl_s)
        eve, when, before = await host.client(f"eve-{turn}", era="modern"), f"dropped at turn {turn}", phone.calls
        if length_s:
            await phone.slow("tap", length_s)
        start_s, call = world.now_s, eve.begin_tap(PHONE)
        await turns(turn)
        answered = call.done
        call.drop()
        await world.settle()
        if phone.running:
            expect_busy(await bob.tap(PHONE), f"bob while the phone moves, {when}")
            await world.until(start_s + length_s)
        await phone.heal()
        if phone.calls > before:
            await takes_over_exactly(world, bob, PHONE, phone.last_end_s + host.ttl_s)
        else:
            await world.until(world.now_s + host.ttl_s)
            expect_served(await bob.tap(PHONE), f"bob one TTL after a call that never reached the phone, {when}")
        await world.until(phone.last_end_s + host.ttl_s)
        assert await host.busy() == [], f"a lease was left, {when}"
        if answered or (length_s and turn > SLOW_TURNS):
            return
    raise AssertionError(f"a first call was not answered within {TURNS_MAX} turns of the loop")


@scenario("HA-16", "HA-10")
@pytest.mark.parametrize("sse", [False, True])
async def test_a_first_call_that_is_stuck_still_gives_its_handle(world: World, sse: bool) -> None:
    """A stateless client's first call takes longer than the time limit, and is answered in JSON or as an event stream.
    Its error is driver_stuck and carries the handle, which is good for the phone when that has returned."""
    host = await world.hostagent(devices=[PHONE], max_call_s=world.ttl_s, sse=sse)
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    phone = world.device(PHONE)
    await phone.slow("tap", 1.5 * host.max_call_s)
    start_s, stuck = world.now_s, await eve.tap(PHONE)
    assert (stuck.reason, stuck.error and stuck.error.code) == ("driver_stuck", -32000)
    assert eve.handles.get(PHONE), f"driver_stuck without the lease handle: {stuck.error}"
    again = await eve.tap(PHONE)
    assert again.reason == "driver_stuck", f"eve during the quarantine: {again}"
    await phone.heal()
    await world.until(start_s + 1.6 * host.max_call_s)
    expect_busy(await bob.tap(PHONE), "bob, when the phone has returned")
    expect_served(await eve.tap(PHONE), "eve with the handle of the stuck call")
    await takes_over_exactly(world, bob, PHONE, phone.last_end_s + host.ttl_s)


@scenario("HA-16", "HA-02")
async def test_a_session_id_beside_a_handle_counts_for_nothing(world: World) -> None:
    """Bob has a session and a phone, stateless Eve another. She sends his session id along, he ends his session.
    On his phone she is busy like anybody; on hers her handle holds, with the id and after the session's end."""
    host = await world.hostagent(devices=[PHONE, "phone-2"])
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    expect_served(await eve.tap(PHONE), "eve's first call")
    expect_served(await bob.tap("phone-2"), "bob's first call")

    eve.raw.session_id = bob.raw.session_id
    expect_busy(await eve.tap("phone-2"), "eve with bob's session id on bob's phone")
    expect_busy(await present(eve, eve.handles[PHONE], "phone-2"), "and with the handle of her own phone")
    expect_served(await eve.tap(PHONE), "eve's handle with bob's session id beside it")
    await bob.end()
    assert await host.busy() == [PHONE], "the end of bob's session is the end of bob's lease only"
    expect_served(await eve.tap(PHONE), "eve after the end of bob's session")


@scenario("HA-16", "HA-05")
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_who_lost_the_phone_to_a_later_holder_may_ask_anew(world: World, era: str) -> None:
    """A phone is told of a later holder's token. It refuses the next call of the old one, who is told lease_lost.
    Asking anew, as that error says, works at once: with a session, or without one by a first call."""
    host = await world.hostagent(devices=[PHONE])
    alice, phone = await host.client("alice", era=era), world.device(PHONE)  # type: ignore[arg-type]
    expect_served(await alice.tap(PHONE), "alice's first call")
    await phone.claim(2)
    lost = await alice.tap(PHONE)
    assert (lost.reason, phone.refused) == ("lease_lost", ["alice"]), f"the old token: {lost}"
    assert await host.busy() == [], "the lease of a refused token is kept, and the phone refuses it again"
    if era == "modern":
        expect_unknown(await present(alice, alice.handles[PHONE], PHONE), "the handle of the lost lease")
        del alice.handles[PHONE]
    expect_served(await alice.tap(PHONE), "alice, asking anew")
    await phone.claim(9)
    await alice.vanish()
    fresh = await host.client("fresh", era=era)  # type: ignore[arg-type]
    await world.advance(host.ttl_s)
    refused = await fresh.tap(PHONE)
    assert refused.reason == "lease_lost", f"a grant below what the phone has seen: {refused}"
    assert await host.busy() == [], "a first call that was refused by the phone leaves it held, by nobody who knows"
    await host.restart()
    anew = await host.client("anew", era=era)  # type: ignore[arg-type]
    expect_served(await anew.tap(PHONE), "after a restart, which asks the phone what it has seen")
    assert phone.callers == ["alice", "alice", "anew"], f"the phone's log shows {phone.callers}"


@scenario("HA-16", "HA-15")
async def test_a_first_call_under_a_stop_gives_no_handle(world: World) -> None:
    """A host stops while a stateless client's first call moves the phone. The client is told so, in three parts.
    The lease goes with the host: its error carries no handle, and the host that comes after knows of none."""
    host = await world.hostagent(devices=[PHONE])
    eve, phone = await host.client("eve", era="modern"), world.device(PHONE)
    await phone.slow("tap", host.ttl_s / 2)
    call = eve.begin_tap(PHONE)
    while not phone.running:
        await world.advance(world.tick_s)
    await host.stop()
    told = (await call).error
    assert told is not None
    assert "lease_handle" not in told.data, f"a handle to a lease that is gone: {told}"
    assert "stops before this call is answered; expected" in told.message, f"the stop is not told: {told.message}"
