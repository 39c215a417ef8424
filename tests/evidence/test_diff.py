"""The first event in which two histories differ."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.trace import Event
from lasttick.evidence import by_example, first_divergence

from .conftest import events_of

EVENTS = events_of()


def changed(index: int, **fields: object) -> list[Event]:
    return [*EVENTS[:index], replace(EVENTS[index], **fields), *EVENTS[index + 1 :]]  # type: ignore[arg-type]


def test_the_same_history() -> None:
    read_back = [Event.from_json(json.loads(json.dumps(event.as_json()))) for event in EVENTS]
    assert first_divergence(read_back, EVENTS) is None
    # Neither is part of the story.
    assert first_divergence(EVENTS, changed(2, wall="2026-01-01T00:00:00.000Z", seq=99)) is None


@given(index=st.integers(0, len(EVENTS) - 1))
def test_the_first_event_that_differs(index: int) -> None:
    divergence = first_divergence(EVENTS, changed(index, t_ns=77, actor="eve"))
    assert divergence is not None
    assert divergence.index == index
    assert divergence.fields == ("t_ns", "actor")
    assert divergence.before == tuple(EVENTS[max(0, index - 3) : index])


def test_fields_of_the_data() -> None:
    divergence = first_divergence(EVENTS, changed(2, data={"ok": False, "code": 1}))
    assert divergence is not None
    assert divergence.fields == ("data.ok", "data.code")
    turned = first_divergence(EVENTS, changed(1, data=dict(reversed(EVENTS[1].data.items()))))
    assert turned is not None
    assert turned.fields == ("data",)


def test_a_history_that_ends() -> None:
    for one, other in ((EVENTS, EVENTS[:-1]), (EVENTS[:-1], EVENTS)):
        divergence = first_divergence(one, other)
        assert divergence is not None
        assert divergence.index == len(EVENTS) - 1
        assert (divergence.recorded is None) == (one is not EVENTS)
        assert (divergence.repeated is None) == (other is not EVENTS)
    assert first_divergence([], []) is None


def test_examples_are_told_apart() -> None:
    assert [len(example) for example in by_example(EVENTS)] == [3, 4]
    assert by_example([]) == []
    assert [len(example) for example in by_example(EVENTS[1:3])] == [2]
