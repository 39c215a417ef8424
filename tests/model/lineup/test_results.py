"""Is each valid answer brought to its one form, and every other one refused with its path? LU-03, LU-04."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup.records import Refused, Result
from lasttick.model.lineup.results import choice_schema, input_schema, judge_result, tool_schema

CHOICE = choice_schema(["focus", "other"], interaction=False)
ASKED = choice_schema(["action_01", "action_02"], interaction=True)
ONE_FIELD = input_schema([{"id": "task", "required": True, "max_length": 10}], interaction=False)
TWO_FIELDS = input_schema(
    [{"id": "a", "required": True, "max_length": 10}, {"id": "b", "required": False, "max_length": 10}],
    interaction=False,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("action_id", "action_ids", "values", "text", "output", "command")


def completed(result: Any) -> dict[str, Any]:
    return {"call_id": "c", "status": "completed", "result": result}


@pytest.mark.parametrize(
    ("schema", "result", "normal"),
    [
        (CHOICE, {"action_id": "focus"}, {"action_ids": ["focus"]}),
        (CHOICE, {"action_ids": ["other"]}, {"action_ids": ["other"]}),
        (ONE_FIELD, {"text": " 验收 04A "}, {"values": {"task": " 验收 04A "}}),
        (ONE_FIELD, {"values": {"task": "x"}}, {"values": {"task": "x"}}),
        (TWO_FIELDS, {"values": {"a": "x"}}, {"values": {"a": "x"}}),
        (TWO_FIELDS, {"values": {"a": "x", "b": ""}}, {"values": {"a": "x", "b": ""}}),
        (ONE_FIELD, {"text": "x" * 10}, {"values": {"task": "x" * 10}}),
        (tool_schema(), {"output": {"ok": True}}, {"output": {"ok": True}}),
    ],
)
def test_a_valid_answer_has_one_form(schema: dict[str, Any], result: Any, normal: Any) -> None:
    assert judge_result(schema, completed(result)) == Result("completed", normal)


@pytest.mark.parametrize("result", [{}, None])
def test_a_cancelled_result_has_no_content(result: Any) -> None:
    for schema in (CHOICE, ONE_FIELD, TWO_FIELDS, tool_schema()):
        assert judge_result(schema, {"call_id": "c", "status": "cancelled", "result": result}) == Result(
            "cancelled", None
        )
    assert judge_result(CHOICE, {"call_id": "c", "status": "cancelled"}) == Result("cancelled", None)


@pytest.mark.parametrize(
    ("schema", "payload", "reason"),
    [
        (CHOICE, completed({"action_id": "study"}), 'result.action_id: "study"; expected focus or other'),
        (CHOICE, completed({"action_id": ["focus"]}), 'result.action_id: ["focus"]; expected focus or other'),
        (CHOICE, completed({"action_ids": "focus"}), 'result.action_ids: "focus" is no array'),
        (CHOICE, completed({"action_ids": []}), "result.action_ids: 0 items; expected 1 to 1"),
        (CHOICE, completed({"action_ids": ["focus", "focus"]}), "result.action_ids: 2 items; expected 1 to 1"),
        (CHOICE, completed({"action_ids": ["study"]}), 'result.action_ids[0]: "study"; expected focus or other'),
        (
            CHOICE,
            completed({"action_id": "focus", "action_ids": ["focus"]}),
            "result: action_id and action_ids given; expected exactly one of action_id, action_ids",
        ),
        (CHOICE, completed({}), "result: none given; expected exactly one of action_id, action_ids"),
        (CHOICE, completed({"action_id": "focus", "command": "rm"}), "result.command: unknown member"),
        (CHOICE, completed(None), "result: null is no object"),
        (CHOICE, {"call_id": "c", "status": "completed"}, "result: null is no object"),
        (CHOICE, {"call_id": "c", "status": "done"}, 'status: "done"; expected completed or cancelled'),
        (CHOICE, {"call_id": "c"}, "status: missing"),
        (CHOICE, {**completed({"action_id": "focus"}), "by": "me"}, "by: unknown member"),
        (CHOICE, {"call_id": "c", "status": "cancelled", "result": {"text": "x"}}, "result.text: unknown member"),
        (CHOICE, {"call_id": "c", "status": "cancelled", "result": []}, "result: [] is no object"),
        (ONE_FIELD, completed({"text": 7}), "result.text: 7 is no string"),
        (ONE_FIELD, completed({"text": " \t"}), "result.text: blank, but required"),
        (ONE_FIELD, completed({"text": "x" * 11}), "result.text: 11 characters; expected 0 to 10"),
        (
            ONE_FIELD,
            completed({"text": "x", "values": {"task": "x"}}),
            "result: values and text given; expected exactly one of values, text",
        ),
        (ONE_FIELD, completed({"values": {}}), "result.values.task: missing"),
        (ONE_FIELD, completed({"values": "x"}), 'result.values: "x" is no object'),
        (TWO_FIELDS, completed({"text": "x"}), "result: none given; expected exactly one of values"),
        (TWO_FIELDS, completed({"values": {"b": "x"}}), "result.values.a: missing"),
        (TWO_FIELDS, completed({"values": {"a": "x", "c": "x"}}), "result.values.c: unknown member"),
        (TWO_FIELDS, completed({"values": {"a": "x"}, "text": "x"}), "result.text: unknown member"),
        (tool_schema(), completed({"output": 7}), "result.output: 7 is no object"),
        (tool_schema(), completed({"output": {}, "also": 1}), "result.also: unknown member"),
    ],
)
def test_every_other_shape_is_refused_with_its_path(schema: dict[str, Any], payload: Any, reason: str) -> None:
    assert judge_result(schema, payload) == Refused(f"invalid tool response: {reason}")


def test_the_reason_says_whether_an_interaction_waits_for_the_answer() -> None:
    refused = judge_result(ASKED, completed({"action_id": "allow_once"}))
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("invalid hermes interaction response: result.action_id: ")


@pytest.mark.parametrize(
    "schema",
    [
        {**CHOICE, "mode": "multi-choice"},
        {"mode": "multi-choice", "action_ids": ["study"]},
        {"kind": "choice", "action_ids": ["study"]},
        {"kind": "form"},
        {},
    ],
)
@pytest.mark.parametrize("payload", [completed({"action_id": "study"}), {"call_id": "c", "status": "cancelled"}, {}])
def test_a_row_of_an_older_adapter_takes_no_answer(schema: dict[str, Any], payload: Any) -> None:
    assert judge_result(schema, payload) == Refused("unsupported schema")


@given(st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(["focus", ["focus"], {"a": "x"}]), max_size=3))
def test_a_choice_takes_exactly_two_shapes(result: dict[str, Any]) -> None:
    ids = CHOICE["action_ids"]
    valid = [{"action_id": id_} for id_ in ids] + [{"action_ids": [id_]} for id_ in ids]
    judged = judge_result(CHOICE, completed(result))
    if result in valid:
        assert judged == Result("completed", {"action_ids": [next(id_ for id_ in ids if id_ in str(result))]})
    else:
        assert isinstance(judged, Refused)


@given(st.dictionaries(st.sampled_from(NAMES), JSON | st.text(max_size=12), max_size=2))
def test_one_field_takes_its_text_or_its_values(result: dict[str, Any]) -> None:
    value = result.get("text")
    if "values" in result:
        value = (
            result["values"].get("task") if isinstance(result["values"], dict) and len(result["values"]) == 1 else None
        )
    good = len(result) == 1 and isinstance(value, str) and bool(value.strip()) and len(value) <= 10
    judged = judge_result(ONE_FIELD, completed(result))
    assert judged == Result("completed", {"values": {"task": value}}) if good else isinstance(judged, Refused)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), JSON | st.text(max_size=12), max_size=3))
def test_many_fields_are_strict(values: dict[str, Any]) -> None:
    texts = all(isinstance(value, str) and len(value) <= 10 for value in values.values())
    good = texts and set(values) <= {"a", "b"} and bool(values.get("a", "").strip())
    judged = judge_result(TWO_FIELDS, completed({"values": values}))
    assert judged == Result("completed", {"values": values}) if good else isinstance(judged, Refused)


@given(JSON, st.sampled_from([CHOICE, ASKED, ONE_FIELD, TWO_FIELDS, tool_schema()]))
def test_no_payload_raises(payload: Any, schema: dict[str, Any]) -> None:
    assert isinstance(judge_result(schema, payload), Refused)
    judge_result(schema, completed(payload))
