"""The eleven tools do what they say: what is found can be hit, and what is done can be seen."""

from __future__ import annotations

import base64
import io
from typing import Any

import jsonschema
import pytest
from PIL import Image

from lasttick import World, scenario

NAMES = [
    "describe_screen",
    "device_status",
    "find_icon",
    "find_text",
    "get_ui_tree",
    "input_text",
    "launch_app",
    "list_devices",
    "swipe",
    "take_screenshot",
    "tap",
]
DEVICES = {"android": "phone-1=android", "ios@2": "phone-1=ios@2", "ios@3": "phone-1=ios@3"}


@scenario("HA-22")
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_the_list_is_exactly_the_eleven_tools(world: World, era: str) -> None:
    """A client of either era asks which tools there are.
    It gets the eleven names, each with a description and a closed object schema, and no skill tools (D10)."""
    host = await world.hostagent()
    tools = await (await host.client("alice", era=era)).list_tools()
    assert sorted(tool["name"] for tool in tools) == NAMES
    for tool in tools:
        schema = tool["inputSchema"]
        assert len(tool["description"]) > 10, f"{tool['name']} needs a description"
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(schema)


async def points(client: Any, how: str) -> list[tuple[str, dict[str, float]]]:
    """Widget id -> where to tap it, as one of the tools says."""
    if how == "get_ui_tree":
        root = (await client.call("get_ui_tree", device_id="phone-1")).value["root"]
        return [(node["id"], node["tap_point"]) for node in leaves(root)]
    what = {"find_text": ("text", ["Messages", "Settings"]), "find_icon": ("icon", ["notes", "contacts"])}[how]
    found = []
    for wanted in what[1]:
        matches = (await client.call(how, device_id="phone-1", **{what[0]: wanted})).value["matches"]
        found += [(match["id"], match["tap_point"]) for match in matches]
    return found


def leaves(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [leaf for child in node["children"] for leaf in (leaves(child) if child["children"] else [child])]


@scenario("HA-22")
@pytest.mark.parametrize("how", ["find_text", "find_icon", "get_ui_tree"])
@pytest.mark.parametrize("device", list(DEVICES))
async def test_a_tap_at_the_point_that_a_tool_gave_hits_that_widget(world: World, device: str, how: str) -> None:
    """An agent finds widgets by text, by icon or in the tree, and taps the point that came with each.
    The device itself says which widget was hit, and it is that one, in pixels on Android and in points on iOS."""
    host = await world.hostagent(devices=[DEVICES[device]])
    alice = await host.client("alice")
    found = await points(alice, how)
    assert len(found) >= 2
    for widget, point in found:
        await alice.call("launch_app", device_id="phone-1", app="home")
        hit = (await alice.call("tap", device_id="phone-1", **point)).value["hit"]
        assert hit == widget, f"{how} on {device} gave {point} for {widget}, but the tap hit {hit}"


async def pixels(client: Any) -> bytes:
    """The decoded picture, so that a PNG that only differs in its encoding counts as the same."""
    answer = await client.call("take_screenshot", device_id="phone-1")
    png = base64.b64decode(answer.image_base64)
    picture = Image.open(io.BytesIO(png))
    assert picture.format == "PNG"
    size = answer.result["structuredContent"]
    assert picture.size == (size["width_px"], size["height_px"])
    return picture.convert("RGB").tobytes()


@scenario("HA-22")
@pytest.mark.parametrize("device", list(DEVICES))
async def test_what_is_done_shows_on_the_next_screenshot(world: World, device: str) -> None:
    """An agent launches an app, types into a field and swipes a list, with a screenshot before and after each.
    Each changes the decoded pixels; looking, without doing anything, changes none."""
    host = await world.hostagent(devices=[DEVICES[device]])
    alice = await host.client("alice")

    async def do(tool: str, **arguments: Any) -> None:
        before = await pixels(alice)
        assert await pixels(alice) == before, "two screenshots of one screen differ"
        answer = await alice.call(tool, device_id="phone-1", **arguments)
        assert answer.ok, answer.error
        assert await pixels(alice) != before, f"{tool} {arguments} changed nothing that one can see"

    await do("launch_app", app="notes")
    (title, *_) = (await alice.call("find_text", device_id="phone-1", text="Title")).value["matches"]
    await do("tap", **title["tap_point"])
    await do("input_text", text="Milk")
    await do("launch_app", app="contacts")
    shown = (await alice.call("describe_screen", device_id="phone-1")).value["text"]
    rows = leaves((await alice.call("get_ui_tree", device_id="phone-1")).value["root"])
    low, high = rows[-2]["tap_point"], rows[2]["tap_point"]
    await do("swipe", x1=low["x"], y1=low["y"], x2=high["x"], y2=high["y"])
    assert (await alice.call("describe_screen", device_id="phone-1")).value["text"] != shown
