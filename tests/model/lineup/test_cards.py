"""Is a card taken whole or not at all, and does an answer go back by the id that the agent gave?"""

from __future__ import annotations

import copy
import json
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup.cards import (
    answerable,
    deadline_ns,
    model_card,
    option_of,
    permission_card,
    reject_option,
    time_text,
)
from lasttick.model.lineup.records import Card, Inventory, Option, PermissionAsked, Refused, Tool

WALL = datetime(2026, 8, 7, 5, 0, tzinfo=UTC)
NOTHING = Inventory()
POMODORO = Tool("pomodoro.start", {"minutes": ("number", True), "name": ("string", False), "loud": ("boolean", False)})
PUBLISHED = Inventory("r1", {"pomodoro.start": POMODORO})
CHOICE: dict[str, Any] = {
    "call_id": "call_choice_focus_other",
    "tool": "choice",
    "title": "t",
    "prompt": "p",
    "expires_at": "2026-08-07T05:15:00Z",
    "data": {
        "action_group": {
            "mode": "single-choice",
            "actions": [{"id": "focus", "label": "专注工作"}, {"id": "other", "label": "其他"}],
        }
    },
}
INPUT: dict[str, Any] = {**CHOICE, "tool": "input", "data": {"fields": [{"id": "task", "label": "l"}]}}
TOOL: dict[str, Any] = {**CHOICE, "tool": "pomodoro.start", "data": {"arguments": {"minutes": 25}}}
EDIT = (Option("allow_once", "Allow edit", "allow_once"), Option("deny", "Deny", "reject_once"))
COMMAND = (
    Option("allow_once", "Allow once", "allow_once"),
    Option("allow_session", "Allow for session", "allow_always"),
    Option("allow_always", "Allow always", "allow_always"),
    Option("deny", "Deny", "reject_once"),
    Option("deny_always", "Deny always", "reject_always"),
)


def asked(options: tuple[Option, ...] = EDIT, tool_call: dict[str, Any] | None = None) -> PermissionAsked:
    return PermissionAsked(0, "s", options, tool_call or {"title": "Approve edit: note.txt", "kind": "edit"}, 7)


