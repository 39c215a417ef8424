"""What if another host agent was killed, or cut off, while it drove a device?

Its leases are gone, but the device goes on with its action. Until the device itself reports the end, nobody may drive
it: two holders would meet on it (HA-05, crashes). So such a device is in quarantine, like one whose driver hangs: from
the start on (`waited_out`), or from the moment at which it is taken out of a shared lease store (`watch`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from lasttick.ports import Clock, DeviceDriver, DriverError, StaleFence
from lasttick.reference.hostagent.devices import DeviceManager

POLL_S = 1.0

logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def waited_out(manager: DeviceManager, clock: Clock) -> AsyncIterator[None]:
    """Quarantine the devices that still act for a predecessor, each until its action has ended."""
    left = [driver for driver in manager.list() if await driver.left_over()]
    watches = [watch(manager, driver, driver.left_over, clock) for driver in left]
    try:
        yield
    finally:
        for one in watches:
            one.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


def watch(
    manager: DeviceManager, driver: DeviceDriver, acts: Callable[[], Awaitable[bool]], clock: Clock
) -> asyncio.Task[None]:
    """Quarantine a device now, until `acts` says that nothing runs there any more."""
    logger.warning("device %s still acts for another host agent; quarantined", driver.info.device_id)
    manager.quarantine(driver.info.device_id, "driver_stuck")
    return asyncio.create_task(_lift_when_idle(manager, driver, acts, clock))


async def acts_for_another(driver: DeviceDriver, fence: int) -> bool:
    """Whether an action of an earlier holder still runs. Not our business any more once a later holder has it."""
    try:
        return not await driver.claim(fence)
    except StaleFence:
        return False
    except DriverError:
        return True  # nobody knows what the device is doing


async def _lift_when_idle(
    manager: DeviceManager, driver: DeviceDriver, acts: Callable[[], Awaitable[bool]], clock: Clock
) -> None:
    while await acts():
        await clock.sleep(POLL_S)
    logger.warning("device %s is idle again; out of quarantine", driver.info.device_id)
    manager.lift_quarantine(driver.info.device_id)
