"""Do the seed's tracker methods keep the rulings, from any thread, and is waiting fair, exact and never a lie?"""

from __future__ import annotations

import asyncio
import heapq
import math
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick.model.lease import Granted, Holder, Refused
from lasttick.reference.hostagent.busy_tracker import McpBusyTracker, McpDeviceLease, WaitingLine
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore

TTL_S = 60.0
START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Time moves in `advance` only, from sleeper to sleeper, and lets every task run up to its next wait in between."""

    def __init__(self) -> None:
        self.t_ns = 0
        self.sleeps = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ns(self) -> int:
        return self.t_ns

    def wall(self) -> datetime:
        return START + timedelta(microseconds=self.t_ns // 1000)

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.t_ns + round(seconds * 1e9), self.sleeps, future))
        await future

    async def settle(self) -> None:
        for _ in range(30):
            await asyncio.sleep(0)

    async def advance(self, seconds: float) -> None:
        await self.settle()
        end_ns = self.t_ns + round(seconds * 1e9)
        while self._sleepers and self._sleepers[0][0] <= end_ns:
            assert self.sleeps < 10_000, "a wait spins"
            self.t_ns, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
            await self.settle()
        self.t_ns = end_ns
        await self.settle()


class Bench:
    """A tracker over a store with a fake clock, and waits that note when they ended."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryLeaseStore(self.clock, TTL_S)
        self.tracker = McpBusyTracker.over(self.store)
        self.ended: list[tuple[str, bool, float]] = []

    def wait(
        self, session_id: str, timeout: float = math.inf, cloud: Callable[[], bool] | None = None, poll_s: float = 1.0
    ) -> asyncio.Task[bool]:
        async def body() -> bool:
            result = await self.tracker.wait_until_usable(
                "phone-1", session_id, timeout=timeout, poll_interval=poll_s, cloud_busy_check=cloud
            )
            self.ended.append((session_id, result, self.clock.t_ns / 1e9))
            if result:
                assert self.owner() == session_id, "True means: holds it now"
            return result

        return asyncio.ensure_future(body())

    async def result(self, wait: asyncio.Task[bool]) -> bool:
        """What the wait answered; it must have ended by now."""
        await self.clock.settle()
        assert wait.done(), "still waiting"
        return wait.result()

    def owner(self) -> str | None:
        return next((lease.session_id for lease in self.tracker.snapshot() if lease.device_id == "phone-1"), None)

    def check_nothing_left(self) -> None:
        assert self.store.table.lines == {}
        assert asyncio.all_tasks() == {asyncio.current_task()}


