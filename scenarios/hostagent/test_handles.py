"""Clients without a session (revision 2026-07-28) hold devices by lease handles, beside clients that have one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import Answer, World, scenario

from .handover import expect_busy, expect_served, takes_over
from .steps import HELD_BY_MCP, heard, moving, over, workflow

HANDLE = "lasttick/lease-handle"


def expect_unknown(answer: Answer, when: str) -> None:
    """What a handle is worth that holds nothing: -32000 and a reason that does not say which of its faults it has."""
    assert answer.error is not None, f"{when}: expected unknown_handle, but the call was served"
    assert (answer.error.code, answer.reason) == (-32000, "unknown_handle"), f"{when}: got {answer.error}"


def given_handle(answer: Answer) -> str | None:
    """The lease handle in a result's `_meta`."""
    assert answer.result is not None
    return answer.result.get("_meta", {}).get(HANDLE)  # type: ignore[no-any-return]


async def present(client: Any, handle: object, device_id: str = "phone-1") -> Answer:
    """A tap of `client` with a handle of the scenario's choice."""
    client.handles[device_id] = handle
    return await client.tap(device_id)  # type: ignore[no-any-return]


@scenario("HA-16", "HA-04")
async def test_the_first_call_gives_a_handle_and_later_calls_present_it(world: World) -> None:
    """A stateless client taps a free phone, and again with the handle that its first result gave.
    It is served; a session, and a stateless client without the handle, are busy on that phone and served on another."""
    host = await world.hostagent(devices=["phone-1", "phone-2", "phone-3"])
    eve = await host.client("eve", era="modern")
    bob, other = await host.client("bob"), await host.client("other", era="modern")
    first = await eve.tap("phone-1")
    handle = given_handle(first)
    assert isinstance(handle, str), f"the first call gave {handle!r} as its handle"
    assert eve.handles == {"phone-1": handle}
    again = await eve.tap("phone-1")
    expect_served(again, "eve with her handle")
    assert given_handle(again) is None, "a handle is given once, by the call that took the device"
    expect_busy(await bob.tap("phone-1"), "bob, who has a session, on eve's phone")
    expect_busy(await other.tap("phone-1"), "another stateless client on eve's phone")
    expect_served(await bob.tap("phone-2"), "bob on a free phone")
    expect_served(await other.tap("phone-3"), "the other stateless client on a free phone")
    expect_busy(await eve.tap("phone-2"), "eve on bob's phone")
    assert world.device("phone-1").callers == ["eve", "eve"]
    assert await host.busy() == ["phone-1", "phone-2", "phone-3"]


@scenario("HA-16", "HA-06")
@given(ticks=st.integers(-2, 2), taken=st.booleans())
@settings(max_examples=6)
@example(ticks=-1, taken=False)
@example(ticks=0, taken=False)
@example(ticks=0, taken=True)
async def test_a_handle_is_worth_nothing_from_the_ttl_on(world: World, ticks: int, taken: bool) -> None:
    """A phone last used at t by a handle. Before t + TTL the handle works; from it on it never does, whoever has it.

    Without a handle the same client then gets the phone, if nobody took it, and a new handle.
    """
    host = await world.hostagent()
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    phone = world.device("phone-1")
    expect_served(await eve.tap("phone-1"), "eve's first call")
    old = eve.handles["phone-1"]
    await world.until(phone.last_end_s + host.ttl_s + ticks * world.tick_s)
    if taken:
        answer = await bob.tap("phone-1")
        assert answer.ok == (ticks >= 0), f"bob at {ticks} ticks from the TTL: {answer}"
    answer = await present(eve, old)
    if ticks < 0:
        expect_served(answer, f"eve's handle {-ticks} ticks before its end")
        return
    if taken:
        expect_busy(answer, "eve's expired handle on bob's phone")
        return
    expect_unknown(answer, "eve's expired handle on a free phone")
    del eve.handles["phone-1"]
    expect_served(await eve.tap("phone-1"), "eve without a handle on a free phone")
    assert eve.handles["phone-1"] != old, "an expired handle came back"
    expect_busy(await present(eve, old), "the old handle while the new one holds")


