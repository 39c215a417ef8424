"""Which tools does the host agent have, what do they take, and what do they do on a device when nobody looks at leases?

The schemas are both what `tools/list` tells agents and what `check_arguments` enforces, from one table (HA-22).
Leases, turns and time limits are the business of `calls.py`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model import errors, geometry
from lasttick.reference.hostagent import devices
from lasttick.reference.hostagent.devices import DeviceManager

ToolHandler = Callable[..., Awaitable[dict[str, Any]]]

DEVICE_ID = {"type": "string", "minLength": 1, "maxLength": 200, "description": "A device_id of list_devices."}
COORDINATE = {
    "type": "number",
    "minimum": 0,
    "maximum": 1_000_000,
    "description": "Tap units: pixels on Android, points on iOS; see tap_point in the results of find_text.",
}
DURATION_MS = {"type": "integer", "minimum": 0, "maximum": 60_000, "description": "How long the finger moves, ms."}


def _text(minimum: int, maximum: int, description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": minimum, "maxLength": maximum, "description": description}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `leased`: it needs the device; `gives_pixels`: its result holds pixels, so it also gives `scale`."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    optional: tuple[str, ...] = ()
    leased: bool = True
    gives_pixels: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """A closed JSON Schema object."""
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.properties.items()},
            "required": [name for name in self.properties if name not in self.optional],
            "additionalProperties": False,
        }


_ONE_DEVICE = {"device_id": DEVICE_ID}
_SPECS = (
    ToolSpec("take_screenshot", "A PNG of the device's screen, in pixels.", _ONE_DEVICE, gives_pixels=True),
    ToolSpec(
        "tap",
        "Tap one point. Coordinates are tap units; take them from a tap_point.",
        {**_ONE_DEVICE, "x": COORDINATE, "y": COORDINATE},
    ),
    ToolSpec(
        "swipe",
        "Move a finger from (x1, y1) to (x2, y2), in tap units.",
        {
            **_ONE_DEVICE,
            "x1": COORDINATE,
            "y1": COORDINATE,
            "x2": COORDINATE,
            "y2": COORDINATE,
            "duration_ms": DURATION_MS,
        },
        optional=("duration_ms",),
    ),
    ToolSpec(
        "input_text",
        "Type text into the focused field.",
        {**_ONE_DEVICE, "text": _text(0, 10_000, "What to type.")},
    ),
    ToolSpec(
        "launch_app", "Start an app or bring it to the front.", {**_ONE_DEVICE, "app": _text(1, 200, "The app's name.")}
    ),
    ToolSpec(
        "find_text",
        "Where a text stands on the screen: bounds in pixels, tap_point in tap units.",
        {**_ONE_DEVICE, "text": _text(1, 10_000, "The text to look for.")},
        gives_pixels=True,
    ),
    ToolSpec(
        "find_icon",
        "Where an icon is on the screen: bounds in pixels, tap_point in tap units.",
        {**_ONE_DEVICE, "icon": _text(1, 200, "The icon's name.")},
        gives_pixels=True,
    ),
    ToolSpec(
        "get_ui_tree",
        "The screen's widgets as a tree: bounds in pixels, tap_point in tap units.",
        _ONE_DEVICE,
        gives_pixels=True,
    ),
    ToolSpec("describe_screen", "The screen in words.", _ONE_DEVICE),
    ToolSpec("list_devices", "All devices with their display status; takes no lease.", {}, leased=False),
    ToolSpec("device_status", "One device with its display status; takes no lease.", _ONE_DEVICE, leased=False),
)
TOOLS: dict[str, ToolSpec] = {spec.name: spec for spec in _SPECS}


def is_leased(tool: str) -> bool:
    """Whether a call of it needs the device; False for a tool that does not exist."""
    return tool in TOOLS and TOOLS[tool].leased


def check_arguments(tool: str, arguments: Mapping[str, Any]) -> ToolSpec:
    """The tool's spec, if it exists and takes these arguments. Raises ToolError `unknown_tool` or `bad_arguments`.

    Reads the keywords the table above uses. A general validator costs 20 times as much per call; a test proves that
    both agree, but for NaN and lone surrogates, which are no JSON and are refused here.
    """
    spec = TOOLS.get(tool)
    if spec is None:
        raise errors.unknown_tool(tool)
    for name, value in arguments.items():
        schema = spec.properties.get(name)
        if schema is None:
            raise errors.bad_arguments(tool, name, "not an argument of this tool", _names(spec))
        if not _fits(value, schema):
            raise errors.bad_arguments(tool, name, _seen(value), _expectation(schema))
    for name, schema in spec.properties.items():
        if name not in arguments and name not in spec.optional:
            raise errors.bad_arguments(tool, name, "missing", _expectation(schema))
    return spec


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    if schema["type"] == "string":
        if not isinstance(value, str) or not schema["minLength"] <= len(value) <= schema["maxLength"]:
            return False
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if not schema["minimum"] <= value <= schema["maximum"]:  # False for NaN, and exact for integers of any size
        return False
    return schema["type"] == "number" or value == math.floor(value)


def _expectation(schema: Mapping[str, Any]) -> str:
    if schema["type"] == "string":
        return f"a string of {schema['minLength']} to {schema['maxLength']} Unicode characters"
    kind = "an integer" if schema["type"] == "integer" else "a number"
    return f"{kind} from {schema['minimum']} to {schema['maximum']}"


def _names(spec: ToolSpec) -> str:
    return "only " + ", ".join(spec.properties) if spec.properties else "no arguments"


def _seen(value: Any) -> str:
    """A value for a message: its kind, and the value where that is short."""
    if isinstance(value, str):
        return f"a string of {len(value)} characters"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else f"an integer of {value.bit_length()} bits"
    return repr(value) if isinstance(value, float) else f"of type {type(value).__name__}"


def tool_handlers(*, manager: DeviceManager, skill_catalog_store: object | None = None) -> dict[str, ToolHandler]:
    """Every tool as `async handler(**arguments) -> result`, on this manager's devices and on no others (D12, HA-12).

    `skill_catalog_store` is where skill tools would come from; the seed keeps the parameter and exposes none (D10).
    Raises TypeError when `manager` is not a DeviceManager.
    """
    if not isinstance(manager, DeviceManager):
        raise TypeError(
            f"tool_handlers got manager={manager!r}; expected the host agent's own DeviceManager (decision D12: "
            "there is no default one); call tool_handlers(manager=DeviceManager()) with your devices registered"
        )

    def leased(spec: ToolSpec) -> ToolHandler:
        async def handler(*, device_id: str, fence: int | None = None, **arguments: Any) -> dict[str, Any]:
            driver = manager.get(device_id)
            return _finished(spec, await driver.perform(spec.name, arguments, fence), driver.info.scale)

        return handler

    async def list_devices() -> dict[str, Any]:
        rows = await asyncio.gather(*(devices.describe(driver) for driver in manager.list()))
        return {"devices": rows}

    async def device_status(*, device_id: str) -> dict[str, Any]:
        return await devices.describe(manager.get(device_id))

    handlers = {name: leased(spec) for name, spec in TOOLS.items() if spec.leased}
    return {**handlers, "list_devices": list_devices, "device_status": device_status}


def _finished(spec: ToolSpec, result: Any, scale: int) -> dict[str, Any]:
    """A driver's result as the agent gets it. Raises ValueError when the driver answered something unusable."""
    if not isinstance(result, Mapping):
        raise ValueError(f"the driver answered {spec.name} with {type(result).__name__}; expected a JSON object")
    if spec.name == "take_screenshot" and not _is_base64(result.get("png_base64")):
        raise ValueError("the driver answered take_screenshot without png_base64; expected a PNG in base64")
    if spec.gives_pixels:
        return {**geometry.with_tap_points(result, scale), "scale": scale}
    return dict(result)


def _is_base64(value: Any) -> bool:
    """As far as the wire needs it: a decoder's complaint is the agent's to read."""
    return isinstance(value, str) and value.isascii()


def as_text(result: Mapping[str, Any]) -> str:
    """A result as JSON text. Raises ValueError when JSON cannot carry it."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text.encode()  # a lone surrogate from a driver: UnicodeEncodeError is a ValueError
    return text
