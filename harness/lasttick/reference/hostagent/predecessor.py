"""What if the host agent before us was killed while it drove a device?

Its leases are gone, but the device goes on with its action. Until the device itself reports the end, nobody may drive
it: two holders would meet on it (HA-05, crashes). So such a device starts in quarantine, like one whose driver hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from lasttick.ports import Clock, DeviceDriver
from lasttick.reference.hostagent.devices import DeviceManager

POLL_S = 1.0

logger = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def waited_out(manager: DeviceManager, clock: Clock) -> AsyncIterator[None]:
    """Quarantine the devices that still act for a predecessor, each until its action has ended."""
    watches = [asyncio.create_task(_watch(manager, driver, clock)) for driver in await _quarantined(manager)]
    try:
        yield
    finally:
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)


async def _quarantined(manager: DeviceManager) -> list[DeviceDriver]:
    left = [driver for driver in manager.list() if await driver.left_over()]
    for driver in left:
        logger.warning("device %s still acts for an earlier host agent; quarantined", driver.info.device_id)
        manager.quarantine(driver.info.device_id, "driver_stuck")
    return left


async def _watch(manager: DeviceManager, driver: DeviceDriver, clock: Clock) -> None:
    while await driver.left_over():
        await clock.sleep(POLL_S)
    logger.warning("device %s is idle again; out of quarantine", driver.info.device_id)
    manager.lift_quarantine(driver.info.device_id)
