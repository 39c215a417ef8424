"""Which mutants may change what was played? Seams that are entered are told, in forked children too."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from lasttick.mutants import Mutant, catalogue
from lasttick.sweep.reach import Reach


class Part:
    limit = 1

    def rule(self) -> str:
        return "right"

    async def wait(self) -> int:
        await asyncio.sleep(0)
        return threading.get_ident()

    @staticmethod
    def source() -> str:
        return "monotonic"


def breaking(name: str) -> Mutant:
    return Mutant(f"own/{name}", "HA-01", "", "", lambda seam: seam.replace(Part, name, None))


MUTANTS = [breaking(name) for name in ("limit", "rule", "source", "wait")]


def changeable(do: Callable[[], object]) -> list[str]:
    reach = Reach(MUTANTS)
    with reach.watching():
        do()
        return [id_.removeprefix("own/") for id_ in reach.changeable_by(reach.take())]


def in_a_child(do: Callable[[], object]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            do()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def test_what_is_never_entered_changes_nothing_but_a_constant_may() -> None:
    assert changeable(lambda: None) == ["limit"]


def test_functions_that_are_entered_are_told_once_whatever_their_kind() -> None:
    assert changeable(lambda: (Part().rule(), Part().rule())) == ["limit", "rule"]
    assert changeable(lambda: Part.source()) == ["limit", "source"]
    assert changeable(lambda: asyncio.run(Part().wait())) == ["limit", "wait"]


def test_a_watched_coroutine_function_still_looks_like_one() -> None:
    seen: list[Any] = []
    changeable(lambda: seen.append(inspect.iscoroutinefunction(Part.wait)))
    assert seen == [True], "a framework would run it in a thread"


def test_each_take_starts_anew() -> None:
    reach = Reach(MUTANTS)
    with reach.watching():
        Part().rule()
        in_a_child(lambda: Part.source())
        assert len(reach.take()) == 2
        assert reach.take() == []
        Part().rule()
        assert len(reach.take()) == 1


def test_a_child_tells_what_it_entered() -> None:
    assert changeable(lambda: in_a_child(lambda: Part.source())) == ["limit", "source"]


def test_a_child_that_is_killed_has_told_what_it_entered_before() -> None:
    def die() -> None:
        Part().rule()
        os.kill(os.getpid(), signal.SIGKILL)

    assert changeable(lambda: in_a_child(die)) == ["limit", "rule"]


def test_afterwards_the_seams_are_as_before_and_no_pipe_is_left_open() -> None:
    before = {name: vars(Part)[name] for name in ("rule", "source", "wait")}
    opened = len(os.listdir("/proc/self/fd"))
    changeable(lambda: Part().rule())
    assert {name: vars(Part)[name] for name in before} == before
    assert len(os.listdir("/proc/self/fd")) == opened


def test_all_seams_of_the_catalogue_fit_a_mark_and_the_pipe() -> None:
    reach = Reach(catalogue())
    names = len(reach._names)
    assert 50 < names < 256**2
    # Ten children that enter every seam there is.
    with reach.watching():
        for _ in range(10):
            in_a_child(lambda: [reach._reach(name) for name in reach._names])
        assert len(reach.take()) == names


@pytest.mark.parametrize("mutant", catalogue(), ids=lambda mutant: mutant.id)
def test_each_mutant_has_a_seam(mutant: Mutant) -> None:
    reach = Reach([mutant])
    assert reach.changeable_by(reach._names) == [mutant.id]
