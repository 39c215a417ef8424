"""A virtual world: its time, its host agents' life and death, and its trouble."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick_fakes.client import LostTransport

from .worlds import play, told

# -- time


def test_until_and_advance_settle_before_and_after() -> None:
    async def story(world: Any) -> None:
        seen: list[tuple[float, str]] = []

        async def errand(name: str, wait_s: float) -> None:
            seen.append((world.now_s, f"{name} begins"))
            await asyncio.sleep(wait_s)
            seen.append((world.now_s, f"{name} ends"))

        world.start(errand("a", 10))
        await world.until(0)
        assert seen == [(0, "a begins")]
        await world.advance(10)
        assert seen[-1] == (10, "a ends")
        world.start(errand("b", 5))
        await world.until(12.5)
        assert (world.now_s, seen[-1]) == (12.5, (10, "b begins"))

    play(story)


@pytest.mark.parametrize("back_s", [0.001, 5.0])
def test_the_past_is_refused(back_s: float) -> None:
    async def story(world: Any) -> None:
        await world.advance(10)
        with pytest.raises(ValueError, match=r"lies .* s in the past \(now 10.*\); expected a time not before now"):
            await world.until(10 - back_s)
        with pytest.raises(ValueError, match="in the past"):
            await world.advance(-back_s)
        assert world.now_s == 10

    play(story)


def test_many_ticks_end_where_they_should() -> None:
    async def story(world: Any) -> None:
        for n in range(1, 1001):
            await world.until(n * world.tick_s)
        assert world.now_s == 1.0

    play(story)


# -- life and death of a host agent


def test_stop_answers_what_it_can_and_frees_nothing_it_should_not() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        alice = await host.client("alice")
        await alice.tap("phone-1")
        await host.stop()
        with pytest.raises(LostTransport):
            await alice.tap("phone-1")

    events = play(story)
    assert [event.kind for event in events if event.kind.startswith("part.")] == ["part.start", "part.stop"]
    assert told(events, "call.end")[-1].data["reason"] == "lost"


def test_stop_with_a_call_in_flight() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        alice = await host.client("alice")
        await world.device("phone-1").slow("tap", 100)
        call = alice.begin_tap("phone-1")
        await world.advance(1)
        began_s = world.now_s
        await host.stop()
        assert world.now_s - began_s <= 5, "an orderly stop ends within 5 s"
        await world.settle()
        assert call.done
        await world.advance(120)
        assert world.device("phone-1").running == 0

    play(story)


def test_kill_takes_no_time_and_the_device_goes_on() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        alice = await host.client("alice")
        phone = world.device("phone-1")
        await phone.slow("tap", 10)
        call = alice.begin_tap("phone-1")
        await world.advance(1)
        await host.kill()
        assert world.now_s == 1
        with pytest.raises(LostTransport):
            await call
        assert phone.running == 1
        await world.advance(20)
        assert phone.running == 0
        assert phone.last_end_s == 10

    play(story)


def test_a_killed_host_tells_nobody_anything() -> None:
    async def story(world: Any) -> None:
        await world.cloud()
        host = await world.hostagent()
        await world.advance(host.heartbeat_s * 2)
        await host.kill()
        at_s = world.now_s
        await world.advance(host.heartbeat_s * 4)
        world.saw(str(at_s))
        assert [event for event in told(world.trace.events, "cloud.heartbeat") if event.t_s > at_s] == []

    play(story)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_restart_keeps_folder_token_and_address(end: str) -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        url, token = host.url, host.token
        alice = await host.client("alice")
        await alice.tap("phone-1")
        await getattr(host, end)()
        await host.restart()
        assert (host.url, host.token) == (url, token)
        assert (await alice.tap("phone-1")).http_status == 404
        assert await host.busy() == []
        assert (await (await host.client("bob")).tap("phone-1")).ok

    events = play(story)
    parts = [event.kind for event in events if event.kind.startswith("part.")]
    assert parts == ["part.start", f"part.{end}", "part.start", "part.stop"]
    assert told(events, "session.end")[0].data["lost"] is True


def test_restart_of_a_running_host_stops_it_first() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        await host.restart()
        assert (await (await host.client()).tap("phone-1")).ok

    parts = [event.kind for event in play(story) if event.kind.startswith("part.")]
    assert parts == ["part.start", "part.stop", "part.start", "part.stop"]


def test_what_does_not_run_cannot_end() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        await host.stop()
        for end in (host.stop, host.kill):
            with pytest.raises(AssertionError, match="hostagent does not run"):
                await end()

    play(story)


def test_two_hosts_have_names_folders_and_addresses_of_their_own() -> None:
    async def story(world: Any) -> None:
        one = await world.hostagent(devices=["phone-1"])
        two = await world.hostagent(devices=["phone-2=ios@3"])
        assert one.url != two.url
        assert one.token != two.token
        assert (two.options.name, two.options.identity_dir.name) == ("hostagent-2", "host-2")
        assert (await (await two.client()).call("tap", device_id="phone-1", x=1, y=1)).reason == "unknown_device"

    play(story)


def test_a_second_host_on_a_folder_is_refused_and_the_first_goes_on() -> None:
    async def story(world: Any) -> None:
        one = await world.hostagent()
        with pytest.raises(StartRefused, match=r"another host agent \(pid \d+\) runs in .*expected one host agent per"):
            await world.hostagent(identity_dir=one.options.identity_dir)
        assert (await (await one.client()).tap("phone-1")).ok

    play(story)


def test_an_option_that_does_not_exist_is_told() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(TypeError, match="ttl_seconds"):
            await world.hostagent(ttl_seconds=3)

    play(story)


def test_secrets_never_reach_the_trace() -> None:
    secrets: list[str] = []

    async def story(world: Any) -> None:
        host = await world.hostagent()
        alice, bob = await host.client("alice"), await host.client("bob")
        await host.status()
        await alice.tap("phone-1")
        refused = await bob.tap("phone-1")
        secrets.extend([host.token, alice.raw.session_id, bob.raw.session_id, alice.raw.session_id[:8]])
        assert alice.raw.session_id[:8] in refused.error.data["busy_owner"]
        world.trace.emit("harness", "trouble", None, said=f"Bearer {host.token} of {alice.raw.session_id}")

    text = str([event.as_json() for event in play(story)])
    for secret in secrets:
        assert secret not in text
    assert "mcp_session:session-1" in text
    assert "Bearer [token] of session-1" in text


# -- trouble


def test_delay_is_seeded_and_in_the_trace() -> None:
    async def story(world: Any) -> None:
        world.trouble.delay(0.1, 0.5)
        host = await world.hostagent()
        alice = await host.client("alice")
        began_s = world.now_s
        assert (await alice.tap("phone-1")).ok
        # There and back, from the client to the host and from the host to the rack.
        assert 0.4 <= world.now_s - began_s <= 2.0

    one, again, other = play(story), play(story), play(story, seed=2)
    assert one == again
    assert [event.t_ns for event in one] != [event.t_ns for event in other]
    assert told(one, "trouble")[0].data == {"what": "delay", "low_s": 0.1, "high_s": 0.5}


def test_the_wall_steps_drifts_and_stands_and_leases_do_not_care() -> None:
    async def story(world: Any) -> None:
        host = await world.hostagent()
        alice, bob = await host.client("alice"), await host.client("bob")
        await alice.tap("phone-1")
        end_s = world.now_s
        before = world.clock.wall()
        world.trouble.step(-86_400)
        assert (world.clock.wall() - before).total_seconds() == -86_400
        await world.advance(1)
        world.trouble.suspend(3_600)
        assert (world.clock.wall() - before).total_seconds() == pytest.approx(-86_400 + 1 + 3_600)
        world.trouble.wall.drift(1.0)
        await world.advance(10)
        assert (world.clock.wall() - before).total_seconds() == pytest.approx(-86_400 + 1 + 3_600 + 20)
        world.trouble.wall.pause()
        stood = world.clock.wall()
        await world.until(end_s + host.ttl_s - world.tick_s)
        assert world.clock.wall() == stood
        assert (await bob.tap("phone-1")).reason == "device_busy"
        await world.until(end_s + host.ttl_s)
        assert (await bob.tap("phone-1")).ok

    what = [event.data["what"] for event in told(play(story), "trouble")]
    assert what == ["wall-step", "suspend"]


def test_shuffle_is_seeded() -> None:
    order: dict[int, list[str]] = {}

    def story_of(seed: int) -> Any:
        async def story(world: Any) -> None:
            world.trouble.shuffle()
            names: list[str] = []

            async def errand(name: str) -> None:
                for _ in range(3):
                    await asyncio.sleep(1)
                    names.append(name)

            for name in "abcdef":
                world.start(errand(name))
            await world.advance(10)
            order[seed] = names

        return story

    play(story_of(1), seed=1)
    first = order[1]
    play(story_of(1), seed=1)
    assert order[1] == first
    play(story_of(2), seed=2)
    assert order[2] != first


@pytest.mark.parametrize("trouble", ["slow", "hang", "disconnect", "crash", "heal"])
def test_trouble_of_a_device_goes_through_its_wire_and_into_the_trace(trouble: str) -> None:
    async def story(world: Any) -> None:
        await world.hostagent()
        arguments = ("tap", 3) if trouble == "slow" else ()
        await getattr(world.device("phone-1"), trouble)(*arguments)

    (event,) = told(play(story), "trouble")
    assert (event.data["device_id"], event.data["kind"]) == ("phone-1", trouble)


def test_trouble_of_a_device_that_is_not_there() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(AssertionError, match=r"gave HTTP 404: .*unknown device 'phone-9'"):
            await world.device("phone-9").hang()

    play(story)


def test_a_phone_that_did_nothing_has_no_last_end() -> None:
    async def story(world: Any) -> None:
        await world.hostagent()
        with pytest.raises(AssertionError, match=r"no driver call of phone-1 has ended by t=0\.000"):
            _ = world.device("phone-1").last_end_s
        with pytest.raises(Inconclusive, match="why"):
            world.inconclusive("why")

    play(story)
