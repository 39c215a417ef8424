"""An event loop whose time is virtual: when nothing is ready it jumps to the next timer instead of waiting.

Real file descriptors are polled, never waited for. Worker threads are run inline, because the order in which threads
finish is not determinism. What cannot end, ends with a message: a bound in virtual seconds, a bound on turns without
time moving, and a deadlock report. Source: contract engine, "Loop and clock" and "Seeded scheduling".
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import selectors
import threading
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

BOUND_S = 3_600.0
TURNS_MAX = 500_000


class VirtualTimeError(Exception):
    """A world that would never end: says which bound was hit and what every task was waiting for."""


class NumberedTask(asyncio.Task[T]):
    """A task that hashes by the order of its creation, so that sets of tasks iterate alike in every process."""

    def __init__(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        loop: VirtualLoop,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> None:
        loop.tasks_made += 1
        self._number = loop.tasks_made
        self.stepped = False
        super().__init__(coro, loop=loop, name=name or f"task-{self._number}", context=context)
        loop.keep(self._number, self)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _JumpSelector(selectors.DefaultSelector):
    """Polls; when the loop would wait, tells the loop to settle or to jump."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events and (timeout is None or timeout > 0):
            self.loop.on_idle()
        elif self.loop.shuffle is not None:
            self.loop.permute_ready(self.loop.shuffle)
        self.loop.count_turn()
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """`shuffle`: a random stream that permutes ready task steps, or None for the plain order."""

    # asyncio's own fields, which its type stubs do not show.
    _ready: Any
    _scheduled: Any

    def __init__(self, *, bound_s: float = BOUND_S, shuffle: random.Random | None = None) -> None:
        selector = _JumpSelector()
        super().__init__(selector)
        selector.loop = self
        self.bound_s = bound_s
        self.shuffle = shuffle
        self.tasks_made = 0
        self._tasks: dict[int, NumberedTask[Any]] = {}
        self._tasks_max = 1_000
        self._now_s = 0.0
        self._turns = 0
        self._settlers: list[asyncio.Future[None]] = []
        self._thread = threading.get_ident()
        self.set_task_factory(_numbered_task)

    def time(self) -> float:
        return self._now_s

    # -- idle: settle first, then jump

    def on_idle(self) -> None:
        """Nothing is ready: wake who waits for quiet, else move time to the next timer."""
        if self._settlers:
            settlers, self._settlers = self._settlers, []
            for settler in settlers:
                if not settler.done():
                    settler.set_result(None)
            return
        if not self._scheduled:
            raise VirtualTimeError(_stuck(self, "no task can run and no timer is set: a deadlock", "a task waits for"))
        # Jump *to* the timer: adding the time-out misses it for one float in ten.
        target = max(self._now_s, self._scheduled[0]._when)
        if target > self.bound_s:
            what = f"virtual time would pass its bound of {self.bound_s:g} s (next timer at {target:g} s)"
            raise VirtualTimeError(_stuck(self, what, "the scenario waits for something that never comes:"))
        if target > self._now_s:
            self._now_s = target
            self._turns = 0

    def count_turn(self) -> None:
        self._turns += 1
        if self._turns > TURNS_MAX:
            self._turns = 0
            what = f"{TURNS_MAX} turns at {self._now_s:g} s without time moving: a busy loop"
            raise VirtualTimeError(_stuck(self, what, "a task spins without sleeping:"))

    async def settle(self) -> None:
        """Wait until nothing can run without time moving. Time does not move."""
        settler: asyncio.Future[None] = self.create_future()
        self._settlers.append(settler)
        await settler

    async def until(self, t_s: float) -> None:
        """Settle, wait for the instant `t_s` (loop time, seconds), settle. Raises ValueError for the past."""
        await self.settle()
        if t_s < self._now_s:
            raise ValueError(
                f"until({t_s!r}) lies {self._now_s - t_s:g} s in the past (now {self._now_s!r}); "
                "expected a time not before now; compute it from world.now_s"
            )
        if t_s > self._now_s:
            arrived: asyncio.Future[None] = self.create_future()
            timer = self.call_at(t_s, arrived.set_result, None)
            try:
                await arrived
            finally:
                timer.cancel()
        await self.settle()

    async def advance(self, seconds: float) -> None:
        """Settle, move time by `seconds`, settle."""
        await self.settle()
        await self.until(self._now_s + seconds)

    # -- tasks: asyncio.all_tasks would walk those of every loop there ever was

    def keep(self, number: int, task: NumberedTask[Any]) -> None:
        """A task was made. Those that are done and well are forgotten each time their number could have doubled."""
        self._tasks[number] = task
        if len(self._tasks) > self._tasks_max:
            self.forget_done()

    def forget_done(self) -> None:
        """Forget the tasks that are done and well now, and with them what they hold."""
        kept = {number: task for number, task in self._tasks.items() if not task.done() or unseen(task)}
        for number in self._tasks.keys() - kept.keys():
            asyncio.tasks._unregister_task(self._tasks[number])
        self._tasks = kept
        self._tasks_max = max(1_000, 2 * len(self._tasks))

    def forget_tasks(self) -> None:
        """The loop is over. asyncio keeps every task of every loop in one set until the collector comes by; ours of the
        next loop have the same hashes again, and each would be compared with all of these."""
        for task in self._tasks.values():
            asyncio.tasks._unregister_task(task)
        self._tasks.clear()

    def open_tasks(self) -> list[NumberedTask[Any]]:
        """Tasks not done, in the order of their creation."""
        return [task for task in self._tasks.values() if not task.done()]

    def unseen_failures(self) -> list[BaseException]:
        """What tasks raised that nobody has waited for or asked about, in the order of their creation."""
        failed = [task for task in self._tasks.values() if unseen(task)]
        return [error for task in failed if (error := task.exception()) is not None]

    # -- threads: inline, or an error

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                f"call_soon_threadsafe from thread {threading.current_thread().name!r} in a virtual world; expected "
                "only the loop's own thread, since thread timing is not reproducible; make the tool async, or run this "
                "scenario in process mode"
            )
        return self.call_soon(callback, *args, context=context)

    # -- seeded scheduling

    def permute_ready(self, stream: random.Random) -> None:
        """Permute the task steps that are ready; plain callbacks and a task's first step keep their order."""
        ready = list(self._ready)
        places, movable = [], []
        for place, handle in enumerate(ready):
            task = getattr(handle._callback, "__self__", None)
            if isinstance(task, NumberedTask):
                if task.stepped:
                    places.append(place)
                    movable.append(handle)
                task.stepped = True
        if len(movable) > 1:
            stream.shuffle(movable)
            for place, handle in zip(places, movable, strict=True):
                ready[place] = handle
            self._ready.clear()
            self._ready.extend(ready)