def run(story: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def body() -> None:
        bench = Bench()
        await story(bench)
        await bench.clock.settle()
        bench.check_nothing_left()

    asyncio.run(body())


def test_the_seeds_methods_at_the_boundary() -> None:
    clock = FakeClock()
    tracker = McpBusyTracker(clock=clock, ttl_seconds=60)
    assert tracker.acquire("phone-1", "alice")
    assert tracker.acquire("phone-2", "alice")
    clock.t_ns = 30_000_000_000
    assert tracker.renew("phone-1", "alice") is True
    assert tracker.renew("phone-1", "bob") is False
    assert tracker.acquire("phone-1", "bob") is False
    assert tracker.release_device("phone-1", "bob") is False
    clock.t_ns = 60_000_000_000 - 1
    assert tracker.busy_device_ids() == ["phone-1", "phone-2"]
    clock.t_ns = 60_000_000_000
    assert tracker.busy_device_ids() == ["phone-1"]
    assert tracker.snapshot() == [McpDeviceLease("phone-1", "alice", START, START + timedelta(seconds=30))]
    assert tracker.acquire("phone-2", "bob") is True
    assert tracker.release("alice") == ["phone-1"]
    assert tracker.release("alice") == []
    assert tracker.acquire("phone-1", "alice") is False
    assert tracker.renew("phone-1", "alice") is False
    assert tracker.release_device("phone-2", "bob") is True
    assert tracker.busy_device_ids() == []


def test_cloud_holds_are_refused_to_sessions_and_not_reported_as_theirs() -> None:
    async def story(bench: Bench) -> None:
        await bench.store.begin_use("phone-1", Holder("cloud", "assignment-1"))
        assert bench.tracker.acquire("phone-1", "alice") is False
        assert bench.tracker.busy_device_ids() == []
        assert bench.tracker.snapshot() == []

    run(story)


def test_a_free_device_is_ours_at_once() -> None:
    async def story(bench: Bench) -> None:
        assert await bench.tracker.wait_until_usable("phone-1", "alice", timeout=0) is True
        assert bench.owner() == "alice"
        assert await bench.tracker.wait_until_usable("phone-1", "alice", timeout=0) is True
        assert await bench.tracker.wait_until_usable("phone-1", "bob", timeout=0) is False
        assert bench.clock.sleeps == 0

    run(story)


@pytest.mark.parametrize("timeout", [-1.0, -1e-9, math.nan])
def test_a_time_out_that_makes_no_sense_is_refused(timeout: float) -> None:
    async def story(bench: Bench) -> None:
        with pytest.raises(ValueError, match=r"timeout is .* s\. It must be .*ruling HA-16.* Pass"):
            await bench.tracker.wait_until_usable("phone-1", "alice", timeout=timeout)
        with pytest.raises(ValueError, match=r"poll_interval is .* s\. It must be .*ruling HA-16.* Leave"):
            await bench.tracker.wait_until_usable("phone-1", "alice", timeout=1, poll_interval=timeout)

    run(story)


def test_a_wait_ends_exactly_at_the_expiry_without_polling() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        wait = bench.wait("bob")
        await bench.clock.advance(TTL_S - 0.001)
        assert not wait.done()
        await bench.clock.advance(10)
        assert bench.ended == [("bob", True, TTL_S)]
        assert bench.clock.sleeps == 1

    run(story)


def test_a_wait_follows_the_holders_renewals() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob")
        await bench.clock.advance(40)
        bench.tracker.renew("phone-1", "alice")
        await bench.clock.advance(100)
        assert bench.ended == [("bob", True, 100.0)]

    run(story)


def test_a_pinned_device_wakes_nobody_until_its_call_and_the_ttl_are_over() -> None:
    async def story(bench: Bench) -> None:
        alice = Holder("mcp", "alice")
        await bench.store.begin_use("phone-1", alice)
        bench.wait("bob")
        await bench.clock.advance(90)
        assert bench.clock.sleeps == 0
        await bench.store.end_use("phone-1", alice)
        await bench.clock.advance(100)
        assert bench.ended == [("bob", True, 150.0)]

    run(story)


@pytest.mark.parametrize(("timeout", "result"), [(59.999, False), (60.0, True), (60.001, True)])
def test_the_last_try_is_at_the_time_out(timeout: float, result: bool) -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob", timeout)
        await bench.clock.advance(100)
        assert bench.ended == [("bob", result, min(timeout, TTL_S))]

    run(story)


def test_first_in_first_out() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        waits = [bench.wait(session) for session in ("bob", "carol", "dave")]
        await bench.clock.settle()
        for holder, next_one in [("alice", "bob"), ("bob", "carol"), ("carol", "dave")]:
            await bench.clock.advance(1)
            bench.tracker.release_device("phone-1", holder)
            assert bench.owner() == next_one, "handed over before the waiter itself runs"
        assert [await bench.result(wait) for wait in waits] == [True, True, True]
        assert bench.ended == [("bob", True, 1.0), ("carol", True, 2.0), ("dave", True, 3.0)]

    run(story)


def test_a_line_has_one_alarm_however_often_the_device_is_handed_on() -> None:
    """Each hand-over would otherwise wake the next in line only to set an alarm of its own."""

    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        sessions = [f"session-{n}" for n in range(20)]
        waits = [bench.wait(session) for session in sessions]
        await bench.clock.settle()
        for holder in ["alice", *sessions[:9]]:
            await bench.clock.advance(1)
            bench.tracker.release_device("phone-1", holder)
        await bench.clock.settle()
        assert bench.clock.sleeps == 1
        await bench.clock.advance(10_000)  # the others keep it until it expires
        assert bench.ended == [
            *((f"session-{n}", True, n + 1.0) for n in range(10)),
            *((f"session-{n}", True, 10 + (n - 9) * TTL_S) for n in range(10, 20)),
        ]
        await asyncio.gather(*waits)

    run(story)


def test_a_wait_of_an_ended_session_is_over_at_once_wherever_it_stands() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        for session in ("bob", "carol", "bob"):
            bench.wait(session)
        await bench.clock.advance(1)
        bench.tracker.release("bob")
        bench.wait("bob")
        await bench.clock.advance(1)
        assert bench.ended == [("bob", False, 1.0), ("bob", False, 1.0), ("bob", False, 1.0)]
        await bench.clock.advance(100)
        assert bench.ended[3:] == [("carol", True, TTL_S)]

    run(story)


@pytest.mark.parametrize("newcomer", ["acquire", "wait", "begin_use", "cloud"])
def test_nobody_passes_the_line_at_the_expiry(newcomer: str) -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        wait = bench.wait("bob")
        await bench.clock.settle()
        bench.clock.t_ns = 60_000_000_000  # the newcomer runs first; bob's own alarm has not rung
        if newcomer == "acquire":
            assert bench.tracker.acquire("phone-1", "carol") is False
        elif newcomer == "wait":
            assert await bench.tracker.wait_until_usable("phone-1", "carol", timeout=0) is False
        else:
            asker = Holder("cloud", "a-1") if newcomer == "cloud" else Holder("mcp", "carol")
            assert await bench.store.begin_use("phone-1", asker) == Refused("phone-1", Holder("mcp", "bob"), "held")
        assert bench.owner() == "bob"
        assert await bench.result(wait) is True

    run(story)


def test_a_cancelled_wait_leaves_the_line() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bob, _carol = bench.wait("bob"), bench.wait("carol")
        await bench.clock.settle()
        bob.cancel()
        await bench.clock.advance(100)
        assert bob.cancelled()
        assert bench.ended == [("carol", True, TTL_S)]

    run(story)


def test_a_hand_over_to_a_cancelled_wait_goes_to_the_next() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bob, carol = bench.wait("bob"), bench.wait("carol")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        assert bench.owner() == "bob"
        bob.cancel()
        assert await bench.result(carol) is True
        assert bob.cancelled()

    run(story)


def test_a_hand_over_to_the_only_wait_cancelled_frees_the_device() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bob = bench.wait("bob")
        await bench.clock.settle()
        bench.tracker.release("alice")
        bob.cancel()
        await bench.clock.settle()
        assert bench.owner() is None

    run(story)


def test_a_hand_over_that_its_session_gave_back_is_not_true() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob")
        carol = bench.wait("carol")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        bench.tracker.release_device("phone-1", "bob")
        assert await bench.result(carol) is True
        assert bench.ended == [("carol", True, 0.0)]
        bench.tracker.release_device("phone-1", "carol")
        await bench.clock.settle()
        assert bench.ended[1:] == [("bob", True, 0.0)]

    run(story)


def test_a_hand_over_to_a_session_that_ended_before_it_ran_is_not_true() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        assert bench.tracker.release("bob") == ["phone-1"]
        await bench.clock.settle()
        assert bench.ended == [("bob", False, 0.0)]

    run(story)


def test_a_hand_over_that_expired_before_its_waiter_ran_is_taken_again_or_waited_for() -> None:
    async def story(bench: Bench) -> None:
        for newcomer in (False, True):
            bench.tracker.acquire("phone-1", "alice")
            wait = bench.wait("bob")
            await bench.clock.settle()
            bench.tracker.release_device("phone-1", "alice")
            bench.clock.t_ns += 60_000_000_000  # the loop stood still
            if newcomer:
                assert bench.tracker.acquire("phone-1", "carol") is True
                await bench.clock.settle()
                assert not wait.done()
                bench.tracker.release_device("phone-1", "carol")
            assert await bench.result(wait) is True
            bench.tracker.release_device("phone-1", "bob")

    run(story)


def test_a_waiter_that_lost_its_hand_over_stands_in_the_line_that_others_see() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        wait = bench.wait("bob")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        # Before bob runs: a visitor finds nobody in line and clears it away, and bob's session gives the phone back.
        assert await bench.tracker.wait_until_usable("phone-1", "dave", timeout=0) is False
        bench.tracker.release_device("phone-1", "bob")
        assert bench.tracker.acquire("phone-1", "carol") is True
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "carol")
        assert await bench.result(wait) is True

    run(story)


