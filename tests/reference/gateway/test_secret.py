"""GW-04 and ruling 6: nothing but `matches` can decide on a secret."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.reference.gateway.secret import AdminToken, AgentSecret

SECRET = AgentSecret("Right-Secret")


@pytest.mark.parametrize(
    "decide",
    [
        lambda: SECRET == "Right-Secret",
        lambda: SECRET != "Right-Secret",
        lambda: "Right-Secret" == SECRET,  # noqa: SIM300
        lambda: SECRET == SECRET,
        lambda: SECRET < "x",
        lambda: operator.ge(SECRET, "x"),
        lambda: hash(SECRET),
        lambda: {SECRET},
        lambda: {"Right-Secret": 1}.get(SECRET),
        lambda: SECRET[0],
        lambda: SECRET[:2],
        lambda: list(SECRET),
        lambda: "R" in SECRET,
        lambda: len(SECRET),
        lambda: bool(SECRET),
        lambda: "x" + SECRET,
        lambda: SECRET in ["Right-Secret"],
        lambda: pickle.dumps(SECRET),
        lambda: copy.copy(SECRET),
        lambda: copy.deepcopy(SECRET),
    ],
)
def test_everything_else_raises(decide: Callable[[], Any]) -> None:
    with pytest.raises(TypeError) as raised:
        decide()
    assert "Right" not in str(raised.value)


def test_it_shows_nothing() -> None:
    for text in (repr(SECRET), str(SECRET), f"{SECRET}", f"{SECRET!r}", "%s" % SECRET):  # noqa: UP031
        assert text == "<AgentSecret>"
    assert not hasattr(SECRET, "__dict__")


@pytest.mark.parametrize(
    ("presented", "expected"),
    [
        ("Right-Secret", True),
        ("right-secret", False),
        ("Right-Secre", False),
        ("Right-Secrets", False),
        ("", False),
        (" Right-Secret", False),
        ("Right-Secret\x00", False),
        ("Right-Sécret", False),
        ("Right-Secretü", False),
        ("\ud800", False),
        ("x" * 60_000, False),
    ],
)
def test_matches(presented: str, expected: bool) -> None:
    assert SECRET.matches(presented) is expected


@given(own=st.text(min_size=1), presented=st.text())
def test_matches_is_equality_of_ascii_texts_and_never_raises(own: str, presented: str) -> None:
    assert AgentSecret(own).matches(presented) is (own == presented and own.isascii())


def test_a_secret_that_no_header_carries_is_never_matched() -> None:
    assert not AgentSecret("gehe\u00efm").matches("gehe\u00efm")
    assert not AgentSecret("gehe\u00efm").matches("gehe\u00efm".encode().decode("latin-1"))


@pytest.mark.parametrize("setting", [None, ""])
def test_no_setting_is_no_secret(setting: str | None) -> None:
    assert AgentSecret.configured(setting) is None


def test_an_empty_secret_can_not_be_made() -> None:
    with pytest.raises(ValueError, match=r"AgentSecret is empty; expected .* ruling 6"):
        AgentSecret("")
    assert AdminToken.configured("x").matches("x")  # type: ignore[union-attr]
