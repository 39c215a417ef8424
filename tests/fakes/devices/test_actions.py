"""Do the nine tools agree with each other, on every screen that any sequence of actions can reach?"""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lasttick.model import geometry
from lasttick.ports import DeviceInfo, DriverError
from lasttick_fakes.devices import parse_devices
from lasttick_fakes.devices.actions import FIELD_CHARS_MAX, act
from lasttick_fakes.devices.apps import APPS, SCREENS, Item
from lasttick_fakes.devices.layout import HEIGHT_PX, ROWS_VISIBLE, WIDTH_PX
from lasttick_fakes.devices.render import COLOURS, STRIP_PX
from lasttick_fakes.devices.state import HOME, INITIAL, Choose, Focus, Go, Move, State

PHONE, IPAD_2, IPAD_3 = (spec.info for spec in parse_devices("phone-1=android,ipad-1=ios@2,ipad-2=ios@3"))
DEVICES = pytest.mark.parametrize("info", [PHONE, IPAD_2, IPAD_3], ids=["android", "ios@2", "ios@3"])


def ask(state: State, info: DeviceInfo, tool: str, **arguments: Any) -> dict[str, Any]:
    after, answer = act(state, info, tool, arguments)
    assert after == state, f"{tool} changed the state"
    return answer


def do(state: State, info: DeviceInfo, tool: str, **arguments: Any) -> State:
    return act(state, info, tool, arguments)[0]


def leaves(state: State, info: DeviceInfo) -> list[dict[str, Any]]:
    children = ask(state, info, "get_ui_tree")["root"]["children"]
    return [leaf for child in children for leaf in (child["children"] or [child])]


def picture(state: State, info: DeviceInfo) -> Image.Image:
    answer = ask(state, info, "take_screenshot")
    image = Image.open(io.BytesIO(base64.b64decode(answer["png_base64"])))
    assert image.format == "PNG"
    assert image.size == (answer["width_px"], answer["height_px"]) == (info.width_px, info.height_px)
    return image.convert("RGB")


def centre(bounds: list[int], info: DeviceInfo) -> dict[str, float]:
    x, y = geometry.tap_point(bounds, info.scale)
    return {"x": x, "y": y}


FEW = settings(max_examples=40, deadline=None)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("nth"), st.integers(0, 30)),
        st.tuples(st.just("tap"), st.floats(0, 0.99), st.floats(0, 0.99)),
        st.tuples(st.just("swipe"), st.floats(0, 0.99), st.floats(0, 0.99)),
        st.tuples(st.just("input_text"), st.text(max_size=40)),
        st.tuples(st.just("launch_app"), st.sampled_from([HOME, *APPS])),
    ),
    max_size=12,
)


def walk(steps: list[Any], info: DeviceInfo) -> list[State]:
    """The states along a path. "nth" taps the n-th clickable widget, so that deep screens are reached often."""
    states = [INITIAL]
    width, height = info.width_px / info.scale, info.height_px / info.scale
    for tool, *values in steps:
        state = states[-1]
        match tool:
            case "nth":
                clickable = [leaf for leaf in leaves(state, info) if leaf["clickable"]]
                state = do(state, info, "tap", **centre(clickable[values[0] % len(clickable)]["bounds"], info))
            case "tap":
                state = do(state, info, "tap", x=values[0] * width, y=values[1] * height)
            case "swipe":
                y1, y2 = values[0] * height, values[1] * height
                state = do(state, info, "swipe", x1=width / 2, y1=y1, x2=width / 2, y2=y2)
            case "input_text" if state.focus:
                state = do(state, info, "input_text", text=values[0])
            case "launch_app":
                state = do(state, info, "launch_app", app=values[0])
        states.append(state)
    return states


@DEVICES
@FEW
@given(steps=STEPS)
def test_tree_find_and_screenshot_agree(info: DeviceInfo, steps: list[Any]) -> None:
    """HA-22: every text and icon of the tree is found where the tree says, and the picture has an outline there."""
    for state in walk(steps, info):
        image, found = picture(state, info), leaves(state, info)
        for leaf in found:
            x1, y1, x2, y2 = leaf["bounds"]
            assert 0 <= x1 < x2 <= WIDTH_PX
            assert 0 <= y1 < y2 <= HEIGHT_PX - STRIP_PX
            for corner in ((x1, y1), (x2 - 1, y1), (x1, y2 - 1), (x2 - 1, y2 - 1)):
                assert image.getpixel(corner) == COLOURS["ink"]
            for tool, key in (("find_text", "text"), ("find_icon", "icon")):
                if leaf[key]:
                    matches = ask(state, info, tool, **{key: leaf[key]})["matches"]
                    assert {key: leaf[key], "id": leaf["id"], "bounds": leaf["bounds"]} in matches
                    assert {match["id"] for match in matches} <= {leaf["id"] for leaf in found}
        texts = [leaf["text"] for leaf in found if leaf["text"]]
        assert ask(state, info, "describe_screen") == {"screen": state.screen, "text": "\n".join(texts)}


