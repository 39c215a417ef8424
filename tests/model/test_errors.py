"""Error matrix: codes, messages and data as the wire has them; nothing in them that JSON or a log cannot carry."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model import errors
from lasttick.model.lease import Holder

SESSION = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        (
            errors.device_busy("phone-1", Holder("cloud", "asg-1")),
            -32000,
            "device phone-1 is busy (held by cloud assignment)",
            {"reason": "device_busy", "device_id": "phone-1", "busy_owner": "cloud_assignment"},
        ),
        (
            errors.device_busy("phone-1", Holder("mcp", SESSION)),
            -32000,
            "device phone-1 is busy (held by another MCP session)",
            {"reason": "device_busy", "device_id": "phone-1", "busy_owner": "mcp_session:01234567"},
        ),
        (
            errors.device_busy("phone-1", Holder("mcp", SESSION), own=True),
            -32000,
            "device phone-1 is busy (held by an earlier call of this MCP session)",
            {"reason": "device_busy", "device_id": "phone-1", "busy_owner": "mcp_session:01234567"},
        ),
        (
            errors.driver_error("phone-1", "screen is off\nunlock it"),
            -32000,
            "screen is off\nunlock it",
            {"reason": "driver_error", "device_id": "phone-1"},
        ),
        (
            errors.unknown_device("phone-9"),
            -32602,
            "unknown device: phone-9",
            {"reason": "unknown_device", "device_id": "phone-9"},
        ),
    ],
)
def test_rows_of_the_matrix(error: errors.ToolError, code: int, message: str, data: dict[str, str]) -> None:
    assert (error.code, error.message, error.data) == (code, message, data)
    assert str(error) == message
    assert error.reason == data["reason"]


def test_no_session_keeps_the_seeds_message_and_hints_in_data() -> None:
    error = errors.no_session("connect with initialize")
    assert (error.code, error.message) == (-32001, "cannot determine MCP session")
    assert error.data == {"reason": "no_session", "hint": "connect with initialize"}


def test_stuck_names_its_limit() -> None:
    error = errors.driver_stuck("phone-1", 300.0)
    assert (error.code, error.reason) == (-32000, "driver_stuck")
    assert "300 s" in error.message


ANY_TEXT = st.lists(st.integers(0, 0x10FFFF).map(chr), max_size=120).map("".join)


@given(text=ANY_TEXT, argument=ANY_TEXT)
def test_any_text_from_outside_can_be_sent_and_stays_on_one_line(text: str, argument: str) -> None:
    for error in (
        errors.unknown_device(text),
        errors.unknown_tool(text),
        errors.bad_arguments(text, argument, text, "a number"),
    ):
        json.dumps([error.message, error.data], ensure_ascii=False).encode()
        assert error.message.isprintable()
        assert len(error.message) < 5_000
    errors.driver_error("phone-1", text).message.encode()


def test_lone_surrogates_become_their_escape() -> None:
    assert errors.shown("a\ud800b") == "a\\ud800b"
    assert errors.shown("line\nbreak") == "line\\nbreak"
    assert errors.shown("Grüße") == "Grüße"
    assert errors.shown("x" * 81) == "x" * 80 + "..."
