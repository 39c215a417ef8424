"""Is a frame of the host read in one way only, and refused as a whole when it is not what the contract says?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup import frames
from lasttick.model.lineup.frames import Cancel, Message, ResultFrame, out_frame, read_frame, strict_json
from lasttick.model.lineup.records import Inventory, Refused, Tool

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def frame(type_: str, payload: Any, **more: Any) -> bytes:
    return json.dumps({"v": 1, "type": type_, "payload": payload, **more}).encode()


MESSAGE = {"message_id": "m1", "text": "hi"}
CAPABILITY = {"tool": "pomodoro.start", "arguments": {"minutes": {"type": "number", "required": True}}}


def inventory(rule: Any) -> bytes:
    return frame("client.inventory", {"revision": "r", "capabilities": [{"tool": "t", "arguments": {"a": rule}}]})


def test_each_type_is_read_in_its_conversation() -> None:
    assert read_frame(frame("lineup.v1.message", MESSAGE)) == Message("default", "m1", "hi")
    assert read_frame(frame("lineup.v1.cancel", {}, conversation_id="c")) == Cancel("c")
    published = Inventory("r1", {"pomodoro.start": Tool("pomodoro.start", {"minutes": ("number", True)})})
    for type_ in ("lineup.v1.client.inventory", "client.inventory"):
        assert read_frame(frame(type_, {"revision": "r1", "capabilities": [CAPABILITY]})) == published


def test_of_a_result_only_the_call_is_read_so_that_an_unknown_call_is_found_before_a_wrong_shape() -> None:
    payload = {"call_id": "x", "status": 7, "more": []}
    assert read_frame(frame("lineup.v1.tool.result", payload, conversation_id="c")) == ResultFrame("c", "x", payload)


def test_an_inventory_of_revision_none_is_the_same_as_none_published() -> None:
    assert read_frame(frame("client.inventory", {"revision": "none", "capabilities": [CAPABILITY]})) == Inventory()


def test_unknown_members_of_the_envelope_are_ignored_and_those_of_a_payload_are_not() -> None:
    assert read_frame(frame("lineup.v1.message", MESSAGE, trace="t")) == Message("default", "m1", "hi")
    refused = read_frame(frame("lineup.v1.message", {**MESSAGE, "role": "system"}))
    assert refused == Refused("payload.role: unknown member")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "no object"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b'{"v":1,"v":1}', 'repeated key "v"'),
        (b'{"v":1,"payload":{"a":1,"a":1}}', 'repeated key "a"'),
        (b'{"v":NaN}', "NaN is no JSON number"),
        (b'{"v":-Infinity}', "-Infinity is no JSON number"),
        (b'{"v":1e999}', "no finite number"),
        (b'{"v":' + b"1" * 5_000 + b"}", "an integer of 5000 characters"),
        (b'{"v":"\\ud800"}', "half of a surrogate pair"),
        (b'{"v":' + b"[" * 32 + b"]" * 32 + b"}", "deeper than 32"),
        (b"[" * 900_000, "deeper than 32"),
        (b'{"v":"' + b"[" * 40, "not JSON"),
        (b" " * (frames.FRAME_BYTES_MAX + 1), "1048577 bytes"),
        (frame("lineup.v1.message", MESSAGE, v=2), "v: 2; expected 1"),
        (frame("lineup.v1.message", MESSAGE, v=True), "v: true; expected 1"),
        (frame("lineup.v1.message", MESSAGE, v=1.0), "v: 1.0; expected 1"),
        (frame("lineup.v1.tool.call", MESSAGE), 'type: "lineup.v1.tool.call"; expected'),
        (frame("lineup.v1.message", None), "payload: null is no object"),
        (frame("lineup.v1.message", MESSAGE, conversation_id=""), "conversation_id: 0 characters"),
        (frame("lineup.v1.message", MESSAGE, conversation_id="c" * 129), "conversation_id: 129 characters"),
        (frame("lineup.v1.message", MESSAGE, conversation_id=None), "conversation_id: null is no string"),
        (frame("lineup.v1.message", {"text": "hi"}), "payload.message_id: missing"),
        (frame("lineup.v1.message", {**MESSAGE, "text": ""}), "payload.text: 0 characters"),
        (frame("lineup.v1.message", {**MESSAGE, "text": "x" * 32_769}), "payload.text: 32769 characters"),
        (frame("lineup.v1.cancel", {"now": True}), "payload.now: unknown member"),
        (frame("lineup.v1.tool.result", {"status": "completed"}), "payload.call_id: null is no string"),
        (frame("client.inventory", {"capabilities": []}), "payload.revision: missing"),
        (
            frame("client.inventory", {"revision": "r", "capabilities": [CAPABILITY, CAPABILITY]}),
            'payload.capabilities[1].tool: "pomodoro.start" stands there twice',
        ),
        (
            inventory({"type": "null", "required": True}),
            "payload.capabilities[0].arguments.a.type",
        ),
        (
            inventory({"type": "number", "required": 1}),
            "payload.capabilities[0].arguments.a.required: 1 is no boolean",
        ),
    ],
)
def test_what_is_not_of_the_contract_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    refused = read_frame(data)
    assert isinstance(refused, Refused)
    assert reason in refused.reason


def test_the_bounds_themselves_are_allowed() -> None:
    assert strict_json("[" * 32 + "]" * 32) == json.loads("[" * 32 + "]" * 32)
    assert isinstance(read_frame(frame("lineup.v1.message", {**MESSAGE, "text": "x" * 32_768})), Message)
    data = frame("lineup.v1.message", MESSAGE, conversation_id="c" * 128)
    assert isinstance(read_frame(data.ljust(frames.FRAME_BYTES_MAX)), Message)


def test_a_pair_of_surrogate_escapes_is_one_character() -> None:
    assert strict_json('"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


@given(JSON)
def test_every_json_value_is_read_as_the_standard_decoder_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert strict_json(text) == json.loads(text)


@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_raise(data: bytes) -> None:
    read_frame(data)


@given(st.sampled_from(sorted(frames._READERS)), JSON, st.none() | JSON)
def test_no_payload_raises_and_no_reason_is_long_or_unsendable(type_: str, payload: Any, conversation: Any) -> None:
    more = {} if conversation is None else {"conversation_id": conversation}
    found = read_frame(frame(type_, payload, **more))
    if isinstance(found, Refused):
        assert len(found.reason.encode()) < 1_000
        assert found.reason.isprintable()


def test_an_outbound_frame_names_its_conversation_unless_it_is_the_default() -> None:
    assert out_frame("t", {"a": 1}, "default") == {"v": 1, "type": "t", "payload": {"a": 1}}
    assert out_frame("t", {}, "c")["conversation_id"] == "c"
