"""What becomes of the calls that wait for somebody else when the platform is told to stop?

A third party may take 20 s and an agent minutes; a stop may not. What waits is let go and answered, while the ledger
and the runs can still be written: no row stays open and no run active because of a stop. The same holds for work that
goes on while nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from lasttick.model.tool_call import Refusal
from lasttick.reference.gateway.http_json import Refused

STOP_S = 1.0

STOPPING = Refusal(
    503,
    "PLATFORM_STOPPING",
    "the platform is stopping, and nobody knows whether this was done; expected one that stays; ask the next one",
)

T = TypeVar("T")

logger = logging.getLogger(__name__)


class InFlight:
    """The waits of one platform."""

    def __init__(self) -> None:
        self._waits: dict[asyncio.Task[Any], None] = {}
        self._alone: dict[asyncio.Task[None], None] = {}
        self._stopped = False
        self._idle = asyncio.Event()

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Raises Refused (503) when the platform stops before it is there."""
        if self._stopped:
            work.close()
            raise Refused(STOPPING)
        task = asyncio.ensure_future(work)
        self._waits[task] = None
        try:
            return await task
        except asyncio.CancelledError:
            waiter = asyncio.current_task()
            if not self._stopped or (waiter is not None and waiter.cancelling()):
                raise
            raise Refused(STOPPING) from None
        finally:
            del self._waits[task]
            if not self._waits:
                self._idle.set()

    def go_on(self, work: Coroutine[Any, Any, Any]) -> None:
        """Let `work`, which waits as above, come to its end alone. What goes wrong in it is logged."""
        task = asyncio.ensure_future(_logged(work))
        self._alone[task] = None
        task.add_done_callback(lambda done: self._alone.pop(done))

    async def stop(self) -> None:
        """Let go of everything, and give those who waited the time to write it down."""
        self._stopped = True
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                if self._waits:
                    self._idle.clear()
                    for task in self._waits:
                        task.cancel()
                    await self._idle.wait()
                if self._alone:
                    await asyncio.wait(list(self._alone))


async def _logged(work: Coroutine[Any, Any, Any]) -> None:
    try:
        await work
    except Refused as refused:
        logger.warning("a turn ended without an answer: %s", refused.refusal.message)
    except Exception as error:
        # Its text may hold what was said in the turn.
        logger.error("a turn ended without an answer: %s", type(error).__name__)
