"""The laws on a live target: in real time, on one event loop beside pytest, waits of different subjects overlapped.

An inconclusive timing is repeated at most twice, a failure once; a failure that does not come again stays one, marked
`1 of 2` when the second play passed. Source: contract laws, "Real time".
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from lasttick.checks import Verdict
from lasttick.engine.clock import SystemClock
from lasttick.engine.trace import Event, Redactor, Trace
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.target import Target
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown, some_case
from lasttick.laws.wire.message import WireError
from lasttick.targets.outcome import Inconclusive

TIMINGS = 3
"""How often a timing is tried."""
AT_ONCE = 8
CLOSE_S = 30.0
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LawPlay:
    """One law to be played: its function, how long it takes there, whether it judges the whole run, and whether it
    restarts a target that can be.
    """

    law: str
    function: Callable[..., Awaitable[None]]
    seconds: Callable[[Profile], float]
    invariant: bool = False
    restarts: bool = False


@dataclass(slots=True)
class LawEnd:
    """How a law ended: its error (None: it holds), its history, and how many cases it judged."""

    error: BaseException | None = None
    events: list[Event] = field(default_factory=list)
    cases: tuple[str, ...] = ()
    judged: str = ""
    real_s: float = 0.0
    plays: int = 0


class LiveRun:
    """`make` builds the deployment on the loop of this run. `budget_s`: None for no limit."""

    def __init__(self, make: Callable[[], Awaitable[Deployment]], *, budget_s: float | None = None) -> None:
        self._make = make
        self._budget_s = budget_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lasttick-live", daemon=True)
        self._thread.start()
        self._began_s = self._loop.time()
        self._deployment: Deployment | None = None
        self._making = asyncio.Lock()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._running: list[Future[LawEnd]] = []

    def start(self, plays: Sequence[LawPlay]) -> list[Future[LawEnd]]:
        """Play them all, invariants when all others are over, and what restarts the target before them, each alone; a
        future each, in their order.
        """
        ends: dict[int, Future[LawEnd]] = {}
        for number, play in sorted(
            enumerate(plays), key=lambda numbered: (numbered[1].invariant, numbered[1].restarts)
        ):
            after = list(ends.values()) if play.invariant or play.restarts else []
            ends[number] = asyncio.run_coroutine_threadsafe(self._play(play, after), self._loop)
        self._running += ends.values()
        return [ends[number] for number in range(len(plays))]

    def close(self, finish: Callable[[Deployment], Awaitable[None]]) -> None:
        """Stop what still runs; every law gives up what it holds. `finish` comes last, on the same loop."""
        for future in self._running:
            future.cancel()
        waiting = asyncio.run_coroutine_threadsafe(self._settle(finish), self._loop)
        try:
            waiting.result(CLOSE_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(CLOSE_S)
            self._loop.close()

    async def _settle(self, finish: Callable[[Deployment], Awaitable[None]]) -> None:
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        await asyncio.gather(*others, return_exceptions=True)
        if self._deployment is not None:
            await finish(self._deployment)

    async def _play(self, play: LawPlay, after: Sequence[Future[LawEnd]]) -> LawEnd:
        deployment = await self._deployed()
        if play.invariant or can_restart(deployment.profile):
            for story in after:
                await asyncio.wait([asyncio.wrap_future(story)])
        async with self._slots:
            needs_s = play.seconds(deployment.profile)
            end = LawEnd()
            began_s = self._loop.time()
            if (left_s := self._left_s()) < needs_s:
                end.error = NotShown(
                    f"needs {needs_s:.0f} s and {max(left_s, 0):.0f} s of the budget of {self._budget_s:g} s are left; "
                    f"run lasttick check --only {play.law}, or with a larger --budget"
                )
                return end
            await self._repeat(play, deployment, end)
            end.real_s = self._loop.time() - began_s
            return end

    async def _repeat(self, play: LawPlay, deployment: Deployment, end: LawEnd) -> None:
        failure: LawFailed | None = None
        while True:
            error = await self._once(play, deployment, end)
            if failure is not None:
                end.error = failure if isinstance(error, LawFailed) else _once_only(failure, error)
                return
            end.error = error
            again = isinstance(error, NotShown) and error.timing and end.plays < TIMINGS
            if isinstance(error, LawFailed):
                failure = error
            elif not again:
                return

    async def _once(self, play: LawPlay, deployment: Deployment, end: LawEnd) -> BaseException | None:
        trace = Trace()
        start_s = self._loop.time()
        trace.redact = deployment.redact
        trace.use_clock(lambda: int((self._loop.time() - start_s) * NS), SystemClock().wall)
        trace.emit("harness", "example", None, number=end.plays + 1, arguments={})
        target = Target(deployment, play.law, trace)
        error: BaseException | None = None
        try:
            async with asyncio.timeout(max(self._left_s(), 0.001) if self._budget_s is not None else None):
                await play.function(target)
            some_case(target.cases)
        except (LawFailed, Inconclusive, NotApplicable) as raised:
            error = raised
        except TimeoutError as raised:
            if self._left_s() > 0:
                error = _mistake(raised)
            else:
                error = NotShown(f"the budget of {self._budget_s:g} s was over before it was decided")
        except Exception as raised:
            error = _mistake(raised)
        finally:
            await asyncio.shield(target.close())
            end.plays += 1
            end.events += trace.events
            end.cases = tuple(target.cases)
            end.judged = target.judged
        return _redacted(error, deployment.redact)

    async def _deployed(self) -> Deployment:
        async with self._making:
            if self._deployment is None:
                self._deployment = await self._make()
            return self._deployment

    def _left_s(self) -> float:
        return float("inf") if self._budget_s is None else self._budget_s - (self._loop.time() - self._began_s)


def can_restart(profile: Profile) -> bool:
    return profile.reach("system.restart") is not None


def _once_only(failure: LawFailed, second: BaseException | None) -> LawFailed:
    """What the second play was, beside the first one's failure: a play that showed nothing is no pass."""
    why = str(second).partition("\n")[0]
    told = "1 of 2: it did not fail again" if second is None else f"the second play showed nothing: {why}"
    return LawFailed(f"{failure.reason} ({told})", failure.said)


def _redacted(error: BaseException | None, redact: Redactor) -> BaseException | None:
    """Without the secrets that a command or an address may have brought into its reason."""
    if isinstance(error, LawFailed):
        return LawFailed(redact(error.reason), error.said)
    if isinstance(error, NotShown):
        return NotShown(redact(error.reason), error.said, timing=error.timing)
    return error


def _mistake(error: Exception) -> NotShown:
    """What is no verdict is a mistake of the law, of the harness or of the profile: it shows nothing of the target."""
    if isinstance(error, WireError):
        return NotShown(str(error))
    return NotShown(f"the law could not be played: {type(error).__name__}: {error}")


class LiveScenario:
    """What the plugin's judge reads of a law that was played live: the shape of a `ScenarioRun`."""

    checks: tuple[Verdict, ...] = ()
    virtual_s = 0.0
    examples = 1
    failed = 0
    arguments: Mapping[str, str] | None = None

    def __init__(self, end: LawEnd) -> None:
        self.events = end.events