def with_member(card: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The card with one member set; `path` as in reasons, without indices beyond 0."""
    changed = copy.deepcopy(card)
    at: Any = changed
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for step in way:
        at = at[step]
    at[last] = value
    return changed


def test_a_models_card_goes_out_as_it_was_written() -> None:
    card = model_card(CHOICE, NOTHING, WALL)
    assert isinstance(card, Card)
    assert card.payload() == CHOICE
    assert card.source == "model"
    schema = {"kind": "choice", "mode": "single-choice", "action_ids": ["focus", "other"], "interaction": False}
    assert card.schema == schema


def test_an_input_says_what_it_takes_also_when_the_model_did_not() -> None:
    card = model_card(INPUT, NOTHING, WALL)
    assert isinstance(card, Card)
    assert card.data == INPUT["data"]
    assert card.schema["fields"] == [{"id": "task", "required": True, "max_length": 4000}]


def test_built_in_cards_need_no_inventory_and_others_need_theirs() -> None:
    for inventory in (NOTHING, PUBLISHED, Inventory("r2", {})):
        assert isinstance(model_card(CHOICE, inventory, WALL), Card)
        assert isinstance(model_card(INPUT, inventory, WALL), Card)
    assert isinstance(model_card(TOOL, PUBLISHED, WALL), Card)
    for inventory in (NOTHING, Inventory("r2", {}), Inventory(None, PUBLISHED.tools)):
        assert model_card(TOOL, inventory, WALL) == Refused("not in inventory")


def test_multi_choice_has_a_reason_of_its_own_whatever_else_is_wrong() -> None:
    multi = with_member(CHOICE, "data.action_group.mode", "multi-choice")
    assert model_card(multi, NOTHING, WALL) == Refused("multi-choice not supported")
    multi = with_member(multi, "data.action_group.actions.0.command", "rm -rf /")
    assert model_card(multi, NOTHING, WALL) == Refused("multi-choice not supported")
    assert model_card({**multi, "command": "ls", "title": ""}, NOTHING, WALL) == Refused("multi-choice not supported")


@pytest.mark.parametrize(
    ("card", "path", "value", "reason"),
    [
        (CHOICE, "call_id", "", 'call_id: "" does not match'),
        (CHOICE, "call_id", "a" * 65, "call_id: "),
        (CHOICE, "call_id", "a.b", "call_id: "),
        (CHOICE, "call_id", "a\n", "call_id: "),
        (CHOICE, "call_id", 7, "call_id: 7 does not match"),
        (CHOICE, "tool", "", "tool: 0 characters"),
        (CHOICE, "title", "", "title: 0 characters"),
        (CHOICE, "title", "x" * 201, "title: 201 characters"),
        (CHOICE, "prompt", "x" * 4001, "prompt: 4001 characters"),
        (CHOICE, "command", "ls", "command: unknown member"),
        (CHOICE, "data", [], "data: [] is no object"),
        (CHOICE, "data.command", "ls", "data.command: unknown member"),
        (CHOICE, "data.subject", {}, "data.subject: unknown member"),
        (CHOICE, "data.action_group", None, "data.action_group: null is no object"),
        (CHOICE, "data.action_group.mode", "any", 'data.action_group.mode: "any"; expected single-choice'),
        (CHOICE, "data.action_group.multi", True, "data.action_group.multi: unknown member"),
        (CHOICE, "data.action_group.actions", [], "data.action_group.actions: 0 items"),
        (
            CHOICE,
            "data.action_group.actions",
            [{"id": f"a{i}", "label": "l"} for i in range(21)],
            "data.action_group.actions: 21 items; expected 1 to 20",
        ),
        (CHOICE, "data.action_group.actions.0.command", "rm", "data.action_group.actions[0].command: unknown member"),
        (CHOICE, "data.action_group.actions.0.label", 7, "data.action_group.actions[0].label: 7 is no string"),
        (CHOICE, "data.action_group.actions.0.id", "a b", 'data.action_group.actions[0].id: "a b" does not match'),
        (CHOICE, "data.action_group.actions.0.id", "other", 'actions[1].id: "other" stands there twice'),
        (INPUT, "data.fields", [], "data.fields: 0 items"),
        (INPUT, "data.fields", [{"id": f"f{i}", "label": "l"} for i in range(11)], "data.fields: 11 items"),
        (INPUT, "data.fields", [{"id": "f", "label": "l"}] * 2, 'data.fields[1].id: "f" stands there twice'),
        (INPUT, "data.fields.0.required", 1, "data.fields[0].required: 1 is no boolean"),
        (INPUT, "data.fields.0.max_length", True, "data.fields[0].max_length: true is no integer"),
        (INPUT, "data.fields.0.max_length", 0, "data.fields[0].max_length: 0; expected 1 to"),
        (INPUT, "data.fields.0.command", "ls", "data.fields[0].command: unknown member"),
        (TOOL, "data.arguments", {}, "data.arguments.minutes: missing"),
        (TOOL, "data.arguments.minutes", True, "data.arguments.minutes: true is no number"),
        (TOOL, "data.arguments.name", 1, "data.arguments.name: 1 is no string"),
        (TOOL, "data.arguments.loud", 0, "data.arguments.loud: 0 is no boolean"),
        (TOOL, "data.arguments.command", "ls", "data.arguments.command: unknown member"),
    ],
)
def test_one_wrong_member_refuses_the_card(card: dict[str, Any], path: str, value: Any, reason: str) -> None:
    refused = model_card(with_member(card, path, value), PUBLISHED, WALL)
    assert isinstance(refused, Refused)
    assert reason in refused.reason


@pytest.mark.parametrize("name", sorted(CHOICE))
def test_each_member_is_required(name: str) -> None:
    refused = model_card({key: value for key, value in CHOICE.items() if key != name}, NOTHING, WALL)
    assert refused == Refused(f"{name}: missing")


@pytest.mark.parametrize(
    ("given_", "kept"),
    [
        (WALL + timedelta(seconds=30), True),
        (WALL + timedelta(minutes=30), True),
        (WALL + timedelta(seconds=29, microseconds=999_999), False),
        (WALL + timedelta(minutes=30, microseconds=1), False),
        (WALL - timedelta(days=1), False),
    ],
)
def test_a_time_is_kept_from_30_s_to_30_min_ahead(given_: datetime, kept: bool) -> None:
    card = model_card({**CHOICE, "expires_at": time_text(given_)}, NOTHING, WALL)
    assert isinstance(card, Card)
    assert card.expires_at == time_text(given_ if kept else WALL + timedelta(minutes=10))


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "soon",
        "2026-08-07T05:15:00",
        "2026-08-07T05:15:00+00:00",
        "2026-08-07t05:15:00Z",
        "2026-08-07T05:15:60Z",
        "2026-13-07T05:15:00Z",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-08-07T05:15Z",
        "20260807T051500Z",
        "٢٠٢٦-08-07T05:15:00Z",
        " 2026-08-07T05:15:00Z",
        "2026-08-07T05:15:00Z\n",
    ],
)
def test_anything_else_becomes_10_min(text: Any) -> None:
    card = model_card({**CHOICE, "expires_at": text}, NOTHING, WALL)
    assert isinstance(card, Card)
    assert card.expires_at == "2026-08-07T05:10:00Z"


def test_a_time_with_more_digits_than_a_clock_is_kept() -> None:
    card = model_card({**CHOICE, "expires_at": "2026-08-07T05:15:00.123456789Z"}, NOTHING, WALL)
    assert isinstance(card, Card)
    assert card.expires_at == "2026-08-07T05:15:00.123456789Z"
    assert deadline_ns(card, WALL, 0) == 900_123_456_000


def test_a_permission_lives_as_long_as_it_is_said_to() -> None:
    for life, expected in ((None, timedelta(seconds=55)), (timedelta(seconds=3), timedelta(seconds=3))):
        card = permission_card(asked(COMMAND), "call_0", WALL, life)
        assert isinstance(card, Card)
        assert card.expires_at == time_text(WALL + expected)


def test_a_permission_card_has_the_agents_options_and_no_others() -> None:
    card = permission_card(asked(COMMAND), "call_0", WALL)
    assert isinstance(card, Card)
    assert card.data["action_group"] == {
        "mode": "single-choice",
        "actions": [
            {"id": "action_01", "label": "Allow once"},
            {"id": "action_02", "label": "Allow for session"},
            {"id": "action_03", "label": "Allow always"},
            {"id": "action_04", "label": "Deny"},
            {"id": "action_05", "label": "Deny always"},
        ],
    }
    assert sorted(card.data) == ["action_group", "subject"]
    assert (card.tool, card.source, card.schema["interaction"]) == ("choice", "permission", True)


@given(st.lists(st.tuples(st.text(), st.sampled_from(["allow_once", "allow_always", "reject_once", "?"])), min_size=1))
def test_every_action_leads_to_the_option_behind_it_whatever_its_kind(given_: list[tuple[str, str]]) -> None:
    options = tuple(Option(f"o{i}", name, kind) for i, (name, kind) in enumerate(given_))
    card = permission_card(asked(options), "c", WALL)
    if len(options) > 20:
        assert card == Refused(f"{len(options)} options; expected at most 20")
        return
    assert isinstance(card, Card)
    ids = [action["id"] for action in card.data["action_group"]["actions"]]
    assert ids == card.schema["action_ids"]
    assert [option_of(asked(options), id_) for id_ in ids] == list(options)


def test_an_action_of_no_card_has_no_option() -> None:
    for action_id in ("action_03", "action_00", "allow_once", ""):
        with pytest.raises(KeyError):
            option_of(asked(EDIT), action_id)


def test_no_options_and_repeated_options_make_no_card() -> None:
    assert permission_card(asked(()), "c", WALL) == Refused("no options")
    assert permission_card(asked((*EDIT, EDIT[0])), "c", WALL) == Refused('repeated optionId "allow_once"')


def test_no_is_the_agents_reject_option_and_nothing_else_in_its_place() -> None:
    assert reject_option(asked(COMMAND)) == COMMAND[3]
    assert reject_option(asked((COMMAND[0], COMMAND[4]))) == COMMAND[4]
    assert reject_option(asked(COMMAND[:3])) is None


@given(st.integers(0, 10**15), st.integers(0, 999_999))
def test_a_permission_lives_55_s_to_the_tick_and_not_at_it(read_ns: int, microsecond: int) -> None:
    wall = WALL.replace(microsecond=microsecond)
    card = permission_card(asked(), "c", wall)
    assert isinstance(card, Card)
    due = deadline_ns(card, wall, read_ns)
    assert due == read_ns + 55_000_000_000
    assert answerable(due - 1_000_000, due)
    assert not answerable(due, due)
    assert not answerable(due + 1_000_000, due)


def test_what_is_approved_is_the_raw_input_on_one_line_with_nothing_hidden() -> None:
    raw = {"command": "rm -rf x\n# \u202egnp.exe\u200b\u2028\x7f\x1b[2K\ud800", "description": "d"}
    card = permission_card(asked(tool_call={"kind": "execute", "rawInput": raw, "title": "t\u202ee\n"}), "c", WALL)
    assert isinstance(card, Card)
    text = r"rm -rf x\n# \u202egnp.exe\u200b\u2028\u007f\u001b[2K\ud800"
    subject = {"kind": "execute", "text": f'{{"command": "{text}", "description": "d"}}', "truncated": False}
    assert card.data["subject"] == subject
    assert card.title == r"t\u202ee\u000a"
    json.dumps(card.payload(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("tool_call", "kind", "text"),
    [
        ({}, "other", ""),
        ({"title": "t", "kind": 7}, "other", "t"),
        ({"title": "t", "rawInput": {}, "content": [{"path": "p"}]}, "other", '[{"path": "p"}]'),
        ({"title": "t", "rawInput": "ls", "content": [{"path": "p"}]}, "other", "ls"),
    ],
)
def test_without_a_raw_input_the_content_or_the_title_is_shown(tool_call: dict[str, Any], kind: str, text: str) -> None:
    card = permission_card(PermissionAsked(0, "s", EDIT, tool_call, 0), "c", WALL)
    assert isinstance(card, Card)
    assert card.data["subject"] == {"kind": kind, "text": text, "truncated": False}
    assert card.title == tool_call.get("title", "Permission")


def test_a_long_subject_is_cut_and_says_so() -> None:
    card = permission_card(asked(tool_call={"rawInput": "x" * 5_000, "title": "t" * 300}), "c", WALL)
    assert isinstance(card, Card)
    assert card.data["subject"]["truncated"] is True
    assert len(card.data["subject"]["text"]) == 4_000
    assert len(card.title) == 200
    card = permission_card(asked((Option("a", "n" * 300, "allow_once"),)), "c", WALL)
    assert isinstance(card, Card)
    assert len(card.data["action_group"]["actions"][0]["label"]) == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from([CHOICE, INPUT, TOOL]),
    st.sampled_from(sorted(CHOICE)) | st.sampled_from(["data.action_group", "data.fields", "data.arguments", "more"]),
    JSON,
)
def test_no_card_raises_and_what_is_taken_goes_out_unchanged(card: dict[str, Any], path: str, value: Any) -> None:
    payload = with_member(card, path, value)
    found = model_card(payload, PUBLISHED, WALL)
    if isinstance(found, Card):
        assert {**found.payload(), "expires_at": 0} == {**payload, "expires_at": 0}
    else:
        assert len(found.reason.encode()) < 1_000


@given(JSON, JSON, JSON)
def test_no_tool_call_raises(title: Any, kind: Any, raw: Any) -> None:
    call = {"title": title, "kind": kind, "rawInput": raw}
    card = permission_card(PermissionAsked(0, "s", EDIT, call, 0), "c", WALL)
    assert isinstance(card, Card)
    shown = card.title + card.data["subject"]["kind"] + card.data["subject"]["text"]
    assert not {"Cc", "Cf", "Cs", "Zl", "Zp"} & {unicodedata.category(c) for c in shown}
