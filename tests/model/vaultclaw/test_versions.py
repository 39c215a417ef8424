"""Which version is the highest. Source: contract vaultclaw 15, "Versions"."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.versions import highest, unsafe_name, version_key

versions = st.text("019az.-_+é", max_size=6)


def test_the_contracts_chain() -> None:
    chain = ["1.9.0", "1.10.a", "1.10.0", "1.10.0-rc.1"]
    assert sorted(chain[2:] + chain[:2], key=version_key) == chain


def test_integers_are_above_texts_and_of_any_size() -> None:
    chain = ["a", "b", "0", "9", "10", "9" * 5_000, "1" + "0" * 5_000]
    assert sorted(chain[2:] + chain[:2], key=version_key) == chain
    assert version_key("١") < version_key("0"), "digits of other scripts are text"


def test_the_highest() -> None:
    assert highest([]) is None
    assert highest(["1.2.0", "1.10.0", "1.9"]) == "1.10.0"


@given(versions, versions)
def test_two_versions_tie_only_when_they_are_the_same(one: str, other: str) -> None:
    assert (version_key(one) == version_key(other)) == (one == other)


@given(st.text(max_size=300))
def test_a_safe_name_stays_in_its_folder(name: str) -> None:
    if not unsafe_name(name):
        assert not set(name) & set("/\\\0")
        assert name not in (".", "..")
        assert len(name.encode()) <= 250
