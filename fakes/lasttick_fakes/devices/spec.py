"""How is a rack of devices written on a command line?

`phone-1=android,ipad-1=ios@2,phone-2`: ids with an optional platform (default android) and, for ios, an optional scale
(default 2). Source: contract world, "Devices are a part of their own".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lasttick.ports import DeviceInfo
from lasttick_fakes.devices.arguments import short
from lasttick_fakes.devices.layout import HEIGHT_PX, WIDTH_PX

FORM = "ID[=android|=ios[@2|@3]], separated by commas, as in phone-1=android,ipad-1=ios@2"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLATFORMS: dict[str, tuple[Literal["android", "ios"], int]] = {
    "android": ("android", 1),
    "ios": ("ios", 2),
    "ios@2": ("ios", 2),
    "ios@3": ("ios", 3),
}


class DeviceSpecError(ValueError):
    """The description of a rack cannot be read, or names a device twice. Three-part message."""


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device to be made. `scale`: pixels per tap unit, 1 on android, 2 or 3 on ios."""

    device_id: str
    platform: Literal["android", "ios"] = "android"
    scale: int = 1

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(self.device_id, self.platform, self.scale, WIDTH_PX, HEIGHT_PX)


def parse_devices(text: str) -> list[DeviceSpec]:
    """The devices in the order written. Raises DeviceSpecError."""
    specs = [_parse(part.strip(), text) for part in text.split(",")]
    refuse_duplicates(spec.device_id for spec in specs)
    return specs


def refuse_duplicates(device_ids: Iterable[str], known: Iterable[str] = ()) -> None:
    """Raises DeviceSpecError at the first id that is there already."""
    seen = dict.fromkeys(known)
    for device_id in device_ids:
        if device_id in seen:
            raise DeviceSpecError(
                f"device {device_id!r} is named twice; every device needs an id of its own; rename one"
            )
        seen[device_id] = None


def _parse(part: str, text: str) -> DeviceSpec:
    device_id, equals, platform = part.partition("=")
    if not part:
        raise DeviceSpecError(f"an empty device in {short(text)}; expected {FORM}; remove the comma or add an id")
    if not _ID.fullmatch(device_id):
        raise DeviceSpecError(
            f"{short(device_id)} is no device id; expected 1 to 64 letters, digits, '.', '_' or '-', a letter or digit "
            "first; rename the device"
        )
    if equals and platform not in _PLATFORMS:
        raise DeviceSpecError(
            f"device {device_id} has the platform {short(platform)}; expected {FORM}; "
            f"use one of {', '.join(_PLATFORMS)}"
        )
    return DeviceSpec(device_id, *_PLATFORMS[platform or "android"])
