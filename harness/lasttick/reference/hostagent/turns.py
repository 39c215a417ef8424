"""Which of one holder's calls may go to the device now? One after the other, in the order in which they came.

Source: contract hostagent, ruling 12.
"""

from __future__ import annotations

import asyncio
from collections import deque

from lasttick.model.lease import Holder
from lasttick.ports import Clock


class Turns:
    """Whose turn is it on a device, among the calls of one holder? First in, first out (ruling 12)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: dict[tuple[str, Holder], deque[asyncio.Future[bool]]] = {}

    async def take(self, device_id: str, holder: Holder, wait_s: float) -> bool:
        """Wait for the turn; False when it did not come within `wait_s`. A cancelled waiter leaves the line."""
        line = self._lines.get((device_id, holder))
        if line is None:
            self._lines[(device_id, holder)] = deque()
            return True
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line.append(turn)
        timer = asyncio.ensure_future(self._clock.sleep(wait_s))

        def too_late(_: object) -> None:
            if not turn.done():
                turn.set_result(False)

        timer.add_done_callback(too_late)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.result():  # cancelled in the instant in which the turn came
                self.give(device_id, holder)
            raise
        finally:
            timer.cancel()
            if turn in line:
                line.remove(turn)

    def give(self, device_id: str, holder: Holder) -> None:
        """The call whose turn it was has ended: the next in line, if any, goes."""
        line = self._lines.pop((device_id, holder), None)
        while line:
            turn = line.popleft()
            if not turn.done():
                self._lines[(device_id, holder)] = line
                turn.set_result(True)
                return
