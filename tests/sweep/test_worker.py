"""Does an item that is called at once get the verdict that pytest's own way gives it?"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.marks import scenario_id
from lasttick.sweep import worker

SOURCE = """
import asyncio
import pytest
from hypothesis import assume, example, given, strategies as st
from lasttick import World, scenario
from lasttick.targets.outcome import Inconclusive

@scenario("HA-04")
async def test_green(world: World) -> None:
    await world.advance(1)

@scenario("HA-04")
async def test_red(world: World) -> None:
    assert world.now_s == 1

@scenario("HA-04")
async def test_broken(world: World) -> None:
    raise RuntimeError("not an assertion")

@scenario("HA-04")
async def test_deadlock(world: World) -> None:
    await asyncio.get_running_loop().create_future()

@scenario("HA-04")
async def test_given_up(world: World) -> None:
    pytest.fail("given up")

@scenario("HA-04")
async def test_skips(world: World) -> None:
    pytest.skip("not today")

@scenario("HA-04", needs=("signals",))
async def test_of_another_mode(world: World) -> None:
    raise AssertionError("never played")

@scenario("HA-04")
async def test_cannot_tell(world: World) -> None:
    raise Inconclusive("nobody was there")

@scenario("HA-04")
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 2)])
@pytest.mark.parametrize("c", [1])
async def test_rows(world: World, a: int, b: int, c: int) -> None:
    assert a == b == c

@scenario("HA-04")
@given(n=st.integers(0, 3))
@example(n=1)
async def test_property(world: World, n: int) -> None:
    assert n < 9

@scenario("HA-04")
@given(n=st.integers(0, 3))
@example(n=1)
async def test_falsified(world: World, n: int) -> None:
    assume(n != 2)
    assert n == 1

@scenario("HA-04", sees=("never",))
@given(n=st.integers(0, 3))
@example(n=1)
async def test_unseen(world: World, n: int) -> None:
    pass

@scenario("HA-04")
@pytest.mark.parametrize("kind", ["green", "red"])
@given(n=st.integers(0, 3))
@example(n=1)
async def test_rows_of_properties(world: World, kind: str, n: int) -> None:
    assert kind == "green"

@pytest.fixture
def one():
    return 1

@pytest.fixture
def broken():
    raise OSError("no such thing")

@pytest.fixture
def kept(request):
    return request.param + 1

@scenario("HA-04")
async def test_with_fixture(world: World, one: int) -> None:
    assert one == 1

@scenario("HA-04")
async def test_with_broken_fixture(world: World, broken: int) -> None:
    pass

@scenario("HA-04")
@pytest.mark.parametrize("kept", [1], indirect=True)
async def test_indirect(world: World, kept: int) -> None:
    assert kept == 2
"""
BY_PYTEST = ("with-fixture", "with-broken-fixture", "indirect[1]")
EXPECTED = {
    "green": "pass",
    "red": "fail",
    "broken": "fail",
    "deadlock": "fail",
    "given-up": "fail",
    "skips": "not_applicable",
    "of-another-mode": "not_applicable",
    "cannot-tell": "inconclusive",
    "rows[1-1-1]": "pass",
    "rows[1-1-2]": "fail",
    "property": "pass",
    "falsified": "fail",
    "unseen": "inconclusive",
    "rows-of-properties[green]": "pass",
    "rows-of-properties[red]": "fail",
    "with-fixture": "pass",
    "with-broken-fixture": "fail",
    "indirect[1]": "pass",
}


class Both:
    """Plays every item in both ways."""

    def __init__(self) -> None:
        self.called: dict[str, str] = {}
        self.played: dict[str, str] = {}
        self.by_pytest: list[str] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        for item in session.items:
            name = scenario_id(item.nodeid).rpartition("/")[2]
            self.called[name] = worker.verdict(item)
            self.played[name] = worker.by_pytest(item)
            if worker.own_arguments(item) is None:
                self.by_pytest.append(name)
        return True


@pytest.fixture
def both(pytester: pytest.Pytester) -> Both:
    folder = pytester.mkpydir("scenarios") / "own"
    folder.mkdir()
    (folder / "test_story.py").write_text(SOURCE)
    plugin = Both()
    arguments = ["scenarios", "-q", "-p", "no:cacheprovider", "-p", "no:faker", "--import-mode=importlib"]
    pytester.inline_run(*arguments, "--lasttick-brief", plugins=[plugin])
    return plugin


def test_an_item_called_at_once_has_the_verdict_that_pytest_gives_it(both: Both) -> None:
    assert both.called == EXPECTED
    assert both.played == EXPECTED


def test_only_what_needs_fixtures_goes_the_long_way(both: Both) -> None:
    assert sorted(both.by_pytest) == sorted(BY_PYTEST)
