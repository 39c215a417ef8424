"""How a message tells what was answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lasttick.laws.reply import Reply

from .sayings import said


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        ({"status": 410}, "HTTP 410"),
        ({"status": 200, "error": {"code": -32602, "message": "no"}}, "error code -32602"),
        ({"status": 200, "error": {"message": "no"}}, "this reply"),
        ({}, "this reply"),
        ({"status": 500, "error": "no"}, "HTTP 500"),
    ],
)
def test_an_error_says_which_rule_is_missing(reply: dict[str, Any], what: str) -> None:
    one = said(1, outcome="error")
    one = replace(one, reply=Reply(False, **reply))
    assert one.answer == f"answered error; no rule of [outcomes] knows {what} (docs/check.md, Outcomes)"


@pytest.mark.parametrize("outcome", ["ok", "busy", "denied", "lost", "pending"])
def test_any_other_answer_is_told_by_its_outcome(outcome: Any) -> None:
    assert said(1, outcome=outcome).answer == f"answered {outcome}"
