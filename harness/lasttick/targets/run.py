"""One run of one scenario: its examples, each in a fresh world, and the history of all of them.

The plugin calls `ScenarioRun.example` once for a plain scenario and once per Hypothesis example. Shrinking is not
traced: after the first failing example only the last one (the shrunk one, which Hypothesis replays) is kept.
Source: contract world, "Verdicts", "Trace event".
"""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import re
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.checks import seen, standing
from lasttick.engine.chance import derive
from lasttick.engine.loop import BOUND_S, VirtualLoop, run_virtual
from lasttick.engine.patches import deterministic
from lasttick.engine.trace import Event, Trace
from lasttick.targets.outcome import CheckFailed, Inconclusive, Overslept

if TYPE_CHECKING:
    from lasttick.checks import Verdict
    from lasttick.mutants import Mutant
    from lasttick.targets.world import World

TRIES = 3
"""How often an example is played whose real time went past an instant it waited for (contract laws, "Real time")."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
Scenario = Callable[..., Coroutine[Any, Any, None]]


class ScenarioRun:
    """`function` is the async test. `kept` holds the events of every traced example, in order."""

    def __init__(
        self,
        function: Scenario,
        *,
        scenario_id: str,
        seed: int,
        mode: str,
        mutant: Mutant | None = None,
        commands: Mapping[str, str] | None = None,
    ) -> None:
        self.function = function
        self.scenario_id = scenario_id
        self.seed = seed
        self.mode = mode
        self.mutant = mutant
        self.commands = commands or {}
        self.virtual_s = 0.0
        self.examples = 0
        self.failed = 0
        self.arguments: dict[str, Any] | None = None
        self.sights: dict[str, None] = {}
        self.discards: tuple[type[BaseException], ...] = ()
        """What is raised by an example that Hypothesis gives up: it counts for nothing."""
        self.artifacts: Callable[[], Path] | None = None
        """Where what the scenario leaves behind goes. None: it is not kept."""
        self.untold: tuple[str, ...] = ()
        """Arguments that no example chose, such as a fixture's folder: neither history nor seed depends on them."""
        self._kept: list[list[Event]] = []
        self._shrunk: list[Event] | None = None
        self._checks: dict[str, Verdict] = {}

    def example(self, **arguments: Any) -> None:
        """Play the scenario once. Raises what it raises, CheckFailed for a broken invariant, Inconclusive."""
        trace = Trace()
        shown = {name: _told(value) for name, value in arguments.items() if name not in self.untold}
        trace.emit("harness", "example", None, number=self.examples + 1, arguments=shown)
        seed = derive(self.seed, self.scenario_id, *(f"{name}={text}" for name, text in sorted(shown.items())))
        self.examples += 1
        try:
            self._play_and_judge(seed, trace, arguments)
        except self.discards:
            self.examples -= 1
            raise
        except BaseException:
            if not self.failed:
                self._kept.append(trace.events)
            else:
                self._shrunk = trace.events
            self.failed += 1
            self.arguments = shown
            raise
        if not self.failed:
            self._kept.append(trace.events)
            self.sights.update(dict.fromkeys(seen(trace.events)))

    @property
    def events(self) -> list[Event]:
        """All kept examples, numbered as one trace."""
        examples = self._kept if self._shrunk is None else [*self._kept, self._shrunk]
        return [replace(event, seq=seq) for seq, event in enumerate(event for kept in examples for event in kept)]

    @property
    def checks(self) -> list[Verdict]:
        """The worst verdict of each standing check over all examples."""
        return list(self._checks.values())

    def _play_and_judge(self, seed: int, trace: Trace, arguments: dict[str, Any]) -> None:
        start = list(trace.events)
        for left in reversed(range(TRIES)):
            try:
                self._play_once(seed, trace, arguments)
                return
            except Overslept:
                if not left:
                    raise
                trace.events[:] = start

    def _play_once(self, seed: int, trace: Trace, arguments: dict[str, Any]) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="lasttick-", dir=_scratch()) as folder:
                self._play(seed, trace, Path(folder), arguments)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Inconclusive, or a skip (which is no Exception): what the devices saw is worse than either.
            weak = isinstance(error, Inconclusive) or not isinstance(error, Exception)
            for verdict in self._judge(trace.events, broken_off=True):
                if verdict.verdict == "fail" and weak and not isinstance(error, self.discards):
                    raise CheckFailed(verdict.id, verdict.reason, verdict.t_s) from error
            raise
        for verdict in self._judge(trace.events):
            if verdict.verdict == "fail":
                raise CheckFailed(verdict.id, verdict.reason, verdict.t_s)
            if verdict.verdict == "inconclusive":
                raise Inconclusive(f"{verdict.id}: {verdict.reason}")

    def _play(self, seed: int, trace: Trace, folder: Path, arguments: dict[str, Any]) -> None:
        with ExitStack() as stack:
            if self.mutant is not None:
                stack.enter_context(self.mutant.applied())
            if self.mode == "virtual":
                self._play_virtual(seed, trace, folder, arguments)
            else:
                self._play_process(seed, trace, folder, arguments)

    def _play_virtual(self, seed: int, trace: Trace, folder: Path, arguments: dict[str, Any]) -> None:
        from lasttick.targets.virtual import VirtualWorld

        _freeze_heap()

        async def main(loop: VirtualLoop) -> None:
            world = VirtualWorld(loop, seed=seed, trace=trace, path=folder, mutant=self.mutant)
            with deterministic(world.chance, world.clock):
                await self._play_in(world, arguments)
            # A check in a task that nobody waits for must not fail in silence.
            for error in loop.unseen_failures():
                raise error

        run_virtual(main, bound_s=BOUND_S)

    def _play_process(self, seed: int, trace: Trace, folder: Path, arguments: dict[str, Any]) -> None:
        from lasttick.targets.process import ProcessWorld

        async def main() -> None:
            world = ProcessWorld(seed=seed, trace=trace, path=folder, mutant=self.mutant, commands=self.commands)
            try:
                await self._play_in(world, arguments)
            finally:
                world.write_history()

        asyncio.run(main())

    async def _play_in(self, world: World, arguments: dict[str, Any]) -> None:
        if self.artifacts is not None:
            world.artifacts = self.artifacts()
        try:
            await self.function(world=world, **arguments)
        except BaseException:
            await world.abandon()
            raise
        else:
            await world.close()
        finally:
            self.virtual_s += world.now_s
            self.sights.update(world.sights)

    def _judge(self, events: list[Event], *, broken_off: bool = False) -> list[Verdict]:
        """The standing checks on one example's trace. What they cannot tell of a story broken off is no finding."""
        verdicts = [check(events) for check in standing(events)]
        for verdict in verdicts:
            if broken_off and verdict.verdict == "inconclusive":
                continue
            before = self._checks.get(verdict.id)
            if before is None or _RANK[verdict.verdict] > _RANK[before.verdict]:
                self._checks[verdict.id] = verdict
        return verdicts


def _told(value: Any) -> str:
    """`repr` without what differs between processes: the order of a set and the address of an object."""
    if type(value) in (set, frozenset) and value:
        members = "{" + ", ".join(sorted(map(_told, value))) + "}"
        return members if type(value) is set else f"frozenset({members})"
    if type(value) in (list, tuple) and value:
        members = ", ".join(map(_told, value))
        return f"[{members}]" if type(value) is list else f"({members}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return "{" + ", ".join(f"{_told(key)}: {_told(member)}" for key, member in value.items()) + "}"
    return ADDRESS.sub("", repr(value))


@functools.cache
def _freeze_heap() -> None:
    """Once all is imported, the collector need never look at it again: a sixth of a suite's time."""
    gc.collect()
    gc.freeze()


def _scratch() -> str | None:
    """Identity files are synced to disk as they must be; where there is a disk of memory, that costs nothing."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK) else None


_RANK = {"not_applicable": 0, "pass": 1, "inconclusive": 2, "fail": 3}
