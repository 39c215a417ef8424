"""Where do the fake devices of a run stand, and who keeps their log?

A rack makes devices, finds them by id and owns the one log they all write to. It is a `ports.Drivers`: in the memory
rung a host takes its drivers from it directly, without HTTP; `rack_app` puts the same rack behind a wire. Devices are
cheap (a thousand in a few milliseconds): a fresh one shares its state and its pictures with all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lasttick.ports import Clock, DeviceDriver
from lasttick_fakes.devices.arguments import short
from lasttick_fakes.devices.device import FakeDevice
from lasttick_fakes.devices.log import Log, LogEntry
from lasttick_fakes.devices.spec import DeviceSpec, refuse_duplicates


class UnknownDevice(LookupError):
    """No such device in this rack. Three-part message."""


class Rack:
    """A rack of fake devices over one clock.

    `on_log` gets every line of the log as it is written. `log_entries_max` bounds what is kept (None: everything).
    Raises DeviceSpecError for an id that occurs twice.
    """

    def __init__(
        self,
        clock: Clock,
        devices: Iterable[DeviceSpec] = (),
        *,
        on_log: Callable[[LogEntry], None] | None = None,
        log_entries_max: int | None = None,
    ) -> None:
        self.log = Log(clock, on_log, log_entries_max)
        self._clock = clock
        self._devices: dict[str, FakeDevice] = {}
        self.add(devices)

    @property
    def devices(self) -> list[FakeDevice]:
        """In the order in which they were added."""
        return list(self._devices.values())

    def device(self, device_id: str) -> FakeDevice:
        """Raises UnknownDevice."""
        if device_id not in self._devices:
            raise UnknownDevice(
                f"unknown device {short(device_id)}; this rack has {len(self._devices)} others; list them first"
            )
        return self._devices[device_id]

    def add(self, devices: Iterable[DeviceSpec]) -> list[FakeDevice]:
        """Put more devices in: all of them, or none. Raises DeviceSpecError."""
        specs = list(devices)
        refuse_duplicates((spec.device_id for spec in specs), self._devices)
        added = [FakeDevice(spec.info, self._clock, self.log) for spec in specs]
        self._devices.update((device.info.device_id, device) for device in added)
        return added

    def clear(self) -> None:
        """Take every device out, switched off, and begin a new log: the next scenario's rack."""
        self.close()
        self._devices.clear()
        self.log.clear()

    async def drivers(self) -> Sequence[DeviceDriver]:
        """The devices as drivers, for a host in the same process."""
        return self.devices

    def close(self) -> None:
        """Switch every device off: running actions end as "stopped", so that each start in the log has its end."""
        for device in self._devices.values():
            device.stop()