@scenario("HA-16", "HA-06")
async def test_a_long_call_pins_the_lease_of_a_handle(world: World) -> None:
    """A stateless client's swipe takes two TTLs. Nobody else gets the phone meanwhile; it is free a TTL after its end.

    The handle comes with the result of that long call, and works until then.
    """
    host = await world.hostagent()
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 2 * host.ttl_s)
    call = eve.begin_tap("phone-1")
    await world.advance(1.5 * host.ttl_s)
    expect_busy(await bob.tap("phone-1"), "bob during eve's long call")
    expect_served(await call, "eve's long call")
    await phone.heal()
    assert eve.handles["phone-1"]
    expect_served(await eve.tap("phone-1"), "eve with the handle of her long call")
    await takes_over(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-16", "HA-02")
async def test_handles_are_unguessable_and_shown_to_nobody_else(world: World) -> None:
    """Twelve first calls give twelve handles of 32 random bytes, with nothing in common that tells one from another.

    No refusal, status row, log line or list shows any part of one.
    """
    log = world.listen()
    devices = [f"phone-{number}" for number in range(12)]
    host = await world.hostagent(devices=devices)
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    for device_id in devices:
        expect_served(await eve.tap(device_id), f"eve on {device_id}")
    handles = [eve.handles[device_id] for device_id in devices]
    assert len({handle[:8] for handle in handles}) == len(handles), "handles share their beginning"
    assert len({handle[-8:] for handle in handles}) == len(handles), "handles share their end"
    assert min(len(handle) for handle in handles) >= 43, "a handle has less than 32 bytes"
    refusals = [await bob.tap(device_id) for device_id in devices]
    said = [
        str(refusals),
        str(await host.status()),
        str(await bob.call("list_devices")),
        *[line.text for line in log.lines],
    ]
    for handle in handles:
        for start in range(0, len(handle) - 8):
            part = handle[start : start + 8]
            assert not any(part in text for text in said), f"{part}, a part of a handle, is shown to others"


@scenario("HA-16")
async def test_a_wrong_handle_opens_nothing(world: World) -> None:
    """Eve holds two phones by two handles; she and a stranger present wrong ones on them and on a free phone.

    Another phone's handle, one with a character changed, and an invented one are unknown_handle on a free phone and
    busy on a held one; what is no text is -32602. No phone is touched, none changes hands.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2", "phone-3"])
    eve, mallory = await host.client("eve", era="modern"), await host.client("mallory", era="modern")
    for device_id in ("phone-1", "phone-2"):
        expect_served(await eve.tap(device_id), f"eve on {device_id}")
    right = dict(eve.handles)
    changed = ("A" if right["phone-1"][0] != "A" else "B") + right["phone-1"][1:]
    for wrong in (right["phone-2"], changed, "invented", right["phone-1"] + "A"):
        expect_busy(await present(mallory, wrong), f"mallory with {wrong!r} on a held phone")
        expect_unknown(await present(mallory, wrong, "phone-3"), f"mallory with {wrong!r} on a free phone")
    expect_busy(await present(mallory, right["phone-1"], "phone-2"), "phone-1's handle on phone-2")
    expect_unknown(await present(mallory, right["phone-1"], "phone-3"), "phone-1's handle on a free phone")
    for bad in (17, True, ["x"], {}, "", "x" * 201, right["phone-1"] + " "):
        answer = await present(mallory, bad)
        assert answer.error is not None
        assert (answer.error.code, answer.reason) == (-32602, "bad_arguments"), f"{bad!r} gave {answer.error}"
    assert world.device("phone-3").calls == 0
    assert [world.device(device_id).callers for device_id in ("phone-1", "phone-2")] == [["eve"], ["eve"]]
    assert await host.busy() == ["phone-1", "phone-2"]
    expect_served(await eve.tap("phone-1"), "eve, whom all this does not concern")


@scenario("HA-16")
async def test_a_handle_is_no_concern_of_who_has_a_session(world: World) -> None:
    """Bob, who has a session, presents a handle of eve's phone, and a wrong one on a phone of his own.

    His session is his holder: eve's phone stays busy to him, his own goes on serving him, and he is given no handle.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    expect_served(await eve.tap("phone-1"), "eve's first call")
    expect_busy(await present(bob, eve.handles["phone-1"]), "bob with eve's handle")
    first = await bob.tap("phone-2")
    assert given_handle(first) is None, "a session needs no handle"
    expect_served(await present(bob, "wrong", "phone-2"), "bob on his own phone, with a wrong handle")


@scenario("HA-16")
async def test_calls_of_one_handle_take_turns_and_first_calls_race(world: World) -> None:
    """Two first calls at once: one gets the phone. Two calls with its handle at once: one after the other on the phone.

    The device's log never overlaps (ruling 12).
    """
    host = await world.hostagent()
    eve, other = await host.client("eve", era="modern"), await host.client("other", era="modern")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 3)
    answers = [await call for call in (eve.begin_tap("phone-1"), other.begin_tap("phone-1"))]
    assert [answer.ok for answer in answers] in ([True, False], [False, True])
    winner = eve if answers[0].ok else other
    expect_busy(answers[1] if answers[0].ok else answers[0], "the other first call")
    for call in [winner.begin_tap("phone-1"), winner.begin_tap("phone-1")]:
        expect_served(await call, "a call with the handle")
    kinds = [entry.kind for entry in phone.log]
    assert kinds == ["start", "end"] * 3, f"calls of one handle overlap at the phone: {kinds}"