@DEVICES
@FEW
@given(steps=STEPS)
def test_pixels_differ_exactly_when_trees_do(info: DeviceInfo, steps: list[Any]) -> None:
    seen: dict[bytes, dict[str, Any]] = {}
    for state in walk(steps, info):
        tree = ask(state, info, "get_ui_tree")
        assert seen.setdefault(picture(state, info).tobytes(), tree) == tree
    trees = list(seen.values())
    assert all(a != b for n, a in enumerate(trees) for b in trees[:n])


@DEVICES
@FEW
@given(steps=STEPS)
def test_the_point_from_the_bounds_hits_the_widget(info: DeviceInfo, steps: list[Any]) -> None:
    """Ruling 14: pixels in, tap units out. Also when the point is rounded to whole units."""
    for state in walk(steps, info):
        for leaf in leaves(state, info):
            point = centre(leaf["bounds"], info)
            for x, y in (tuple(point.values()), (round(point["x"]), round(point["y"]))):
                after, answer = act(state, info, "tap", {"x": x, "y": y})
                assert answer["hit"] == leaf["id"]
                assert leaf["clickable"] or after == state


@pytest.mark.parametrize("info", [IPAD_2, IPAD_3], ids=["ios@2", "ios@3"])
def test_pixels_sent_as_points_miss(info: DeviceInfo) -> None:
    """Why the rule exists: the centre of Messages, in pixels, is another app or off an iPad's glass."""
    bounds = ask(INITIAL, info, "find_text", text="Messages")["matches"][0]["bounds"]
    x, y = (bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2
    try:
        hit = act(INITIAL, info, "tap", {"x": x, "y": y})[1]["hit"]
    except DriverError as error:
        hit = str(error)
    assert hit != "home/messages"


def test_a_tap_beside_all_widgets_is_ok_and_changes_nothing() -> None:
    after, answer = act(INITIAL, PHONE, "tap", {"x": 0, "y": 0})
    assert after == INITIAL
    assert answer == {"ok": True, "hit": None, "screen": HOME}


@pytest.mark.parametrize(
    ("info", "x", "y"),
    [(PHONE, 180, 0), (PHONE, 0, 324), (PHONE, -0.5, 0), (IPAD_2, 90, 0), (IPAD_2, 0, 162), (IPAD_3, 60, 107)],
)
def test_off_the_glass_is_the_devices_failure(info: DeviceInfo, x: float, y: float) -> None:
    with pytest.raises(DriverError, match=r"is off the screen of .*; expected 0 <= x < .*; take coordinates from"):
        act(INITIAL, info, "tap", {"x": x, "y": y})
    with pytest.raises(DriverError, match="swipe to"):
        act(INITIAL, info, "swipe", {"x1": 1, "y1": 1, "x2": x, "y2": y})


def test_typing_goes_to_the_focused_field_and_is_seen_in_its_pixels() -> None:
    state = do(INITIAL, PHONE, "launch_app", app="Messages")
    with pytest.raises(DriverError, match="no text field has the focus on phone-1"):
        act(state, PHONE, "input_text", {"text": "hi"})
    label = ask(state, PHONE, "find_text", text="message")["matches"][0]
    assert label["id"] == "messages/message-label", "the equal text comes before the title Messages"
    state = do(state, PHONE, "tap", **centre(label["bounds"], PHONE))
    field = next(leaf for leaf in leaves(state, PHONE) if leaf["focused"])
    before = picture(state, PHONE).crop(tuple(field["bounds"])).tobytes()
    state, answer = act(state, PHONE, "input_text", {"text": "hi"})
    assert answer == {"ok": True, "field": "messages/message", "text": "hi"}
    assert picture(state, PHONE).crop(tuple(field["bounds"])).tobytes() != before
    send = ask(state, PHONE, "find_text", text="Send")["matches"][0]
    state = do(state, PHONE, "tap", **centre(send["bounds"], PHONE))
    assert ask(state, PHONE, "find_text", text="Sent: hi")["matches"]


@pytest.mark.parametrize("text", ["x" * 500, "你好", "\x00\n\t", "\U0001f600"])
def test_any_text_can_be_typed_and_a_field_stays_small(text: str) -> None:
    state = do(do(INITIAL, PHONE, "launch_app", app="notes"), PHONE, "tap", x=50, y=50)
    before = picture(state, PHONE)
    state = do(state, PHONE, "input_text", text=text)
    assert state.value("notes/title") == text[-FIELD_CHARS_MAX:]
    body = (0, 0, WIDTH_PX, HEIGHT_PX - STRIP_PX)
    assert picture(state, PHONE).crop(body).tobytes() != before.crop(body).tobytes()


def test_texts_that_differ_only_where_the_glass_cuts_them_differ_in_pixels() -> None:
    """Why the bar code exists: a field shows its end, a label its beginning."""
    state = do(do(INITIAL, PHONE, "launch_app", app="notes"), PHONE, "tap", x=50, y=50)
    one, two = (do(state, PHONE, "input_text", text=text) for text in ("a" + "x" * 60, "b" + "x" * 60))
    body = (0, 0, WIDTH_PX, HEIGHT_PX - STRIP_PX)
    assert picture(one, PHONE).crop(body).tobytes() == picture(two, PHONE).crop(body).tobytes()
    assert picture(one, PHONE).tobytes() != picture(two, PHONE).tobytes()


@pytest.mark.parametrize(("dy", "rows"), [(15, 0), (16, 1), (47, 1), (48, 2)])
def test_a_swipe_is_rounded_to_whole_rows(dy: int, rows: int) -> None:
    state = do(INITIAL, PHONE, "launch_app", app="contacts")
    assert act(state, PHONE, "swipe", {"x1": 90, "y1": 200, "x2": 90, "y2": 200 - dy})[1]["scrolled_rows"] == rows


@DEVICES
def test_a_swipe_scrolls_by_whole_rows_to_the_end_and_back(info: DeviceInfo) -> None:
    state = do(INITIAL, info, "launch_app", app="contacts")
    up = {"x1": 90 / info.scale, "y1": 250 / info.scale, "x2": 90 / info.scale, "y2": 90 / info.scale}
    down = {**up, "y1": up["y2"], "y2": up["y1"]}
    first = picture(state, info)
    state, answer = act(state, info, "swipe", up)
    assert answer == {"ok": True, "scrolled_rows": 5, "screen": "contacts"}
    assert picture(state, info).tobytes() != first.tobytes()
    for _ in range(5):
        state = do(state, info, "swipe", **up)
    assert act(state, info, "swipe", up)[1]["scrolled_rows"] == 0
    assert ask(state, info, "find_text", text="Whitfield")["matches"]
    for _ in range(5):
        state = do(state, info, "swipe", **down)
    assert picture(state, info).tobytes() == first.tobytes()


def test_unknown_apps_are_named_with_the_known_ones() -> None:
    with pytest.raises(DriverError, match="no app 'camera' on phone-1; it has home, messages, notes"):
        act(INITIAL, PHONE, "launch_app", {"app": "camera"})


def test_nothing_found_is_an_empty_answer() -> None:
    assert ask(INITIAL, PHONE, "find_text", text="zebra") == {"matches": []}
    assert ask(INITIAL, PHONE, "find_icon", icon="zebra") == {"matches": []}


def test_the_apps_fit_the_glass_and_lead_to_screens_that_exist() -> None:
    """The data of `apps`: unique ids, room for every item, effects that point at something."""
    items = [item for screen in SCREENS.values() for item in screen.items]
    items += [row for item in items for row in item.rows]
    ids = [item.id for item in items]
    assert len(ids) == len(set(ids))
    assert all(len(screen.items) <= ROWS_VISIBLE for screen in SCREENS.values())
    assert all(screen.back in SCREENS for name, screen in SCREENS.items() if name != HOME)
    fields = {item.id for item in items if item.kind == "field"}
    assert all(_leads_somewhere(item, fields) for item in items)


def _leads_somewhere(item: Item, fields: set[str]) -> bool:
    match item.effect:
        case Go(screen) | Choose(_, _, screen):
            return screen in SCREENS
        case Focus(field):
            return field in fields
        case Move(source, _):
            return source in fields
        case _:
            return True