def test_a_cancelled_wait_does_not_give_on_a_device_its_session_is_using() -> None:
    async def story(bench: Bench) -> None:
        bob = Holder("mcp", "bob")
        bench.tracker.acquire("phone-1", "alice")
        wait = bench.wait("bob")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        await bench.store.begin_use("phone-1", bob)
        wait.cancel()
        await bench.clock.advance(90)
        await bench.store.end_use("phone-1", bob)
        assert bench.owner() == "bob"

    run(story)


def test_all_waits_of_a_session_end_when_it_gets_the_device() -> None:
    """Also those further back: they pass nobody. One of them cancelled does not take the device from the other."""

    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        first, other, second = bench.wait("bob"), bench.wait("carol"), bench.wait("bob")
        await bench.clock.settle()
        bench.tracker.release_device("phone-1", "alice")
        first.cancel()
        assert await bench.result(second) is True
        assert not other.done()
        bench.tracker.release_device("phone-1", "bob")
        assert await bench.result(other) is True

    run(story)


def test_a_session_that_ends_while_it_waits_gets_false_at_once() -> None:
    async def story(bench: Bench) -> None:
        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob")
        bench.wait("carol")
        await bench.clock.advance(5)
        bench.tracker.release("bob")
        await bench.clock.advance(100)
        assert bench.ended == [("bob", False, 5.0), ("carol", True, TTL_S)]
        assert await bench.tracker.wait_until_usable("phone-2", "bob", timeout=math.inf) is False

    run(story)