@scenario("HA-16")
async def test_a_first_call_that_fails_on_the_phone_still_gives_its_handle(world: World) -> None:
    """A stateless client's first call meets a crashed phone, then the phone heals.

    A failed call renews as any other, so the phone is hers: the error's data carries the handle, and it works. A first
    call that is refused, or whose arguments are bad, gives none.
    """
    host = await world.hostagent()
    eve, other = await host.client("eve", era="modern"), await host.client("other", era="modern")
    phone = world.device("phone-1")
    bad = await eve.call("tap", device_id="phone-1", x="left", y=1)
    assert bad.error is not None
    assert "lease_handle" not in bad.error.data
    await phone.crash()
    failed = await eve.tap("phone-1")
    assert failed.error is not None
    assert failed.reason == "driver_error"
    assert failed.error.data.get("lease_handle") == eve.handles.get("phone-1") is not None
    await phone.heal()
    refused = await other.tap("phone-1")
    expect_busy(refused, "another client on eve's phone")
    assert refused.error is not None
    assert "lease_handle" not in refused.error.data
    expect_served(await eve.tap("phone-1"), "eve with the handle of the failed call")


@scenario("HA-16", "HA-15")
async def test_a_restart_makes_every_handle_worthless(world: World) -> None:
    """A host with a stateless holder restarts.
    The old handle is unknown_handle and takes nothing; a call without one gets the phone at once."""
    host = await world.hostagent()
    eve = await host.client("eve", era="modern")
    expect_served(await eve.tap("phone-1"), "eve's first call")
    await host.restart()
    again = await host.client("eve-again", era="modern")
    expect_unknown(await present(again, eve.handles["phone-1"]), "a handle of before the restart")
    del again.handles["phone-1"]
    expect_served(await again.tap("phone-1"), "a first call after the restart")


@scenario("HA-16", "HA-10")
async def test_where_handles_are_off_the_leased_tools_want_a_session(world: World) -> None:
    """A host with `stateless_handles` off, a sessionless client with and without an invented handle.
    Leased tools are -32001 no_session and touch nothing; the status tools and a client with a session are served."""
    host = await world.hostagent(stateless_handles=False)
    eve, bob = await host.client("eve", era="modern"), await host.client("bob")
    for answer in (await eve.tap("phone-1"), await present(eve, "invented")):
        assert answer.error is not None
        assert (answer.error.code, answer.reason) == (-32001, "no_session")
    assert (await eve.call("device_status", device_id="phone-1")).value["status"] == "idle"
    assert world.device("phone-1").calls == 0
    expect_served(await bob.tap("phone-1"), "bob with his session")


