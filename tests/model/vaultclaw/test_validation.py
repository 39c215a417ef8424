"""Ruling 7, case by case. Source: ruling vaultclaw 7; VC-06."""

from typing import Any

import pytest

from lasttick.model.vaultclaw.validation import says_no


@pytest.mark.parametrize(
    "body",
    [
        {"valid": False},
        {"valid": None},
        {"valid": "true"},
        {"valid": 1},
        {"valid": []},
        {"errors": [{"code": "x"}]},
        {"errors": "no"},
        {"errors": {"a": 1}},
        {"valid": False, "errors": []},
    ],
)
def test_no(body: dict[str, Any]) -> None:
    assert says_no(body)


@pytest.mark.parametrize(
    "body", [None, {}, {"valid": True}, {"valid": True, "errors": ["odd"]}, {"errors": []}, {"errors": None}, {"ok": 0}]
)
def test_not_a_no(body: dict[str, Any] | None) -> None:
    assert not says_no(body)