def test_a_busy_cloud_is_asked_again_at_each_interval_and_only_while_it_is_busy() -> None:
    async def story(bench: Bench) -> None:
        asked: list[float] = []

        def cloud_is_busy() -> bool:
            asked.append(bench.clock.t_ns / 1e9)
            bench.tracker.busy_device_ids()  # the question may use the tracker: it is not put inside its lock
            return bench.clock.t_ns < 65_000_000_000

        bench.tracker.acquire("phone-1", "alice")
        bench.wait("bob", cloud=cloud_is_busy, poll_s=2.0)
        carol = bench.wait("carol")
        await bench.clock.advance(63)
        assert bench.tracker.acquire("phone-1", "dave") is False, "kept for the first in line"
        decision = await bench.store.acquire("phone-1", Holder("mcp", "dave"))
        assert decision == Refused("phone-1", Holder("mcp", "bob"), "held")
        await bench.clock.advance(10)
        assert asked == [60.0, 62.0, 64.0, 66.0]
        assert bench.ended == [("bob", True, 66.0)]
        carol.cancel()

    run(story)


def test_a_busy_cloud_and_a_time_out_of_zero() -> None:
    async def story(bench: Bench) -> None:
        asked: list[bool] = []

        def busy() -> bool:
            asked.append(True)
            return True

        wait = bench.tracker.wait_until_usable
        assert await wait("phone-1", "alice", timeout=0, cloud_busy_check=busy) is False
        assert await wait("phone-1", "alice", timeout=0, cloud_busy_check=lambda: False) is True
        assert await wait("phone-1", "alice", timeout=0, cloud_busy_check=busy) is False, "ours, but the cloud is on it"
        assert len(asked) == 2
        assert bench.owner() == "alice"

    run(story)


def test_a_question_to_the_cloud_that_fails_leaves_the_line() -> None:
    async def story(bench: Bench) -> None:
        def fails() -> bool:
            raise RuntimeError("status tracker gone")

        with pytest.raises(RuntimeError, match="status tracker gone"):
            await bench.tracker.wait_until_usable("phone-1", "alice", timeout=5, cloud_busy_check=fails)
        assert bench.tracker.acquire("phone-1", "bob") is True

    run(story)


