"""Each mutant is killed by the scenario it names, and for a reason that is a verdict, not a crash of the harness."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lasttick.mutants import Mutant, catalogue
from lasttick.requirements import collect_claims, load_catalogue

ROOT = Path(__file__).parents[2]
MUTANTS = catalogue()
# The mutant names of the contract's rulings, but those of ruling 7, which come with lease handles.
RULINGS = {
    1: [
        "lease-expires-mid-call",
        "pin-is-a-flag",
        "exception-leaks-pin",
        "failed-call-does-not-renew",
        "cancel-unpins-before-driver",
    ],
    2: ["unsynchronised-arbitration", "only-one-assignment-seen", "cloud-hold-leaks"],
    3: ["lease-on-wall-clock"],
    4: [
        "expires-one-tick-early",
        "expires-one-tick-late",
        "acquire-ignores-expiry",
        "any-traffic-renews",
        "renew-touches-all-devices",
        "status-call-leases",
    ],
    6: ["session-end-under-call", "renew-resurrects-dead-session"],
    8: ["lost-session-keeps-lease"],
    9: ["error-as-tool-result", "unknown-device-leaves-lease", "owner-leaks-session-id"],
    10: ["duplicate-ids-pass"],
    11: ["mount-redirects"],
    12: ["same-session-overlap"],
    13: ["hung-call-pins-for-ever"],
    14: ["ios-bounds-not-scaled"],
    15: ["token-last-writer-wins"],
    16: ["wrapper-waits", "wait-returns-unheld"],
}


def test_every_mutant_that_a_ruling_names_is_kept() -> None:
    kept = {(mutant.ruling, mutant.id) for mutant in MUTANTS}
    named = {(ruling, f"hostagent/{name}") for ruling, names in RULINGS.items() for name in names}
    assert sorted(named - kept) == []


def test_ids_are_unique_and_what_they_break_is_claimed_by_their_killer() -> None:
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)
    known = load_catalogue()
    claims = {claim.scenario: claim.ids for claim in collect_claims(ROOT / "scenarios")}
    for mutant in MUTANTS:
        assert mutant.breaks in known, f"{mutant.id} breaks an unknown requirement"
        killer = mutant.killed_by.partition("[")[0]
        assert mutant.breaks in claims.get(killer, ()), f"{mutant.id}: {killer} does not claim {mutant.breaks}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.id for mutant in MUTANTS])
def test_the_mutant_turns_its_scenario_red(mutant: Mutant, tmp_path: Path) -> None:
    verdicts = played(mutant.id, mutant.killed_by, tmp_path)
    red = {entry["id"]: entry["reason"] for entry in verdicts["scenarios"] if entry["verdict"] == "fail"}
    assert red, f"{mutant.id} survived {mutant.killed_by}: {verdicts['counts']}"


def test_look_then_act_is_red_in_whatever_order_cloud_and_sessions_come(tmp_path: Path) -> None:
    select = "hostagent/exclusion/at-the-last-tick-exactly-one-wins"
    scenarios = played("hostagent/unsynchronised-arbitration", select, tmp_path)["scenarios"]
    assert {entry["id"]: entry["verdict"] for entry in scenarios} == {
        f"{select}[{'-'.join(order)}]": "fail" for order in itertools.permutations(["alice", "bob", "cloud"])
    }


def played(mutant_id: str, select: str, tmp_path: Path) -> dict[str, Any]:
    """The verdicts of those scenarios against a wrong host agent."""
    command = [sys.executable, "-m", "pytest", "scenarios", "-q", "-p", "no:cacheprovider", "--no-header"]
    command += ["--lasttick-out", str(tmp_path), "--lasttick-select", select]
    command += ["--lasttick-target", f"hostagent=mutant:{mutant_id}", "-o", "lasttick_examples=10"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (tmp_path / "latest").exists(), done.stdout[-2000:] + done.stderr[-2000:]
    return dict(json.loads((tmp_path / "latest" / "verdicts.json").read_text()))
