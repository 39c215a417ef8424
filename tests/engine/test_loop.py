"""The virtual loop: each trap that the contract `engine` measured, as a test."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.to_thread
import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, VirtualTimeError, run_virtual
from lasttick.engine.patches import deterministic


def run(main, **options):
    return run_virtual(main, **options)


def test_ten_minutes_of_waiting_cost_next_to_nothing():
    async def main(loop: VirtualLoop) -> float:
        before = time.process_time()
        await asyncio.sleep(600)
        return time.process_time() - before

    # A bound with a wide margin on CPU time, not on wall time: a real wait would cost ten minutes.
    assert run(main) < 0.05


def test_loop_time_starts_at_zero():
    async def main(loop: VirtualLoop) -> float:
        return loop.time()

    assert run(main) == 0.0


@pytest.mark.parametrize("seconds", [0.1, 0.3, 1 / 3, 1e-9, 1e-3, 59.999, 86_400.1])
def test_a_timer_fires_exactly_at_its_own_float(seconds):
    """Jumping to the timer, not adding the time-out: t + (e - t) != e for many floats."""

    async def main(loop: VirtualLoop) -> list[float]:
        arrived = []
        for step in range(1, 40):
            when = step * seconds
            done = loop.create_future()
            loop.call_at(when, done.set_result, None)
            await done
            arrived.append(loop.time() - when)
        return arrived

    assert set(run(main, bound_s=1e9)) == {0.0}


def test_a_due_timer_runs_without_time_moving():
    async def main(loop: VirtualLoop) -> float:
        await asyncio.sleep(5)
        await asyncio.wait_for(loop.create_task(asyncio.sleep(0)), 1)
        loop.call_at(loop.time(), lambda: None)
        await asyncio.sleep(0)
        return loop.time()

    assert run(main) == 5.0


def test_settle_waits_for_what_is_ready_and_moves_no_time():
    async def main(loop: VirtualLoop) -> tuple[list[int], float]:
        seen: list[int] = []

        async def busy() -> None:
            for step in range(50):
                seen.append(step)
                await asyncio.sleep(0)
            await asyncio.sleep(1)
            seen.append(-1)

        task = asyncio.create_task(busy())
        await loop.settle()
        state = (list(seen), loop.time())
        task.cancel()
        return state

    assert run(main) == (list(range(50)), 0.0)


def test_advance_settles_jumps_and_settles():
    async def main(loop: VirtualLoop) -> list[float]:
        seen: list[float] = []

        async def later() -> None:
            await asyncio.sleep(10)
            await asyncio.sleep(0)
            seen.append(loop.time())

        asyncio.create_task(later())  # noqa: RUF006 (the loop cancels what is left)
        await loop.advance(10)
        return [*seen, loop.time()]

    assert run(main) == [10.0, 10.0]


def test_until_refuses_the_past():
    async def main(loop: VirtualLoop) -> None:
        await loop.until(3)
        await loop.until(2.5)

    with pytest.raises(ValueError, match=r"0\.5 s in the past"):
        run(main)


def test_the_bound_ends_a_scenario_with_its_tasks():
    """Deadlock is not "no timer left": something always ticks, so virtual time is bounded."""

    async def main(loop: VirtualLoop) -> None:
        async def heartbeat() -> None:
            while True:
                await asyncio.sleep(30)

        asyncio.create_task(heartbeat(), name="heartbeat")  # noqa: RUF006
        await loop.create_future()

    with pytest.raises(VirtualTimeError) as caught:
        run(main, bound_s=3600)
    assert "bound of 3600 s" in str(caught.value)
    assert "heartbeat: sleep (tasks.py" in str(caught.value)


def test_a_deadlock_names_the_tasks():
    async def main(loop: VirtualLoop) -> None:
        await asyncio.Event().wait()

    with pytest.raises(VirtualTimeError, match="deadlock"):
        run(main)


def test_a_busy_loop_is_bounded(monkeypatch):
    monkeypatch.setattr("lasttick.engine.loop.TURNS_MAX", 2_000)

    async def main(loop: VirtualLoop) -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(VirtualTimeError, match="busy loop"):
        run(main)


def test_executor_functions_run_inline_in_order():
    """Counting threads is not determinism: four threads finished in six orders."""

    async def main(loop: VirtualLoop) -> tuple[list[int], set[int]]:
        order: list[int] = []
        threads: set[int] = set()

        def work(number: int) -> int:
            order.append(number)
            threads.add(threading.get_ident())
            return number

        with ThreadPoolExecutor() as pool:
            await asyncio.gather(*(loop.run_in_executor(pool, work, n) for n in range(8)))
        await asyncio.to_thread(work, 8)
        return order, threads

    order, threads = run(main)
    assert order == list(range(9))
    assert threads == {threading.get_ident()}


def test_anyio_worker_threads_run_inline():
    async def main(loop: VirtualLoop) -> int:
        with deterministic(Chance(1), VirtualClock(loop)):
            return await anyio.to_thread.run_sync(threading.get_ident)

    assert run(main) == threading.get_ident()


def test_an_executor_exception_reaches_the_awaiter():
    def fail() -> None:
        raise KeyError("inside")

    async def main(loop: VirtualLoop) -> None:
        await loop.run_in_executor(None, fail)

    with pytest.raises(KeyError, match="inside"):
        run(main)


def test_call_soon_threadsafe_from_another_thread_is_an_error():
    async def main(loop: VirtualLoop) -> list[str]:
        said: list[str] = []

        def foreign() -> None:
            try:
                loop.call_soon_threadsafe(lambda: None)
            except RuntimeError as error:
                said.append(str(error))

        thread = threading.Thread(target=foreign, name="stranger")
        thread.start()
        thread.join()
        loop.call_soon_threadsafe(lambda: None)
        return said

    [message] = run(main)
    assert "stranger" in message
    assert "process mode" in message


def test_leftover_tasks_are_cancelled_and_awaited():
    ended = []

    async def main(loop: VirtualLoop) -> None:
        async def left() -> None:
            try:
                await asyncio.sleep(1_000)
            finally:
                await asyncio.sleep(2)
                ended.append(loop.time())

        asyncio.create_task(left())  # noqa: RUF006
        await asyncio.sleep(0)

    run(main)
    assert ended == [2.0]


def _interleaving(seed: int | None) -> list[str]:
    async def main(loop: VirtualLoop) -> list[str]:
        steps: list[str] = []

        async def walker(name: str) -> None:
            for step in range(4):
                steps.append(f"{name}{step}")
                await asyncio.sleep(0)

        await asyncio.gather(*(walker(name) for name in "abcd"))
        return steps

    shuffle = None if seed is None else Chance(seed).stream("schedule")
    return run(main, shuffle=shuffle)


def test_shuffle_is_seeded_and_differs_from_the_plain_order():
    plain = _interleaving(None)
    orders = {tuple(_interleaving(seed)) for seed in range(8)}
    assert len(orders) > 4
    assert all(_interleaving(seed) == _interleaving(seed) for seed in range(4))
    assert sorted(plain) == sorted(next(iter(orders)))


def test_a_tasks_first_step_keeps_creation_order_under_shuffle():
    for seed in range(20):
        firsts = [step for step in _interleaving(seed) if step.endswith("0")]
        assert firsts == ["a0", "b0", "c0", "d0"]


def test_shuffle_does_not_live_lock_anyio_cancellation():
    async def main(loop: VirtualLoop) -> str:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(anyio.sleep, 100)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
        return "left"

    for seed in range(20):
        assert run(main, shuffle=Chance(seed).stream("schedule")) == "left"