@scenario("HA-16", "HA-09")
@pytest.mark.parametrize("cloud_first", [True, False])
async def test_the_cloud_and_a_handle_never_share_a_phone(world: World, cloud_first: bool) -> None:
    """An assignment and a stateless client want one phone, in both orders.
    Whoever comes second is refused: the client busy with the cloud, the assignment failed, the phone untouched."""
    heartbeat_s = world.ttl_s * 4  # so that the cloud does not know of the handle's lease when it hands out work
    cloud = await world.cloud(heartbeat_s=heartbeat_s)
    host = await world.hostagent(heartbeat_s=heartbeat_s)
    eve = await host.client("eve", era="modern")
    phone = world.device("phone-1")
    await heard(world, cloud)
    await world.settle()
    if cloud_first:
        await phone.slow("tap", host.ttl_s / 2)
        task = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1", attempts=1)
        await moving(world, phone)
        expect_busy(await eve.tap("phone-1"), "eve during the assignment", owner="cloud_assignment")
        assert (await over(world, cloud, task))["state"] == "succeeded"
        await phone.heal()
        expect_served(await eve.tap("phone-1"), "eve after the assignment")
    else:
        expect_served(await eve.tap("phone-1"), "eve's first call")
        task = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1", attempts=1)
        assert (await over(world, cloud, task))["failure_reason"] == HELD_BY_MCP
        assert phone.callers == ["eve"], "an assignment reached a phone that a handle holds"


WALK = st.lists(
    st.tuples(
        st.sampled_from(["eve", "mia", "bob"]),
        st.sampled_from(["phone-1", "phone-2"]),
        st.sampled_from(["own", "own", "own", "none", "swapped"]),
        st.sampled_from([0, 0, 1, 500, 999, 1000, 1001]),
    ),
    min_size=1,
    max_size=12,
)


@scenario("HA-16", "HA-05")
@settings(max_examples=12)
@given(walk=WALK)
@example(walk=[("eve", "phone-1", "own", 0), ("bob", "phone-1", "own", 999), ("mia", "phone-1", "own", 1)])
@example(walk=[("eve", "phone-1", "own", 0), ("mia", "phone-1", "swapped", 0), ("eve", "phone-1", "own", 1000)])
async def test_any_mix_of_sessions_and_handles_has_one_holder(
    world: World, walk: list[tuple[str, str, str, int]]
) -> None:
    """Two stateless clients and one with a session tap two phones, with their own handle, without, or with another's.

    Every answer is what one plain table of holders says; steps of time are thousandths of a TTL, around the TTL.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    clients = {
        "eve": await host.client("eve", era="modern"),
        "mia": await host.client("mia", era="modern"),
        "bob": await host.client("bob"),
    }
    held: dict[str, tuple[str, float]] = {}
    for name, device_id, way, thousandths in walk:
        if thousandths:
            await world.until(world.now_s + thousandths * host.ttl_s / 1000)
        client = clients[name]
        owner, until_s = held.get(device_id, ("", 0.0))
        owner = owner if world.now_s < until_s else ""
        holds = owner == name
        others = clients["mia" if name == "eve" else "eve"].handles.get(device_id)
        if name == "bob":
            expected = "served" if owner in ("", "bob") else "busy"
        elif way == "none" or (way == "own" and device_id not in client.handles):
            client.handles.pop(device_id, None)
            expected = "busy" if owner else "served"
        elif way == "own":
            expected = "served" if holds else ("busy" if owner else "unknown")
        elif others is None:
            continue
        else:
            client.handles[device_id] = others
            # Whoever presents the handle is its holder: a handle that was given away is given away.
            expected = "inherits" if owner and owner != "bob" and owner != name else ("busy" if owner else "unknown")
            if expected == "inherits" or holds:
                return
        answer = await client.tap(device_id)
        said = {"device_busy": "busy", "unknown_handle": "unknown"}.get(str(answer.reason), "served")
        assert said == expected, f"{name} on {device_id} ({way}) at t={world.now_s:.3f}: {answer}, expected {expected}"
        if answer.ok:
            held[device_id] = (name, world.now_s + host.ttl_s)
            world.saw("a handle in use" if name != "bob" else "a session in use")
