"""A law calls no tool that the profile does not give away for it, and knows who may use which."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.laws.judges.tools import callable_tools, listed, may_use, same_credentials
from lasttick.laws.profiles.profile import CallerSpec, Profile

from .sayings import said

LISTED = ("rm_rf", "notes", "rec__ltread", "rec__ltwrite", "swipe")


def profile(call: dict[str, Any] | None, **callers: dict[str, Any]) -> Profile:
    return Profile.model_validate({"version": 1, "tools": {"call": call} if call else {}, "callers": callers})


def test_the_recorders_tools_first_and_then_what_some_caller_is_said_to_use() -> None:
    one = profile({"tool": "{tool}"}, alice={"may": ["swipe", "gone"]}, bob={})
    assert callable_tools(one, LISTED) == ("rec__ltwrite", "rec__ltread", "swipe")
    assert callable_tools(one, ("rm_rf", "notes")) == ()


def test_a_binding_with_one_tool_or_address_has_only_that() -> None:
    assert callable_tools(profile({"tool": "notes", "args": {"m": "{mark}"}}), LISTED) == ("notes",)
    assert callable_tools(profile({"tool": "absent"}), LISTED) == ()
    assert callable_tools(profile({"http": "POST /run"}), LISTED) == ("",)
    assert callable_tools(profile(None), LISTED) == ()


def test_who_may() -> None:
    assert may_use(CallerSpec(), "anything")
    assert not may_use(CallerSpec(may=[]), "anything")
    assert may_use(CallerSpec(may=["swipe"]), "swipe")
    assert not may_use(CallerSpec(may=["swipe"]), "swipe_all")
    assert may_use(CallerSpec(may=["ltread"]), "rec__ltread")
    assert not may_use(CallerSpec(may=["ltread"]), "rec__ltwrite")


@pytest.mark.parametrize(
    ("reply", "names"),
    [
        (said(1, "tools.list", body={"tools": [{"name": "a"}, {"title": "no name"}, "odd"]}), ("a",)),
        (said(1, "tools.list", each=({"name": "b"},), body={"tools": [{"name": "a"}]}), ("b",)),
        (said(1, "tools.list", "denied", body={"tools": [{"name": "a"}]}), ()),
        (said(1, "tools.list", body={"tools": None}), ()),
        (said(1, "tools.list", body="<html>"), ()),
    ],
)
def test_names_of_a_list(reply: Any, names: tuple[str, ...]) -> None:
    assert listed(reply) == names


def test_credentials_are_the_headers_with_what_fills_them() -> None:
    header = {"headers": {"Authorization": "Bearer {token}"}}
    alice, bob = CallerSpec(**header, vars={"token": "a", "desk": 1}), CallerSpec(**header, vars={"token": "b"})
    assert not same_credentials(alice, bob)
    assert same_credentials(alice, CallerSpec(**header, vars={"token": "a", "desk": 2}))
    assert same_credentials(CallerSpec(vars={"user": "a"}), CallerSpec(vars={"user": "b"}))
    assert not same_credentials(alice, CallerSpec())
