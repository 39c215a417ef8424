"""Which devices does this host agent drive, and which of them is nobody allowed to drive right now?

There is no default manager anywhere: the seed's module-level one silently served the wrong devices (D12, HA-12), so
every part gets its manager as an argument.
"""

from __future__ import annotations

import logging
from typing import Any

from lasttick.model import errors
from lasttick.model import status as status_rules
from lasttick.model.lease import Holder
from lasttick.ports import DeviceDriver, DriverError

log = logging.getLogger(__name__)


class DeviceManager:
    """The drivers by device id, and the quarantine marks of ruling 13."""

    def __init__(self) -> None:
        self._drivers: dict[str, DeviceDriver] = {}
        self._quarantine: dict[str, str] = {}

    def register(self, driver: DeviceDriver) -> None:
        """Add a device. Raises ValueError when its id is taken."""
        device_id = driver.info.device_id
        if device_id in self._drivers:
            raise ValueError(
                f"device {errors.shown(device_id)} is registered already; expected every device id once per host agent "
                "(contract hostagent, Parts); rename one of the two or drop it from the rack"
            )
        self._drivers[device_id] = driver

    def get(self, device_id: str) -> DeviceDriver:
        """The driver of a device. Raises ToolError `unknown_device`."""
        driver = self._drivers.get(device_id)
        if driver is None:
            raise errors.unknown_device(device_id)
        return driver

    def list(self) -> list[DeviceDriver]:
        """All drivers, sorted by device id."""
        return [self._drivers[device_id] for device_id in sorted(self._drivers)]

    def quarantine(self, device_id: str, reason: str) -> None:
        """From now on calls are refused: nobody knows what the device is doing."""
        self._quarantine[device_id] = reason

    def lift_quarantine(self, device_id: str) -> None:
        self._quarantine.pop(device_id, None)

    def quarantined(self, device_id: str) -> str | None:
        """Why the device is in quarantine (`driver_stuck`), or None."""
        return self._quarantine.get(device_id)


async def describe(driver: DeviceDriver) -> dict[str, Any]:
    """What a device is, and its driver's health: {device_id, platform, scale, width_px, height_px, health}."""
    info = driver.info
    try:
        health = await driver.health()
    except DriverError as error:
        log.debug("device %s cannot say its health: %s", info.device_id, error)
        health = "error"
    return {
        "device_id": info.device_id,
        "platform": info.platform,
        "scale": info.scale,
        "width_px": info.width_px,
        "height_px": info.height_px,
        "health": health,
    }


def with_status(row: dict[str, Any], owner: Holder | None, quarantine: str | None) -> dict[str, Any]:
    """A row of `describe` as agents and people see it: `status` and `owner` of D6 instead of the raw health."""
    shown = {key: value for key, value in row.items() if key != "health"}
    display = status_rules.display_status(row["health"], owner, quarantine is not None)
    return {**shown, "status": display.status, "owner": display.owner}
