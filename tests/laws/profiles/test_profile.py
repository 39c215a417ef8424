"""How a verb is found: on a route or in the file, through `same`, or because MCP has it of itself."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lasttick.laws.profiles.profile import IMPLIED, MARKED, READING, VERBS, Binding, Profile


def profile(**sections: Any) -> Profile:
    return Profile.model_validate({"version": 1, **sections})


TWO_WAYS = profile(
    lag_s=3,
    effects={"http": "GET /log", "lag_s": 9},
    lease={
        "lag_s": 5,
        "use": {"tool": "swipe", "args": {"x": 1}, "timeout_s": 4},
        "acquire": {"same": "lease.use", "args": {"x": 2}, "lag_s": 7},
        "renew": {"same": "lease.acquire"},
        "release": {"same": "session.end"},
        "holder": {"absent": "no list"},
    },
    routes={"rest": {"lease": {"use": {"http": "POST /use"}, "release": {"http": "DELETE /"}}}},
)


def test_the_verbs_are_those_of_the_sections() -> None:
    assert len(VERBS) == len(set(VERBS)) == 23
    for verb in VERBS:
        assert profile().binding(verb) is None
    for verb in (*READING, *MARKED, *IMPLIED):
        assert verb in VERBS


@pytest.mark.parametrize("verb", ["lease.usee", "lease", "lease.ttl_s", "target", "", "effects.x"])
def test_what_is_no_verb(verb: str) -> None:
    with pytest.raises(KeyError):
        profile().binding(verb)
    with pytest.raises(KeyError):
        profile().reach(verb)


def test_same_borrows_and_keeps_what_it_says_itself() -> None:
    acquire = TWO_WAYS.reach("lease.acquire")
    assert acquire is not None
    assert (acquire.tool, acquire.args, acquire.timeout_s, acquire.same) == ("swipe", {"x": 2}, 4, None)
    renew = TWO_WAYS.reach("lease.renew")
    assert renew is not None
    assert (renew.tool, renew.args) == ("swipe", {"x": 2})
    use = TWO_WAYS.binding("lease.use")
    assert use is not None
    assert use.args == {"x": 1}


def test_a_route_comes_first_also_through_same() -> None:
    for verb in ("lease.use", "lease.acquire"):
        binding = TWO_WAYS.reach(verb, "rest")
        assert binding is not None
        assert (binding.http, binding.tool) == ("POST /use", None)
    assert TWO_WAYS.reach("lease.use", "other") == TWO_WAYS.reach("lease.use")
    assert TWO_WAYS.reach("effects", "rest") == TWO_WAYS.effects


def test_what_is_absent_has_no_binding_and_what_is_implied_an_empty_one() -> None:
    assert TWO_WAYS.reach("lease.holder") is None
    assert TWO_WAYS.reach("session.end") == Binding()
    assert TWO_WAYS.reach("lease.release") == Binding()
    release = TWO_WAYS.reach("lease.release", "rest")
    assert release is not None
    assert release.http == "DELETE /"


def test_what_a_verb_stands_for() -> None:
    assert TWO_WAYS.stands_for("lease.release") == "session.end"
    assert TWO_WAYS.stands_for("lease.release", "rest") == "lease.release"
    assert TWO_WAYS.stands_for("lease.renew") == "lease.use"
    assert TWO_WAYS.stands_for("tools.call") == "tools.call"


def test_mcp_implies_three_verbs_unless_something_is_written_for_them() -> None:
    assert [verb for verb in VERBS if TWO_WAYS.implied(verb)] == ["session.open", "session.end", "tools.list"]
    assert not any(profile(lease={"use": {"http": "POST /"}}).implied(verb) for verb in VERBS)
    own = profile(session={"end": {"absent": "none"}}, tools={"call": {"tool": "x"}})
    assert [verb for verb in VERBS if own.implied(verb)] == ["session.open", "tools.list"]


def test_a_poll_or_a_route_speaks_mcp_too() -> None:
    poll = {"http": "POST /", "poll": {"tool": "x", "until": [{"/a": 1}]}}
    assert profile(lease={"acquire": poll}).speaks_mcp()
    assert profile(routes={"meta": {"tools": {"call": {"tool": "x"}}}}).speaks_mcp()
    assert not profile().speaks_mcp()


@pytest.mark.parametrize(
    ("verb", "lag_s"), [("effects", 9), ("log", 3), ("lease.acquire", 7), ("lease.use", 5), ("tools.call", 3)]
)
def test_the_nearest_lag_counts(verb: str, lag_s: float) -> None:
    assert TWO_WAYS.lag_of(verb) == lag_s


def test_numbers_may_be_written_as_text_and_true_is_none() -> None:
    assert profile(lag_s="2.5", lease={"capacity": "3"}).lease.capacity == 3
    for bad in (True, "soon", 0, -1, 2e6, "inf", "nan"):
        with pytest.raises(ValidationError):
            profile(lag_s=bad)
    for bad in (True, 0, 1.5, "1.5"):
        with pytest.raises(ValidationError):
            profile(lease={"capacity": bad})
    for bad in (True, 2, "1", None):
        with pytest.raises(ValidationError):
            profile(version=bad)


def test_the_default_policy_is_the_contracts() -> None:
    lease, approval, tools = profile().lease, profile().approval, profile().tools
    assert (lease.busy, lease.in_flight, lease.session_end) == ("refuses", "pins", "frees")
    assert (lease.capacity, lease.restart, lease.tolerance_s) == (1, "ends", 0.25)
    assert (lease.ttl_s, lease.renewed_by, approval.timeout_s) == (None, None, None)
    assert (approval.on_timeout, approval.restart, approval.tolerance_s) == ("expired", "ends", 0.25)
    assert (tools.foreign, profile().lag_s) == ("hidden", 1)
