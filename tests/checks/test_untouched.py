"""A refused tool call leaves nothing at the third party: the check on histories made by hand, and where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.checks import STANDING, standing, untouched
from lasttick.engine.trace import Event


class Story:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def see(self, kind: str, ref: str | None = None, **data: Any) -> Story:
        t_ns = len(self.events) * 1_000_000_000
        self.events.append(Event(len(self.events), t_ns, "", "part", kind, ref, data))
        return self

    def call(self, run: str | None, status: int | None, code: str | None = None) -> Story:
        self.see("gateway.call", run)
        return self if status is None else self.see("gateway.answer", run, status=status, code=code)

    def third(self, run: str | None) -> Story:
        return self.see("third.request", run, path="/shop/refund")


@pytest.mark.parametrize(
    "story",
    [
        Story().call("r-1", 200).third("r-1"),
        Story().call("r-1", 200).call("r-1", 403, "NOT_IN_MANIFEST").third("r-1"),
        Story().call("r-1", 403, "NOT_IN_MANIFEST"),
        Story().call("r-1", None).third("r-1"),
        Story().call("r-1", 504, "UPSTREAM_TIMEOUT").third("r-1"),
        Story().call("r-1", 502, "UPSTREAM_UNREACHABLE"),
        Story().call("r-1", 403, None).third("r-1"),
        Story().third("r-1").call("r-1", 200),
    ],
    ids=["carried out", "one of two", "refused", "no answer", "slow", "never there", "no code", "clocks differ"],
)
def test_what_holds(story: Story) -> None:
    assert untouched(story.events).verdict == "pass"


@pytest.mark.parametrize(
    ("story", "t_s", "whose"),
    [
        (Story().call("r-1", 403, "POLICY_DENIED").third("r-1"), 2.0, "of run r-1"),
        (Story().call("r-1", 200).third("r-1").third("r-1"), 3.0, "of run r-1"),
        (Story().call("r-1", 200).third("r-2"), 2.0, "of run r-2"),
        (Story().call("r-1", 200).third(None), 2.0, "of no run"),
        (Story().call("r-1", 200).see("example").third("r-1"), 3.0, "of run r-1"),
        (Story().call(None, 401, "UNAUTHENTICATED").third(None), 2.0, "of no run"),
    ],
    ids=["refused", "twice", "another run", "no run", "another example", "nobody"],
)
def test_what_does_not(story: Story, t_s: float, whose: str) -> None:
    verdict = untouched(story.events)
    assert (verdict.id, verdict.verdict, verdict.t_s) == ("GW-07", "fail", t_s)
    assert f"/shop/refund {whose}, by no call that went through; expected" in verdict.reason


def test_without_a_call_it_says_nothing_and_does_not_stand() -> None:
    story = Story().see("example").third("r-1")
    assert untouched(story.events).verdict == "not_applicable"
    assert untouched([]).verdict == "not_applicable"
    assert standing(story.events) == STANDING


def test_it_stands_on_every_trace_with_a_tool_call() -> None:
    assert standing(Story().call("r-1", 200).events) == (*STANDING, untouched)
