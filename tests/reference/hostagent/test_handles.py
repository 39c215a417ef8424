"""Lease handles by themselves: what one is made of, and whom it stands for."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.errors import Reason, ToolError
from lasttick.reference.hostagent import handles


class Bytes:
    """Entropy that counts, so that a test sees how much of it is used."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def token_bytes(self, n: int) -> bytes:
        self.asked.append(n)
        return bytes([len(self.asked)]) * n


def test_a_handle_is_32_fresh_bytes() -> None:
    entropy = Bytes()
    first, second = handles.mint(entropy), handles.mint(entropy)
    assert entropy.asked == [32, 32]
    assert first != second
    assert {len(first), len(second)} == {43}


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_another_handle_or_another_device_is_another_holder(one: tuple[str, str], other: tuple[str, str]) -> None:
    same = handles.holder_of_handle(*one) == handles.holder_of_handle(*other)
    # A newline in a handle cannot move the border: what `presented` lets in is matched as a whole.
    assert same == (one == other) or "\n" in one[0] + other[0]


def test_a_holder_shows_nothing_of_its_handle() -> None:
    handle = handles.mint(Bytes())
    shown = handles.holder_of_handle(handle, "phone-1")
    assert shown.kind == "mcp"
    assert len(shown.id) == 64
    assert not any(handle[n : n + 6] in shown.id for n in range(len(handle) - 6))


@pytest.mark.parametrize("meta", [None, {}, {handles.META_KEY: None}, {"other": "x"}])
def test_no_handle(meta: dict[str, object] | None) -> None:
    assert handles.presented(meta) is None


@pytest.mark.parametrize("wrong", [17, True, [], {}, "", "x" * 201, "two\nlines", "\ud800"])
def test_what_cannot_be_a_handle_is_bad_arguments(wrong: object) -> None:
    with pytest.raises(ToolError, match="lease handle that a result's _meta gave") as caught:
        handles.presented({handles.META_KEY: wrong})
    assert caught.value.reason == "bad_arguments"
    assert str(wrong)[:40] not in str(caught.value) or wrong in ("", [], {}, 17, True)


def test_the_handle_itself_comes_back_unchanged() -> None:
    assert handles.presented({handles.META_KEY: "x" * 200}) == "x" * 200


def test_the_page_for_users_names_the_key_and_every_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "device-leases.md").read_text(encoding="utf-8")
    assert handles.META_KEY in page
    assert [reason for reason in get_args(Reason) if f"`{reason}`" not in page] == []
