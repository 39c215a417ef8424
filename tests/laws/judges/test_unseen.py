"""Which tools of a profile are there at all?"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.laws.judges.tools import unseen
from lasttick.laws.profiles.profile import Profile

CALLERS = {"alice": {"may": ["look", "wriet_note"]}, "bob": {"may": ["ltread"]}, "boss": {"decides": True}}


def profile(**callers: Any) -> Profile:
    return Profile.model_validate({"version": 1, "callers": {**CALLERS, **callers}})


def test_a_tool_that_no_list_shows_is_named_with_what_is_near() -> None:
    shown = {"alice": ["look", "write_note"], "bob": ["up__ltread"]}
    assert unseen(profile(), shown) == [
        "alice may use 'wriet_note', and tools/list shows it to nobody; did you mean write_note?"
    ]
    assert unseen(profile(), {**shown, "bob": ["up__ltread", "wriet_note"]}) == [], "somebody else's list shows it"


@pytest.mark.parametrize("shown", [{}, {"alice": ["look"]}])
def test_while_a_list_is_not_known_nothing_is_said(shown: dict[str, list[str]]) -> None:
    assert unseen(profile(), shown) == []


def test_who_is_refused_a_list_sees_nothing() -> None:
    (said,) = unseen(profile(alice={"may": []}), {"alice": [], "bob": []})
    assert said == "bob may use 'ltread', and tools/list shows it to nobody; correct `may`, or the target"