def run_virtual(
    main: Callable[[VirtualLoop], Coroutine[Any, Any, T]],
    *,
    bound_s: float = BOUND_S,
    shuffle: random.Random | None = None,
) -> T:
    """Run `main(loop)` on a fresh virtual loop; afterwards every task is cancelled and awaited, and the loop closed."""
    loop = VirtualLoop(bound_s=bound_s, shuffle=shuffle)
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main(loop))
    finally:
        try:
            _cancel_all(loop)
            loop.bound_s = float("inf")
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()
            loop.forget_tasks()


def _cancel_all(loop: VirtualLoop) -> None:
    tasks = loop.open_tasks()
    if not tasks:
        return
    for task in tasks:
        task.cancel()
    # What shields itself from cancellation may still sleep; give it a bounded virtual hour.
    loop.bound_s = loop.time() + BOUND_S
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def unseen(task: asyncio.Task[Any]) -> bool:
    """Whether asyncio would log "exception was never retrieved" for it."""
    return task.done() and bool(getattr(task, "_log_traceback", False))


def _numbered_task(
    loop: asyncio.AbstractEventLoop, coro: Any, context: contextvars.Context | None = None, **extra: Any
) -> NumberedTask[Any]:
    assert isinstance(loop, VirtualLoop)
    names: Mapping[str, Any] = {key: value for key, value in extra.items() if key == "name"}
    return NumberedTask(coro, loop=loop, context=context, **names)


def _stuck(loop: VirtualLoop, what: str, why: str) -> str:
    lines = [f"{what}. Expected an end within the scenario's bound (contract engine, 'Loop and clock')."]
    lines.append(f"Next: look at the tasks below ({why}) or raise bound_s.")
    for task in loop.open_tasks()[:40]:
        lines.append(f"  {task.get_name()}: {_innermost(task)}")
    return "\n".join(lines)


def _innermost(task: asyncio.Task[Any]) -> str:
    """Where the task waits: function and line of its innermost await."""
    place: Any = task.get_coro()
    where = getattr(place, "__qualname__", repr(place))
    while place is not None:
        frame = getattr(place, "cr_frame", None) or getattr(place, "gi_frame", None) or getattr(place, "ag_frame", None)
        if frame is not None:
            name = getattr(place, "__qualname__", frame.f_code.co_name)
            where = f"{name} ({frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno})"
        place = (
            getattr(place, "cr_await", None) or getattr(place, "gi_yieldfrom", None) or getattr(place, "ag_await", None)
        )
    return where
