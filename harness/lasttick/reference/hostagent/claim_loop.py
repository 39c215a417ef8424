"""How do assignments come from the cloud, and how does it hear of their end?

One long poll after the other; each assignment runs in a task of its own, up to a bound, so that a refused one is
reported while others still run. A report is tried a bounded number of times: after that the cloud's own attempt budget
decides. Source: hostagent parts table (cloud), HA-09.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from lasttick.ports import Clock
from lasttick.reference.hostagent import assignments
from lasttick.reference.hostagent.assignments import AssignmentExecutor, Failure, Outcome
from lasttick.reference.hostagent.cloud_client import CloudClient, CloudError, CloudRefused, HostUnknown

REPORTS_MAX = 5
BACKOFF_S = 1.0
BACKOFF_MAX_S = 30.0
PACE_S = 1.0
"""At least this long between two claims that brought nothing, however fast the cloud answers."""

logger = logging.getLogger(__name__)


class ClaimLoop:
    """Claims and runs assignments until cancelled. `registered` is the heartbeat's: nothing is claimed without it."""

    def __init__(
        self,
        *,
        cloud: CloudClient,
        executor: AssignmentExecutor,
        host_id: str,
        clock: Clock,
        registered: asyncio.Event,
        wait_s: int,
        assignments_max: int,
    ) -> None:
        self._cloud = cloud
        self._executor = executor
        self._host_id = host_id
        self._clock = clock
        self._registered = registered
        self._wait_s = wait_s
        self._slots = asyncio.Semaphore(assignments_max)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._failures = 0

    async def run(self) -> None:
        """For ever. Cancelling it cancels the assignments that run."""
        try:
            while True:
                await self._slots.acquire()  # claim only what can start at once
                data = await self._claim()
                if data is None or not self._start(data):
                    self._slots.release()
        finally:
            tasks = list(self._running.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _claim(self) -> Mapping[str, Any] | None:
        """One long poll. None when it brought nothing, after a pause if that came too soon."""
        await self._registered.wait()
        started_ns = self._clock.now_ns()
        try:
            data = await self._cloud.claim(self._host_id, self._wait_s)
        except HostUnknown:
            self._registered.clear()  # the next heartbeat registers again
            return None
        except CloudError as error:
            logger.debug("claim failed: %s", error)
            await self._back_off()
            return None
        except Exception:
            logger.exception("claim failed")
            await self._back_off()
            return None
        self._failures = 0
        if data is None:
            await self._clock.sleep(max(0.0, PACE_S - (self._clock.now_ns() - started_ns) / 1e9))
        return data

    async def _back_off(self) -> None:
        await self._clock.sleep(min(BACKOFF_S * 2**self._failures, BACKOFF_MAX_S))
        self._failures = min(self._failures + 1, 10)

    def _start(self, data: Mapping[str, Any]) -> bool:
        """Run it in a task, which gives its slot back. False when there is nothing to run."""
        assignment_id = data.get("assignment_id")
        if not isinstance(assignment_id, str) or not assignment_id:
            logger.warning("the cloud sent an assignment without an id; nothing to report it under")
            return False
        if assignment_id in self._running:
            return False  # delivered twice: it runs already, and reports once
        task = asyncio.get_running_loop().create_task(self._one(assignment_id, data))
        self._running[assignment_id] = task
        task.add_done_callback(lambda _: self._ended(assignment_id))
        return True

    def _ended(self, assignment_id: str) -> None:
        del self._running[assignment_id]
        self._slots.release()

    async def _one(self, assignment_id: str, data: Mapping[str, Any]) -> None:
        try:
            outcome = await self._executor.execute(assignments.parse(data))
        except Failure as error:
            outcome = Outcome("failed", str(error))
        await self._report(assignment_id, outcome)

    async def _report(self, assignment_id: str, outcome: Outcome) -> None:
        for tried in range(REPORTS_MAX):
            if tried:
                await self._clock.sleep(BACKOFF_S * 2 ** (tried - 1))
            try:
                await self._cloud.report(assignment_id, outcome.status, outcome.failure_reason)
                return
            except CloudRefused as error:
                logger.warning("the cloud refuses the result of assignment %s: %s", assignment_id, error)
                return
            except CloudError as error:
                last = error
        logger.warning("the result of assignment %s stays untold after %d tries: %s", assignment_id, REPORTS_MAX, last)
