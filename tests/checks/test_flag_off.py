"""The comparison of turns without tools: it passes what is as before, and sees each channel by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.checks.flag_off import CHANNELS, Golden, Record, Sent, as_off, differences, unlike_off

DOCUMENT: dict[str, Any] = {
    "metadata": {"role": "user", "channel": "{channel}"},
    "wire": '{"conversation_id":{conversation_id},"text":{text},"org_id":{org_id},"run_id":{run_id}}',
    "arguments": ["chat", "-q", "{text}"],
    "environment": ["PATH"],
    "turn_environment": {"ORG": "org_id", "RUN": "run_id"},
    "server": {"LIST": "${LIST}"},
    "model_tools": ["terminal"],
}
GOLDEN = Golden.from_json(json.dumps(DOCUMENT))
SENT = Sent("c1", "hello", "chat", "org-a", "r1")
RECORD = Record(
    metadata={"role": "user", "channel": "chat"},
    wire='{"conversation_id":"c1","text":"hello","org_id":"org-a","run_id":"r1"}',
    arguments=("chat", "-q", "hello"),
    environment={"PATH": "/bin", "ORG": "org-a", "RUN": "r1"},
    server={"LIST": "${LIST}", "PATH": "/bin"},
    model_tools=(("terminal",), ("terminal",)),
)
OTHERWISE: dict[str, list[Any]] = {
    "metadata": [{**(RECORD.metadata or {}), "more": []}, {"role": "user"}, None],
    "wire": [RECORD.wire + " ", RECORD.wire.replace("}", ',"mcp_tools":[]}')],
    "arguments": [("chat", "-t", "x", "-q", "hello"), ("chat", "-q", "Hello")],
    "environment": [{**RECORD.environment, "LIST": ""}, {"PATH": "/bin"}, {**RECORD.environment, "RUN": "r2"}],
    "server": [{"LIST": ""}, {}, None],
    "model_tools": [(), (("terminal",), ("terminal", "x")), (("terminal",), None)],
}
ON = Record(**{channel: values[0] for channel, values in OTHERWISE.items()})


def test_as_before_is_a_pass() -> None:
    assert differences(GOLDEN, SENT, RECORD) == {}
    assert as_off(GOLDEN, [(SENT, RECORD)]).verdict == "pass"


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_channel_is_seen_by_itself(channel: str) -> None:
    for value in OTHERWISE[channel]:
        record = replace(RECORD, **{channel: value})
        assert list(differences(GOLDEN, SENT, record)) == [channel]
        verdict = as_off(GOLDEN, [(SENT, RECORD), (SENT, record)])
        assert verdict.verdict == "fail"
        assert verdict.reason.startswith(f"turn 2, {channel}: ")
    # A comparison that is blind in one channel is red.
    blind = unlike_off(GOLDEN, [(SENT, ON), (SENT, replace(ON, **{channel: getattr(RECORD, channel)}))])
    assert (blind.verdict, f"turn 2: {channel}" in blind.reason) == ("fail", True)


def test_a_turn_that_differs_everywhere() -> None:
    assert unlike_off(GOLDEN, [(SENT, ON)]).verdict == "pass"
    assert unlike_off(GOLDEN, [(SENT, RECORD)]).verdict == "fail"


def test_without_a_run_there_is_no_metadata_and_no_run_in_the_environment() -> None:
    sent = replace(SENT, run_id=None)
    record = replace(
        RECORD,
        metadata=None,
        wire=RECORD.wire.replace('"r1"', "null"),
        environment={"PATH": "/bin", "ORG": "org-a"},
    )
    assert differences(GOLDEN, sent, record) == {}
    assert list(differences(GOLDEN, sent, RECORD)) == ["metadata", "wire", "environment"]


def test_nothing_to_compare_proves_nothing() -> None:
    assert as_off(GOLDEN, []).verdict == "inconclusive"
    assert unlike_off(GOLDEN, []).verdict == "inconclusive"


@given(text=st.one_of(st.text(), st.sampled_from(["{run_id}", "{text}", "{", '"}', "{{org_id}"])))
def test_a_text_is_no_template(text: str) -> None:
    record = replace(RECORD, wire=RECORD.wire.replace('"hello"', json.dumps(text)), arguments=("chat", "-q", text))
    assert differences(GOLDEN, replace(SENT, text=text), record) == {}


def test_no_value_of_an_environment_is_told() -> None:
    record = replace(RECORD, environment={"SECRET": "s3cret"}, server={"LIST": "s3cret"})
    assert "s3cret" not in as_off(GOLDEN, [(SENT, record)]).reason + repr(record)


@pytest.mark.parametrize("text", ["[]", "{}", json.dumps({**DOCUMENT, "more": 1}), "{"])
def test_what_is_no_golden_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="golden document"):
        Golden.from_json(text)
