"""`@given` scenarios: a fresh world per example, one entry in the verdicts, the same examples whatever is loaded."""

from __future__ import annotations

import re
from typing import Any

import pytest

FRESH = """
SEEN = []

@scenario("HA-06")
@settings(max_examples=4)
@given(n=st.integers(0, 100))
async def test_fresh(world: World, n: int) -> None:
    assert world.now_s == 0
    assert world.device("phone-1").log == []
    host = await world.hostagent()
    assert (await (await host.client("alice")).tap("phone-1")).ok
    await world.advance(10)
    SEEN.append((world, n))
    assert len({id(one) for one, _ in SEEN}) == len(SEEN)
"""


def test_each_example_has_a_fresh_world(project: Any) -> None:
    project.write(FRESH)
    ran = project.run()
    entry = ran.scenarios["fresh"]
    assert (entry["verdict"], entry["reason"]) == ("pass", "")
    assert entry["examples"] == {"run": 4, "failed": 0}
    assert entry["virtual_s"] == 40
    starts = [event for event in ran.events("fresh") if event["kind"] == "example"]
    assert [event["data"]["number"] for event in starts] == [1, 2, 3, 4]
    assert [event["t_ns"] for event in starts] == [0, 0, 0, 0]
    assert [event["seq"] for event in ran.events("fresh")] == list(range(len(ran.events("fresh"))))


def test_the_shrunk_example_is_shown(project: Any) -> None:
    project.write("""
@scenario("HA-06")
@given(n=st.integers(0, 1000))
async def test_small(world: World, n: int) -> None:
    await world.advance(n)
    assert n < 10, f"{n} is not small"
""")
    ran = project.run()
    entry = ran.scenarios["small"]
    assert (entry["verdict"], entry["reason"]) == ("fail", "10 is not small")
    assert entry["falsified"]["args"] == {"n": "10"}
    assert re.fullmatch(r"lasttick replay \d{8}T\d{6}Z-\w+ own/story/small", entry["falsified"]["replay"])
    assert entry["examples"]["failed"] > 1
    assert "falsified by: n=10" in ran.out
    examples = [event["data"] for event in ran.events("small") if event["kind"] == "example"]
    # Shrinking is not traced: the examples up to the first failure, then the shrunk one.
    assert examples[-1]["arguments"] == {"n": "10"}
    assert len(examples) < entry["examples"]["run"]


def test_an_inconclusive_example_makes_the_scenario_inconclusive(project: Any) -> None:
    project.write("""
@scenario("HA-06")
@given(n=st.integers(0, 3))
@example(n=2)
async def test_unknown(world: World, n: int) -> None:
    if n == 2:
        world.inconclusive("two cannot be told")
""")
    entry = project.run().scenarios["unknown"]
    assert (entry["verdict"], entry["reason"]) == ("inconclusive", "two cannot be told")


def test_a_broken_invariant_is_worse_than_an_inconclusive_end(project: Any) -> None:
    project.write("""
@scenario("HA-04")
async def test_both(world: World) -> None:
    host, other = await world.hostagent(), await world.hostagent()
    alice, bob = await host.client("alice"), await other.client("bob")
    await alice.tap("phone-1")
    await bob.tap("phone-1")
    world.inconclusive("the machine was too busy")
""")
    entry = project.run().scenarios["both"]
    assert entry["verdict"] == "fail"
    assert entry["reason"].startswith("HA-05: phone-1 went to bob at t=0.000")


