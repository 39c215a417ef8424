"""A mutant replaces one attribute while it is on, and leaves not a trace of itself; ids are found or told apart."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from lasttick.mutants import Mutant, Seam, UnknownMutant, catalogue, find

MUTANTS = catalogue()


class Base:
    def rule(self) -> str:
        return "right"


class Part(Base):
    limit = 1

    @staticmethod
    def source() -> str:
        return "monotonic"

    @classmethod
    def kind(cls) -> str:
        return cls.__name__


def test_replace_and_put_back() -> None:
    part = Part()
    with Seam().replace(Part, "limit", 2):
        assert part.limit == 2
    assert Part.limit == 1


def test_an_inherited_attribute_is_gone_again_afterwards() -> None:
    with Seam().replace(Part, "rule", lambda self: "wrong"):
        assert Part().rule() == "wrong"
        assert Base().rule() == "right"
    assert "rule" not in vars(Part)
    assert Part().rule() == "right"


@pytest.mark.parametrize("name", ["source", "kind"])
def test_descriptors_come_back_as_they_were(name: str) -> None:
    before = vars(Part)[name]
    with Seam().replace(Part, name, staticmethod(lambda: "wall")):
        assert getattr(Part(), name)() == "wall"
    assert vars(Part)[name] is before
    assert (Part().source(), Part().kind()) == ("monotonic", "Part")


def test_put_back_when_the_scenario_fails_and_in_any_order() -> None:
    module = SimpleNamespace(rule="right")
    with suppress(ZeroDivisionError), Seam().replace(module, "rule", "wrong"):
        with Seam().replace(module, "rule", "worse"):
            assert module.rule == "worse"
        assert module.rule == "wrong"
        raise ZeroDivisionError
    assert vars(module) == {"rule": "right"}


def test_wrap_is_given_the_right_one() -> None:
    with Seam().wrap(Base, "rule", lambda right: lambda self: f"not {right(self)}"):
        assert Base().rule() == "not right"
    assert Base().rule() == "right"


def test_a_seam_that_moved_is_told() -> None:
    with pytest.raises(AttributeError, match=r"has no 'gone': the seam of a mutant moved; mend the mutant's patch"):
        Seam().replace(Part, "gone", 1).__enter__()
    assert not hasattr(Part, "gone")


def attributes() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything a mutant could replace: attributes of the modules and classes of model, reference and compare."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(("lasttick.model", "lasttick.reference", "lasttick.compare")):
            continue
        for key, value in vars(module).items():
            yield (name, key), value
            if isinstance(value, type) and value.__module__ == name:
                for inner, member in vars(value).items():
                    yield (name, key, inner), member


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.id for mutant in MUTANTS])
def test_each_mutant_changes_something_and_puts_all_of_it_back(mutant: Mutant) -> None:
    before = dict(attributes())
    for _ in range(2):
        with mutant.applied():
            during = dict(attributes())
            changed = [path for path, value in during.items() if before.get(path, during) is not value]
            assert changed, "nothing is replaced while it is on"
        after = dict(attributes())
        assert after.keys() == before.keys()
        assert [path for path in before if after[path] is not before[path]] == []


def test_mutants_tell_what_they_get_wrong() -> None:
    for mutant in MUTANTS:
        assert mutant.id.startswith(("hostagent/", "gateway/", "lineup/", "vaultclaw/")), mutant.id
        assert len(mutant.text) > 20, mutant.id
        assert "\n" not in mutant.text, mutant.id
        assert find(mutant.id) == mutant


def test_the_catalogue_is_sorted() -> None:
    assert [mutant.id for mutant in MUTANTS] == sorted(mutant.id for mutant in MUTANTS)


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("hostagent/wrapper-wait", "hostagent/wrapper-waits"),
        ("wrapper-waits", "hostagent/wrapper-waits"),
        ("WRAPPER-WAITS", "gateway/"),
        ("", "gateway/"),
        ("\x00" * 1000, "gateway/"),
    ],
)
def test_an_unknown_mutant_is_told_with_near_ones(asked: str, near: str) -> None:
    with pytest.raises(UnknownMutant) as told:
        find(asked)
    message = str(told.value)
    assert message.startswith("unknown mutant ")
    assert near in message.partition("expected an id such as ")[2]
    assert "`lasttick requirements` lists the mutants" in message
