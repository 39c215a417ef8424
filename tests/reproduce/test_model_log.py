"""Which bytes belong to which permission, by what the agent told its model?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick.reproduce.model_log import bytes_written
from lasttick.reproduce.reader import NOT_OBSERVED, CallEvidence, Edit


def call(call_id: str, path: str | None, text: str = "abc") -> CallEvidence:
    return CallEvidence(
        call_id=call_id,
        conversation_id="default",
        source="permission",
        request_seq=1,
        card_seq=2,
        card=None,
        audit=(),
        mode="single-choice",
        call_state="completed",
        interaction_state="resolved",
        outcome="allow_once",
        options={},
        edit=None if path is None else Edit(path, text),
        answers=(),
        result_prompts=0,
        answer_sent=True,
        prompt_started=False,
        delivered=False,
        final_text=None,
        bytes_written=NOT_OBSERVED,
    )


def asks(id_: str, path: str, text: str = "abc") -> dict[str, Any]:
    arguments = json.dumps({"path": path, "content": text})
    function = {"name": "write_file", "arguments": arguments}
    return {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function}]}


def told(id_: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def wrote(id_: str, count: Any) -> dict[str, Any]:
    return told(id_, json.dumps({"bytes_written": count}))


def request(*messages: Any) -> dict[str, Any]:
    return {"messages": list(messages)}


def test_the_newest_history_of_a_conversation_repeats_the_older_ones() -> None:
    first = [asks("t1", "a.txt"), wrote("t1", 3)]
    requests = [request(), request(*first), request(*first, {"role": "user", "content": "more"})]
    assert bytes_written([call("c1", "a.txt")], requests) == {"c1": 3}


def test_equal_edits_are_matched_in_their_order_and_a_refused_one_has_no_bytes() -> None:
    messages = [
        *(asks("t1", "a.txt"), told("t1", json.dumps({"error": "denied"}))),
        *(asks("t2", "a.txt"), wrote("t2", 4)),
        *(asks("t3", "b.txt"), wrote("t3", 5)),
        *(asks("t4", "a.txt", "other"), wrote("t4", 6)),
    ]
    calls = [call("c1", "a.txt"), call("c2", "a.txt"), call("c3", "b.txt"), call("c4", "a.txt", "other")]
    assert bytes_written(calls, [request(*messages)]) == {"c2": 4, "c3": 5, "c4": 6}


@pytest.mark.parametrize("content", [None, 7, "no JSON", "[]", '{"bytes_written": "3"}', '{"bytes_written": true}'])
def test_what_is_not_told_is_not_observed(content: Any) -> None:
    assert bytes_written([call("c1", "a.txt")], [request(asks("t1", "a.txt"), told("t1", content))]) == {}


@pytest.mark.parametrize(
    "messages", [None, "x", [None], [{"role": "assistant", "tool_calls": [{"id": "t1", "function": {}}, 3]}]]
)
def test_a_log_of_another_shape_tells_nothing(messages: Any) -> None:
    assert bytes_written([call("c1", "a.txt"), call("c2", None)], [{"messages": messages}]) == {}
