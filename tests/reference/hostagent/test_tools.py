"""The table of tools: names, schemas, what is refused, and whose devices are driven."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model import errors
from lasttick.reference.hostagent import devices, tools
from lasttick.reference.hostagent.devices import DeviceManager

from .server_rig import Rig, ScriptedDriver, with_rig

NAMES = [
    "take_screenshot",
    "tap",
    "swipe",
    "input_text",
    "launch_app",
    "find_text",
    "find_icon",
    "get_ui_tree",
    "describe_screen",
    "list_devices",
    "device_status",
]
NOT_LEASED = {"list_devices", "device_status"}


def test_the_table() -> None:
    assert list(tools.TOOLS) == NAMES
    assert {name for name, spec in tools.TOOLS.items() if not spec.leased} == NOT_LEASED
    for spec in tools.TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(spec.input_schema)
        assert spec.input_schema["additionalProperties"] is False
        assert ("device_id" in spec.properties) == (spec.name != "list_devices")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 70_000),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "ä中"]),
    st.just("x" * 201),
    st.just("x" * 10_001),
    st.lists(st.integers(), max_size=1),
    st.just({}),
)
ARGUMENTS = [*sorted({name for spec in tools.TOOLS.values() for name in spec.properties}), "other"]


@given(tool=st.sampled_from(NAMES), arguments=st.dictionaries(st.sampled_from(ARGUMENTS), VALUES, max_size=6))
def test_it_takes_exactly_what_its_schema_says(tool: str, arguments: dict[str, Any]) -> None:
    valid = jsonschema.Draft202012Validator(tools.TOOLS[tool].input_schema).is_valid(arguments)
    if valid:
        assert tools.check_arguments(tool, arguments) is tools.TOOLS[tool]
        return
    with pytest.raises(errors.ToolError) as caught:
        tools.check_arguments(tool, arguments)
    assert (caught.value.code, caught.value.reason) == (-32602, "bad_arguments")
    assert caught.value.data["argument"] in ARGUMENTS


@pytest.mark.parametrize(
    ("arguments", "argument", "says"),
    [
        ({"device_id": "p", "x": 1}, "y", "y is missing; expected a number from 0 to 1000000"),
        ({"device_id": "p", "x": True, "y": 1}, "x", "x is true; expected a number"),
        ({"device_id": "p", "x": float("nan"), "y": 1}, "x", "x is nan"),
        ({"device_id": "p", "x": float("-inf"), "y": 1}, "x", "x is -inf"),
        ({"device_id": "p", "x": 10**5000, "y": 1}, "x", "an integer of 16610 bits"),
        ({"device_id": "p", "x": -1, "y": 1}, "x", "x is -1"),
        ({"device_id": "p", "x": "1", "y": 1}, "x", "x is a string of 1 characters"),
        ({"device_id": "p", "x": [1], "y": 1}, "x", "x is of type list"),
        ({"device_id": "p", "x": None, "y": 1}, "x", "x is null"),
        ({"device_id": "", "x": 1, "y": 1}, "device_id", "expected a string of 1 to 200"),
        ({"device_id": "a\ud800", "x": 1, "y": 1}, "device_id", "Unicode"),
        ({"device_id": "p", "x": 1, "y": 1, "z": 1}, "z", "expected only device_id, x, y"),
        ({"device_id": "p", "x": 1, "y": 1, "\ud800": 1}, "\\ud800", "not an argument"),
    ],
)
def test_a_refusal_names_the_argument_and_what_was_expected(arguments: dict, argument: str, says: str) -> None:
    with pytest.raises(errors.ToolError) as caught:
        tools.check_arguments("tap", arguments)
    assert caught.value.data["argument"] == argument
    assert says in caught.value.message
    assert caught.value.message.startswith("bad arguments for tap: ")


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(errors.ToolError, match="unknown tool: no_such") as caught:
        tools.check_arguments("no_such", {})
    assert (caught.value.code, caught.value.reason) == (-32602, "unknown_tool")


@pytest.mark.parametrize("wrong", [None, object()])
def test_there_is_no_default_manager(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"expected .* D12.*; call tool_handlers\(manager="):
        tools.tool_handlers(manager=wrong)
    loaded = {name: module for name, module in sys.modules.items() if name.startswith("lasttick")}
    assert {tools.__name__, devices.__name__, "lasttick.reference.hostagent.agent"} <= loaded.keys()
    for name, module in loaded.items():
        kept = [label for label, value in vars(module).items() if isinstance(value, DeviceManager)]
        assert kept == [], f"{name} has a device manager of its own: {kept}"


def test_no_skill_tools_come_from_a_skill_catalog() -> None:
    assert list(tools.tool_handlers(manager=DeviceManager(), skill_catalog_store=object())) == NAMES


def test_two_managers_with_the_same_device_id_stay_apart() -> None:
    async def body(rig: Rig) -> None:
        other = DeviceManager()
        twin = ScriptedDriver("phone-1", rig.clock)
        twin.answers["describe_screen"] = {"screen": "twin"}
        other.register(twin)  # type: ignore[arg-type]
        mine = tools.tool_handlers(manager=rig.manager)
        theirs = tools.tool_handlers(manager=other)
        assert await theirs["describe_screen"](device_id="phone-1") == {"screen": "twin"}
        assert await mine["describe_screen"](device_id="phone-1") == {"ok": True}
        assert len(rig.phone.log) == 2

    with_rig(body)


def test_pixels_get_scale_and_tap_points() -> None:
    async def body(rig: Rig) -> None:
        handlers = tools.tool_handlers(manager=rig.manager)
        rig.ipad.answers["find_text"] = {"matches": [{"text": "OK", "bounds": [100, 100, 140, 120]}]}
        rig.ipad.answers["get_ui_tree"] = {"root": {"bounds": [0, 0, 100, 200], "children": []}}
        rig.ipad.answers["find_icon"] = {"matches": []}
        found = await handlers["find_text"](device_id="ipad-1", text="OK")
        assert found["scale"] == 2
        assert found["matches"][0]["tap_point"] == {"x": 60, "y": 55}
        tree = await handlers["get_ui_tree"](device_id="ipad-1")
        assert (tree["scale"], tree["root"]["tap_point"]) == (2, {"x": 25, "y": 50})
        assert await handlers["find_icon"](device_id="ipad-1", icon="x") == {"matches": [], "scale": 2}
        assert (await handlers["take_screenshot"](device_id="ipad-1"))["scale"] == 2
        assert await handlers["tap"](device_id="ipad-1", x=1, y=1) == {"ok": True}

    with_rig(body)


def test_a_manager_knows_its_devices_and_no_others() -> None:
    async def body(rig: Rig) -> None:
        assert [driver.info.device_id for driver in rig.manager.list()] == ["ipad-1", "phone-1"]
        assert rig.manager.get("phone-1") is rig.phone
        with pytest.raises(errors.ToolError, match="unknown device: phone-9"):
            rig.manager.get("phone-9")
        with pytest.raises(ValueError, match=r"device phone-1 is registered already; expected .*; rename"):
            rig.manager.register(ScriptedDriver("phone-1", rig.clock))  # type: ignore[arg-type]
        assert rig.manager.get("phone-1") is rig.phone

    with_rig(body)


def test_a_device_that_cannot_say_its_health_is_at_fault() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.state = "broken"
        rows = (await tools.tool_handlers(manager=rig.manager)["list_devices"]())["devices"]
        assert [(row["device_id"], row["health"]) for row in rows] == [("ipad-1", "ok"), ("phone-1", "error")]

    with_rig(body)


def test_as_text_refuses_what_json_cannot_carry() -> None:
    assert tools.as_text({"text": "Grüße"}) == '{"text":"Grüße"}'
    for bad in ({"x": float("nan")}, {"x": "\ud800"}):
        with pytest.raises(ValueError, match=r".+"):
            tools.as_text(bad)


def test_handlers_of_one_manager_may_run_side_by_side() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = rig.ipad.takes_s["tap"] = 5
        handlers = tools.tool_handlers(manager=rig.manager)
        await asyncio.gather(*(handlers["tap"](device_id=d, x=1, y=1) for d in ("phone-1", "ipad-1")))
        assert rig.loop.time() == 5

    with_rig(body)
