"""Each ruling's wrong reading as the peer shows exactly that ruling, and the reference beside itself shows none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.targets.worlds import play

from lasttick.compare.corpus import corpus, scenes
from lasttick.compare.judge import Report, judge
from lasttick.compare.play import Fakes, Played
from lasttick.compare.play import play as play_side
from lasttick.compare.rulings import ROWS, RULINGS
from lasttick.mutants import Mutant, find
from lasttick.reference.vaultclaw import start_up

SCRIPTS = corpus(1, 0, "rulings/")
NO_LAST_RESORT = Mutant(
    "vaultclaw/no-last-resort",
    breaks="VC-21",
    ruling=20,
    text="without a folder of cookbooks there is no start",
    killed_by="",
    # As a mutant of the catalogue it would end every world's server at its start: too blunt there.
    patch=lambda seam: seam.replace(start_up, "PACKAGED", Path("/nowhere/at/all")),
)
READINGS: dict[str, str] = {
    "wait-overshoots-deadline": "1",
    "wait-dies-on-first-error": "2",
    "cancelled-keeps-polling": "3",
    "unknown-state-is-success": "4",
    "location-swallows-timeframe": "5",
    "follow-up-beats-attachment-default": "6",
    "executes-invalid-request": "7",
    "token-follows-download-url": "8",
    "unbounded-download": "8",
    "unescaped-path-parameter": "9",
    "deleted-cookbook-ends-the-start": "10",
    "every-passport-failure-is-a-send-failure": "11",
    "resolver-failure-loses-handoff": "12",
    "grant-is-success": "13",
    "pending-string-is-success": "13",
    "handoff-without-id": "13",
    "environment-token-for-every-tenant": "14",
    "stale-index-trusted": "15",
    "empty-profile-executes": "16",
    "short-token-unmasked": "17",
    "vault-echo-leaks-token": "17",
    "facts-in-any-order": "18",
    "wait-outlives-its-input": "19",
    "search-route-asks-user": "contract 20.4",
}


def played(mutant: Mutant | None) -> Played:
    """The rulings' scripts on the reference, or on a wrong version of it."""
    found: Played = {}

    async def story(world: Any) -> None:
        found.update(await play_side(await Fakes.of(world), SCRIPTS, "side"))

    if mutant is None:
        play(story)
    else:
        with mutant.applied():
            play(story)
    return found


@pytest.fixture(scope="module")
def reference() -> Played:
    return played(None)


def beside(reference: Played, mutant: Mutant) -> Report:
    return judge(scenes(SCRIPTS), reference, played(mutant))


def test_every_ruling_has_a_reading() -> None:
    assert {*READINGS.values(), "20"} == set(RULINGS)
    assert len({(row.ruling, row.name) for row in ROWS}) == len(ROWS)


def test_the_reference_is_equal_to_itself_and_keeps_every_ruling(reference: Played) -> None:
    report = judge(scenes(SCRIPTS), reference, played(None))
    assert (report.verdict, report.shown, report.unexercised, report.unkept) == ("pass", {}, (), ())


@pytest.mark.parametrize("name", sorted(READINGS))
def test_a_wrong_reading_shows_exactly_its_ruling(name: str, reference: Played) -> None:
    report = beside(reference, find(f"vaultclaw/{name}"))
    assert list(report.shown) == [READINGS[name]]
    assert report.uncovered == ()


def test_without_a_last_resort(reference: Played) -> None:
    report = beside(reference, NO_LAST_RESORT)
    assert list(report.shown) == ["20"]
    assert report.uncovered == ()


@pytest.mark.parametrize("name", ["given-fields-are-asked-for-again", "no-look-at-the-deadline", "silence-is-allow"])
def test_what_is_wrong_in_its_own_way_is_no_reading(name: str, reference: Played) -> None:
    """Ours fails where it is the one that does not keep its ruling, too."""
    wrong = played(find(f"vaultclaw/{name}"))
    assert judge(scenes(SCRIPTS), reference, wrong).uncovered
    assert judge(scenes(SCRIPTS), wrong, reference).verdict == "fail"