def test_a_true_without_a_lease_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant wait-returns-unheld, at the seam `WaitingLine.take`."""
    monkeypatch.setattr(WaitingLine, "take", lambda self, now_ns, waiter: "fresh")

    async def body() -> None:
        bench = Bench()
        assert await bench.tracker.wait_until_usable("phone-1", "alice", timeout=0) is True
        assert bench.owner() is None
        assert bench.tracker.acquire("phone-1", "bob") is True

    asyncio.run(body())


Act = tuple[str, int]


@settings(max_examples=150, deadline=None)
@given(
    acts=st.lists(
        st.tuples(
            st.sampled_from(["wait", "wait", "wait_5s", "ask", "acquire", "release", "cancel", "end", "tick", "ttl"]),
            st.integers(0, 4),
        ),
        max_size=25,
    ),
    settles=st.booleans(),
)
@example(acts=[("wait", 0), ("ask", 0), ("ask", 0), ("tick", 0)], settles=False)
def test_waiting_is_fair_and_loses_nothing_in_any_history(acts: list[Act], settles: bool) -> None:
    """True only for the holder (checked by every wait), one holder, and no device free while a session waits for it."""

    async def story(bench: Bench) -> None:
        waits: list[asyncio.Task[bool]] = []
        cloud_busy = [False]
        polling = False
        for act, n in acts:
            session_id = f"session-{n}"
            if act == "wait":
                waits.append(bench.wait(session_id))
            elif act == "wait_5s":
                waits.append(bench.wait(session_id, 5))
            elif act == "ask":
                cloud_busy[0] = n < 2
                polling = polling or cloud_busy[0]
                waits.append(bench.wait(session_id, cloud=lambda: cloud_busy[0]))
            elif act == "acquire":
                bench.tracker.acquire("phone-1", session_id)
            elif act == "release":
                bench.tracker.release_device("phone-1", bench.owner() or "nobody")
            elif act == "cancel" and waits:
                waits[n % len(waits)].cancel()
            elif act == "end" and n == 0:
                bench.tracker.release(session_id)
            elif act == "tick":
                await bench.clock.advance(1)
            elif act == "ttl":
                await bench.clock.advance(TTL_S)
            if settles:
                await bench.clock.settle()
                waiting = [wait for wait in waits if not wait.done()]
                assert bench.owner() is not None or not waiting or polling
        cloud_busy[0] = False
        for _ in range(len(waits) + 2):  # every wait for ever ends, each at the latest one TTL after the one before
            await bench.clock.advance(TTL_S + 1)
        assert all(wait.done() for wait in waits)
        for wait in waits:
            if not wait.cancelled():
                wait.result()

    run(story)


# Real threads. Nothing sleeps: they meet at locks, barriers and hand-overs.


class RealClock:
    def now_ns(self) -> int:
        return time.monotonic_ns()

    def wall(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def test_threads_never_hold_a_device_together() -> None:
    tracker = McpBusyTracker(clock=RealClock())
    inside: dict[str, list[str]] = {"phone-1": [], "phone-2": []}
    overlaps: list[list[str]] = []
    wins: dict[str, int] = {}
    start = threading.Barrier(6)

    def work(name: str) -> None:
        start.wait()
        for i in range(400):
            device_id = f"phone-{1 + i % 2}"
            if tracker.acquire(device_id, name):
                inside[device_id].append(name)
                if len(inside[device_id]) > 1:
                    overlaps.append(list(inside[device_id]))
                tracker.renew(device_id, name)
                tracker.busy_device_ids()
                inside[device_id].remove(name)
                tracker.release_device(device_id, name)
                wins[name] = wins.get(name, 0) + 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(f"session-{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert overlaps == []
    assert sum(wins.values()) >= 400
    assert tracker.busy_device_ids() == []


def test_waiters_in_loops_of_several_threads_pass_a_device_round() -> None:
    tracker = McpBusyTracker(clock=RealClock())
    tracker.acquire("phone-1", "main")
    inside: list[str] = []
    order: list[str] = []

    async def wait_and_pass_on(name: str) -> None:
        for _ in range(20):
            assert await tracker.wait_until_usable("phone-1", name, timeout=30)
            inside.append(name)
            order.append(name)
            assert inside == [name]
            inside.remove(name)
            tracker.release_device("phone-1", name)

    failures: list[BaseException] = []

    def thread_body(name: str) -> None:
        try:
            asyncio.run(wait_and_pass_on(name))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=thread_body, args=(f"session-{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    assert tracker.release_device("phone-1", "main") is True
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    assert len(order) == 60
    assert tracker._table.lines == {}


def test_a_granted_decision_is_what_the_store_says_too() -> None:
    async def story(bench: Bench) -> None:
        assert await bench.tracker.wait_until_usable("phone-1", "alice", timeout=1)
        again = await bench.store.begin_use("phone-1", Holder("mcp", "alice"))
        assert again == Granted("phone-1", Holder("mcp", "alice"), fresh=False)

    run(story)
