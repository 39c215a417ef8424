"""The trace: what its hash covers, that secrets are gone before anything is kept, and its chain of lines."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.trace import Event, Redactor, Trace, linked_lines, split_link, trace_sha256, wall_text

EVENT = Event(17, 60_000_000_000, "2026-01-01T00:01:00.000Z", "phone-1", "driver.start", "c7", {"tool": "tap"})


def test_a_secret_is_no_reference() -> None:
    trace = Trace()
    trace.redact.learn("abcdefgh", "[secret]")
    assert trace.emit("who", "kind", "r-abcdefgh").ref == "r-[secret]"
    assert trace.emit("who", "kind").ref is None


def test_an_event_is_the_documented_line() -> None:
    (line,) = linked_lines([EVENT])
    assert line.startswith(
        '{"v":1,"seq":17,"t_ns":60000000000,"wall":"2026-01-01T00:01:00.000Z","actor":"phone-1","kind":"driver.start",'
        '"ref":"c7","data":{"tool":"tap"},"link":"'
    )
    assert Event.from_json(json.loads(line)) == EVENT


@pytest.mark.parametrize(
    "changed", [{"t_ns": 1}, {"actor": "phone-2"}, {"kind": "driver.end"}, {"ref": None}, {"data": {"tool": "swipe"}}]
)
def test_the_hash_covers_what_the_story_was(changed: dict[str, Any]) -> None:
    assert trace_sha256([replace(EVENT, **changed)]) != trace_sha256([EVENT])


@pytest.mark.parametrize("changed", [{"wall": "2030-01-01T00:00:00.000Z"}, {"seq": 18}])
def test_and_not_when_the_wall_clock_says_it_was(changed: dict[str, Any]) -> None:
    assert trace_sha256([replace(EVENT, **changed)]) == trace_sha256([EVENT])


def test_the_hash_is_a_chain_over_all_events_in_order() -> None:
    other = replace(EVENT, ref="c8")
    hashes = [trace_sha256(events) for events in ([], [EVENT], [EVENT, EVENT], [EVENT, other], [other, EVENT])]
    assert len(set(hashes)) == 5


def test_secrets_are_replaced_when_an_event_is_written_at_any_depth_and_before_it_is_hashed() -> None:
    traces = []
    for secret in ("4f1c9aab7d", "0ddba11c0de"):
        trace = Trace()
        trace.redact.learn(secret, "session-1")
        trace.emit("alice", "call.start", None, header=f"Bearer {secret}!", deep=[{"x": (secret, 1)}], **{secret: 2})
        traces.append(trace)
        assert secret not in repr(trace.events)
    assert traces[0].events[0].data == {
        "header": "Bearer session-1!",
        "deep": [{"x": ["session-1", 1]}],
        "session-1": 2,
    }
    assert traces[0].sha256() == traces[1].sha256()


def test_the_longer_of_two_secrets_is_replaced_first_and_keeps_its_first_alias() -> None:
    redact = Redactor()
    redact.learn("abcdefgh", "short")
    assert redact.learn("abcdefgh-ijkl", "long") == "long"
    assert redact.learn("abcdefgh-ijkl", "other") == "long"
    assert redact("abcdefgh-ijkl abcdefgh") == "long short"
    redact.learn("", "nothing")
    assert redact("x") == "x"


def test_a_text_that_was_written_before_its_secret_was_known_is_written_anew() -> None:
    redact = Redactor()
    event = {"abcdefgh": "to abcdefgh", "deep": ["abcdefgh"]}
    assert redact(event) == event
    redact.learn("abcdefgh", "session-1")
    assert redact(event) == {"session-1": "to session-1", "deep": ["session-1"]}


def test_what_is_no_text_stays_as_it_is_and_mappings_become_objects() -> None:
    class Name(str):
        pass

    redact = Redactor()
    redact.learn("abcdefgh", "session-1")
    given = {1: True, None: 1.5, "none": None, "name": Name("abcdefgh"), "map": MappingProxyType({"abcdefgh": (2,)})}
    assert redact(given) == {
        "1": True,
        "None": 1.5,
        "none": None,
        "name": "session-1",
        "map": {"session-1": [2]},
    }
    assert redact({}) == {}


def test_each_link_covers_the_line_and_all_before_it() -> None:
    plain = [split_link(line)[1] for line in linked_lines([EVENT, EVENT, EVENT])]
    wall = [split_link(line)[1] for line in linked_lines([replace(EVENT, wall="later"), EVENT, EVENT])]
    assert len(set(plain)) == 3
    assert all(one != two for one, two in zip(plain, wall, strict=True)), "the chain covers wall time too"


@given(st.datetimes(timezones=st.just(UTC)))
def test_wall_time_is_written_as_iso_8601_in_milliseconds(moment: datetime) -> None:
    assert wall_text(moment) == moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_stamped_by_the_clock_of_its_example_unless_another_process_stamped_it() -> None:
    trace = Trace()
    trace.use_clock(lambda: 5, lambda: datetime(2026, 1, 1, 0, 1, tzinfo=UTC))
    assert trace.emit("a", "example").t_ns == 5
    told = trace.emit("a", "driver.start", t_ns=3)
    assert (told.seq, told.t_ns, told.wall) == (1, 3, "2026-01-01T00:01:00.000Z")