def test_sees(project: Any) -> None:
    project.write("""
@scenario("HA-06", sees=["hand-over", "wonder"])
@settings(max_examples=2)
@given(n=st.integers())
async def test_blind(world: World, n: int) -> None:
    world.saw("something else")

@scenario("HA-06", sees=["hand-over", "wonder"])
@settings(max_examples=2)
@given(n=st.integers())
async def test_sighted(world: World, n: int) -> None:
    host = await world.hostagent()
    for name in ("alice", "bob"):
        await (await host.client(name)).tap("phone-1")
        await world.advance(host.ttl_s)
    world.saw("wonder")

@scenario("HA-06", sees=["wonder"])
async def test_plain(world: World) -> None: ...
""")
    ran = project.run()
    assert ran.words == {"blind": "inconclusive", "sighted": "pass", "plain": "inconclusive"}
    assert ran.scenarios["blind"]["reason"] == "not seen: hand-over, wonder, which this scenario is about"
    assert ran.scenarios["plain"]["reason"] == "not seen: wonder, which this scenario is about"


def test_a_discarded_example_counts_for_nothing(project: Any) -> None:
    project.write("""
from hypothesis import assume

@scenario("HA-06")
@settings(max_examples=6)
@given(n=st.integers(0, 1000), data=st.data())
async def test_even(world: World, n: int, data) -> None:
    assume(n % 2 == 0)
    await world.advance(data.draw(st.integers(1, 1)))
""")
    ran = project.run()
    entry = ran.scenarios["even"]
    assert (entry["verdict"], entry["falsified"]) == ("pass", None)
    assert entry["examples"] == {"run": 6, "failed": 0}
    assert entry["virtual_s"] == 6
    numbers = [event["data"]["number"] for event in ran.events("even") if event["kind"] == "example"]
    assert numbers == [1, 2, 3, 4, 5, 6]


def test_how_many_examples(project: Any) -> None:
    project.write("""
@scenario("HA-06")
@given(n=st.integers())
async def test_usual(world: World, n: int) -> None: ...

@scenario("HA-06")
@settings(max_examples=40)
@given(n=st.integers())
async def test_more(world: World, n: int) -> None: ...
""")
    assert {name: entry["examples"]["run"] for name, entry in project.run().scenarios.items()} == {
        "usual": 25,
        "more": 40,
    }
    few = project.run("-o", "lasttick_examples=3")
    assert {entry["examples"]["run"] for entry in few.scenarios.values()} == {3}


EXAMPLES = """
@scenario("HA-06")
@settings(max_examples=100)
@given(n=st.integers(), text=st.text())
async def test_drawn(world: World, n: int, text: str) -> None: ...
"""
CONSTANTS = "NUMBERS = 987654321, 123456789, 192837465\nWORDS = 'a rare word', 'another rare word'\n"


def test_examples_do_not_change_when_another_module_is_loaded(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(EXAMPLES)
    alone = project.run().hashes
    (project.path / "rare.py").write_text(CONSTANTS)
    project.pytester.makeconftest("import rare")
    monkeypatch.syspath_prepend(project.path)
    assert project.run().hashes == alone
    assert project.run("--lasttick-seed", "2").hashes != alone


def test_without_the_bridge_they_would_change(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the test above can fail."""
    from contextlib import nullcontext

    from lasttick.explore import bridge

    project.write(EXAMPLES)
    alone = project.run().hashes
    (project.path / "rare.py").write_text(CONSTANTS)
    project.pytester.makeconftest("import rare")
    monkeypatch.syspath_prepend(project.path)
    monkeypatch.setattr(bridge, "no_mined_constants", nullcontext)
    assert project.run().hashes != alone


def test_parameters_and_given_together(project: Any) -> None:
    project.write("""
@pytest.mark.parametrize("base", [10, 20])
@scenario("HA-06")
@settings(max_examples=2)
@given(n=st.integers(0, 3))
async def test_sum(world: World, base: int, n: int, tmp_path) -> None:
    assert base + n >= 10
    assert tmp_path.is_dir()
""")
    ran = project.run()
    assert ran.words == {"sum[10]": "pass", "sum[20]": "pass"}
    assert ran.hashes["sum[10]"] != ran.hashes["sum[20]"]
    # The fixture's folder is another one each time; the history is not.
    assert project.run().hashes == ran.hashes
