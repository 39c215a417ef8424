"""Two servers side by side: alike but for the rulings, and a ruling excuses its own difference and no other.

The peer is the target once more, or a wrong version of the reference. Source: VC-21.
"""

from __future__ import annotations

import pytest

from lasttick import World, scenario
from lasttick.compare.corpus import corpus
from lasttick.compare.script import Call, Script
from lasttick.compare.sides import in_one_world

CALLS = 40
"""Made up by the world's seed: each tool once."""


def _rulings(*names: str) -> list[Script]:
    return [script for script in corpus(1, 0, "rulings/") if script.name.removeprefix("rulings/").startswith(names)]


@scenario("VC-21")
async def test_the_same_server_twice_is_alike_and_keeps_every_ruling(world: World) -> None:
    """The whole corpus to two servers of one kind: no answer and no call differs, every ruling is exercised, and on
    each of its steps the server shows what the ruling says."""
    scripts = corpus(world.seed, CALLS)
    called = {step.tool for script in scripts for step in script.steps if isinstance(step, Call)}
    assert len(called) == 40
    report = await in_one_world(world, scripts)
    assert report.uncovered == ()
    assert report.unkept == ()
    assert report.unexercised == ()
    assert (report.equal, report.shown) == (report.steps, {})


@scenario("VC-21")
@pytest.mark.parametrize(
    ("peer", "ruling"),
    [
        pytest.param("vaultclaw/location-swallows-timeframe", "5", id="5"),
        pytest.param("vaultclaw/follow-up-beats-attachment-default", "6", id="6"),
        pytest.param("vaultclaw/facts-in-any-order", "18", id="18"),
    ],
)
async def test_a_wrong_version_shows_its_own_ruling(world: World, peer: str, ruling: str) -> None:
    """A peer that reads one ruling otherwise differs there and nowhere else, and that is no failure."""
    report = await in_one_world(world, _rulings("5-", "6-", "7-", "17-", "18-"), peer)
    assert list(report.shown) == [ruling]
    assert report.uncovered == ()
    assert report.verdict == "pass"


@scenario("VC-21")
async def test_a_difference_without_a_ruling_fails(world: World) -> None:
    """A peer that takes the first of two routes that fit equally well: the step and the place are told."""
    report = await in_one_world(world, corpus(1, 0, "examples/routes"), "vaultclaw/tie-takes-the-first")
    assert report.verdict == "fail"
    assert report.shown == {}
    steps = {one.step for one in report.uncovered}
    assert steps == {"examples/routes#9 route_resolve", "examples/routes#10 route_resolve"}
    places = {one.path.removeprefix("/answer/result/structuredContent/data/") for one in report.uncovered}
    assert {"status", "needs_clarification"} <= places


@scenario("VC-21")
async def test_a_ruling_excuses_nothing_else(world: World) -> None:
    """A step of which a ruling speaks, and a peer that is wrong there in its own way: no ruling says so."""
    report = await in_one_world(world, _rulings("18-order"), "vaultclaw/fact-replaces-recipient")
    assert report.verdict == "fail"
    assert report.shown == {}
    assert {one.step for one in report.uncovered} == {
        "rulings/18-order-of-facts#1 route_resolve",
        "rulings/18-order-of-facts#2 route_resolve",
    }


@scenario("VC-21")
async def test_what_only_the_vault_sees_is_a_difference(world: World) -> None:
    """A peer whose answers are the same, and that asks the vault otherwise: with another idempotency key each time."""
    report = await in_one_world(world, corpus(1, 0, "examples/profile-hashes"), "vaultclaw/fresh-key-for-each-profile")
    assert report.verdict == "fail"
    assert {one.path.rpartition("/")[2] for one in report.uncovered} == {"idempotency_key"}


@scenario("VC-21")
async def test_a_ruling_never_exercised_is_told(world: World) -> None:
    """A corpus that reaches two rulings: all the others are named."""
    report = await in_one_world(world, _rulings("6-", "14-"))
    assert sorted(report.exercised) == ["14", "6"]
    assert len(report.unexercised) == 19
    assert not {"14", "6"}.intersection(report.unexercised)
