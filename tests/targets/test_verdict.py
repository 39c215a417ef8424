"""Which verdict a scenario deserves, from how it ended and what its checks found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lasttick.evidence import ScenarioResult
from lasttick.model.lease import Holder
from lasttick.mutants import Mutant
from lasttick.reference.hostagent import mcp_server
from lasttick.targets.outcome import CheckFailed, Inconclusive
from lasttick.targets.run import ScenarioRun
from lasttick.targets.verdict import judge
from lasttick.targets.world import World

REPLAY = "lasttick replay latest own/story/x"


def judged(error: BaseException | None, *, skipped: str | None = None, claims: tuple[str, ...] = ("HA-04",)) -> Any:
    return judge(
        "own/story/x", claims, (), None, error, skipped=skipped, is_property=False, duration_s=1.5, replay=REPLAY
    )


@pytest.mark.parametrize(
    ("error", "verdict", "reason"),
    [
        (None, "pass", ""),
        (AssertionError("one is not two\nassert 1 == 2"), "fail", "one is not two"),
        (AssertionError(), "fail", "AssertionError"),
        (AssertionError("\n\n  deep  \n"), "fail", "deep"),
        (ValueError("no"), "fail", "no"),
        (Inconclusive("not seen"), "inconclusive", "not seen"),
        (CheckFailed("HA-05", "two holders", 3.0), "fail", "HA-05: two holders"),
        (TimeoutError(), "fail", "TimeoutError"),
    ],
)
def test_the_word(error: BaseException | None, verdict: str, reason: str) -> None:
    result = judged(error)
    assert (result.verdict, result.reason, result.duration_s) == (verdict, reason, 1.5)


def test_not_played() -> None:
    result = judged(None, skipped="needs suspend; process mode has none")
    assert (result.verdict, result.reason) == ("not_applicable", "needs suspend; process mode has none")
    assert (result.trace, result.trace_sha256, result.virtual_s) == (None, None, 0.0)


def test_a_bare_assertion_counts_against_every_claim() -> None:
    checks = judged(AssertionError("no"), claims=("HA-04", "HA-06")).checks
    assert [(check.id, check.verdict) for check in checks] == [("HA-04", "fail"), ("HA-06", "fail")]


def test_laws_are_no_requirements() -> None:
    result = judged(None, claims=("lease/exclusive", "HA-04"))
    assert result.requirements == ("HA-04",)


def played(
    function: Callable[..., Any], claims: tuple[str, ...], *, mode: str = "virtual", mutant: Mutant | None = None
) -> ScenarioResult:
    run = ScenarioRun(function, scenario_id="own/story/x[a b]", seed=7, mode=mode, mutant=mutant)
    error = None
    try:
        run.example()
    except Exception as caught:
        error = caught
    return judge(
        run.scenario_id,
        claims,
        ("lease/exclusive",),
        run,
        error,
        skipped=None,
        is_property=True,
        duration_s=0,
        replay=REPLAY,
    )


async def two_at_once(world: World) -> None:
    host, other = await world.hostagent(), await world.hostagent()
    alice, bob = await host.client("alice"), await other.client("bob")
    await alice.tap("phone-1")
    await world.advance(30)
    await bob.tap("phone-1")


def test_a_check_blames_its_own_id_only() -> None:
    """HA-04 is claimed and HA-05 broke: the scenario fails, HA-04's own entry says why it is not shown."""
    result = played(two_at_once, ("HA-04", "HA-13"))
    assert result.verdict == "fail"
    assert result.reason.startswith("HA-05: phone-1 went to bob at t=30.000, 30.000 s before the lease of alice ended")
    words = {check.id: (check.verdict, check.t_s) for check in result.checks}
    assert words["HA-05"] == ("fail", 30.0)
    assert words["HA-13"] == ("pass", None)
    assert words["HA-04"] == ("fail", 30.0)


async def one_after_the_other(world: World) -> None:
    host = await world.hostagent()
    alice, bob = await host.client("alice"), await host.client("bob")
    await alice.tap("phone-1")
    await world.advance(30)
    await bob.tap("phone-1")


def test_a_host_agent_that_lies_about_the_holder_is_judged_by_the_device() -> None:
    """To the wrong host agent all sessions are one holder: it refuses nobody, and reports no second holder."""
    one = Holder("mcp", "everybody")
    liar = Mutant("own/liar", "HA-05", "", "", lambda seam: seam.replace(mcp_server, "holder_of", lambda ctx: one))
    result = played(one_after_the_other, ("HA-05",), mutant=liar)
    assert result.verdict == "fail"
    assert result.reason.startswith("HA-05: phone-1 went to bob at t=30.000, 30.000 s before the lease of alice ended")
    assert played(one_after_the_other, ("HA-05",)).verdict == "pass", "the reference refuses bob"


def test_a_claimed_check_is_one_entry() -> None:
    result = played(two_at_once, ("HA-05",))
    assert [(check.id, check.verdict) for check in result.checks] == [("HA-05", "fail"), ("HA-13", "pass")]


def test_what_was_falsified_brings_its_replay() -> None:
    result = played(two_at_once, ("HA-05",))
    assert result.falsified is not None
    assert result.falsified.replay == REPLAY
    assert (result.examples.run, result.examples.failed) == (1, 1)  # type: ignore[union-attr]
    assert result.laws == ("lease/exclusive",)
    assert result.virtual_s == 30


def test_a_passing_story() -> None:
    async def quiet(world: World) -> None:
        await world.advance(5)

    result = played(quiet, ("HA-04",))
    assert (result.verdict, result.falsified, result.virtual_s) == ("pass", None, 5)
    assert {check.id: check.verdict for check in result.checks} == {
        "HA-05": "not_applicable",
        "HA-13": "not_applicable",
        "HA-04": "pass",
    }
    assert result.trace_sha256 is not None
    assert len(result.trace_sha256) == 64
