"""The check against a model that is too simple to be wrong: every pair of calls, every instant of a small grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick.checks import exclusive, own_turn

TTL = 4
CALLERS = ("alice", "bob", "cloud:as-1")


@dataclass(frozen=True)
class Call:
    caller: str
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


calls_of_a_device = st.lists(
    st.builds(Call, st.sampled_from(CALLERS), st.integers(0, 20), st.integers(1, 9)),
    max_size=6,
    unique_by=lambda call: call.start,
)


def holds(calls: list[Call], caller: str, t: int, ends: dict[str, int]) -> bool:
    """Does `caller` hold the device at the instant t, by what it did before t?"""
    before = [call for call in calls if call.caller == caller and call.start < t]
    if not before:
        return False
    if any(t < call.end for call in before):
        return True
    if caller.startswith("cloud:"):
        return any(call.caller == caller and call.start > t for call in calls)
    return t < max(call.end for call in before) + TTL and not ends.get(caller, 99) < t


def naive_pass(calls: list[Call], ends: dict[str, int]) -> bool:
    return not any(holds(calls, other, call.start, ends) for call in calls for other in CALLERS if other != call.caller)


@settings(max_examples=400, deadline=None)
@given(calls=calls_of_a_device, ends=st.dictionaries(st.sampled_from(CALLERS[:2]), st.integers(0, 25)))
@example(calls=[Call("alice", 0, 1), Call("bob", 1 + TTL, 1)], ends={})
@example(calls=[Call("alice", 0, 1), Call("bob", TTL, 1)], ends={})
@example(calls=[Call("alice", 0, 9), Call("bob", 5, 1)], ends={"alice": 3})
def test_agrees_with_the_naive_model(new_story: Any, calls: list[Call], ends: dict[str, int]) -> None:
    story = new_story(ttl_s=TTL)
    for caller in CALLERS[:2]:
        story.open(0, caller, f"session-{caller}")
    facts = [(call.end, "driver.end", call) for call in calls] + [(call.start, "driver.start", call) for call in calls]
    for t, kind, call in sorted(facts, key=lambda fact: (fact[0], fact[1])):  # at one instant, ends come first
        story.add(t, "phone-1", kind, f"d{call.start}", caller=call.caller, tool="tap")
    for caller, t in ends.items():  # between two instants of the grid, so that "before" needs no tie rule
        story.end(t + 0.5, caller, f"session-{caller}")
    expected = naive_pass(calls, ends)
    assert exclusive(story.events).verdict == ("not_applicable" if not calls else "pass" if expected else "fail")
    overlap = any(a.caller == b.caller and a.start < b.start < a.end for a in calls for b in calls)
    assert own_turn(story.events).verdict == ("not_applicable" if not calls else "fail" if overlap else "pass")
