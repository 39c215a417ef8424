"""Fake phones with real state, and their log, the judge of mutual exclusion."""

from lasttick_fakes.devices import trouble
from lasttick_fakes.devices.arguments import TOOLS, BadAction
from lasttick_fakes.devices.device import FakeDevice
from lasttick_fakes.devices.log import LogEntry
from lasttick_fakes.devices.rack import Rack, UnknownDevice
from lasttick_fakes.devices.rack_app import rack_app
from lasttick_fakes.devices.spec import DeviceSpec, DeviceSpecError, parse_devices
from lasttick_fakes.devices.trouble import BadTrouble, Trouble

__all__ = [
    "TOOLS",
    "BadAction",
    "BadTrouble",
    "DeviceSpec",
    "DeviceSpecError",
    "FakeDevice",
    "LogEntry",
    "Rack",
    "Trouble",
    "UnknownDevice",
    "parse_devices",
    "rack_app",
    "trouble",
]
