"""Each mutant is killed by the scenario it names, and for a reason that is a verdict, not a crash of the harness."""

import itertools
from pathlib import Path

import pytest

from lasttick.mutants import catalogue
from lasttick.requirements import collect_claims, load_catalogue
from lasttick.sweep.matrix import REFERENCE, Matrix, Row, stem

ROOT = Path(__file__).parents[2]
MUTANTS = catalogue()
# The mutant names of each contract's rulings, by system and ruling.
RULINGS = {
    "hostagent": {
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
        7: ["handle-guessable", "handle-opens-other-device"],
        8: ["lost-session-keeps-lease"],
        9: ["error-as-tool-result", "unknown-device-leaves-lease", "owner-leaks-session-id"],
        10: ["duplicate-ids-pass"],
        11: ["mount-redirects"],
        12: ["same-session-overlap"],
        13: ["hung-call-pins-for-ever"],
        14: ["ios-bounds-not-scaled"],
        15: ["token-last-writer-wins"],
        16: ["wrapper-waits", "wait-returns-unheld"],
    },
    "gateway": {
        1: ["client-sends-bearer-only", "fallback-token-as-agent-secret"],
        2: ["internal-door-allows-write", "runner-door-refuses-write", "door-inferred-from-sub"],
        3: ["expand-includes-write-actions"],
        4: ["manifest-dot-separator", "separator-in-slug"],
        5: ["body-org-overrides-token-org", "404-differs-by-reason", "ledger-in-victims-org", "lookup-by-id-only"],
        6: ["empty-secret-matches"],
        7: ["registration-without-env", "literal-placeholder-used", "registration-writes-secret-value"],
        8: ["colliding-tool-names"],
        9: ["argv-without-q"],
        10: ["fence-forwards-secret-always", "registration-adds-utility-tools"],
        11: ["binding-class-widens-registry", "missing-class-is-read"],
        12: ["finished-run-executes"],
    },
    "vaultclaw": {
        1: ["wait-overshoots-deadline"],
        2: ["wait-dies-on-first-error"],
        3: ["cancelled-keeps-polling"],
        4: ["silence-is-allow", "unknown-state-is-allow"],
        5: ["location-swallows-timeframe"],
        6: ["follow-up-beats-attachment-default"],
        7: ["executes-invalid-request"],
        8: ["token-follows-download-url", "unbounded-download"],
        9: ["unescaped-path-parameter"],
        11: ["every-passport-failure-is-a-send-failure"],
        12: ["resolver-failure-loses-handoff"],
        13: ["grant-is-success", "pending-string-is-success", "handoff-without-id"],
        14: ["environment-token-for-every-tenant"],
        15: ["stale-index-trusted"],
        16: ["empty-profile-executes"],
        17: ["short-token-unmasked", "vault-echo-leaks-token"],
    },
}
# Those that a requirement's own text names.
REQUIREMENTS = {"GW-09": ["gateway/redaction-off"], "VC-18": ["vaultclaw/search-route-asks-user"]}
# The permission-card contract names its wrong versions beside its rules, which have no ruling numbers.
NAMED = {
    "lineup": [
        "terminal-create-succeeds",
        "maps-by-kind",
        "maps-by-position",
        "deny-falls-back-to-first",
        "card-outlives-agent",
        "id-zero-is-none",
        "pending-outlives-turn",
        "expiry-approves",
        "cards-gated-by-inventory",
        "legacy-multi-card-answerable",
    ]
}
# All but GW-19 and LU-18, which need the real agent program.
IN_SCOPE = {
    "gateway": [f"GW-{number:02}" for number in (*range(1, 19), 20)],
    "lineup": [f"LU-{number:02}" for number in (*range(1, 18), 19)],
    "vaultclaw": [f"VC-{number:02}" for number in range(1, 24)],
}


def test_every_mutant_that_a_ruling_names_is_kept() -> None:
    kept = {(mutant.ruling, mutant.id) for mutant in MUTANTS}
    named = {
        (ruling, f"{system}/{name}")
        for system, rulings in RULINGS.items()
        for ruling, names in rulings.items()
        for name in names
    }
    assert sorted(named - kept) == []


def test_every_mutant_that_a_contract_names_by_itself_is_kept() -> None:
    kept = [mutant.id for mutant in MUTANTS]
    named = [f"{system}/{name}" for system, names in NAMED.items() for name in names]
    assert [name for name in named if name not in kept] == []


def test_every_mutant_that_a_requirement_names_is_kept() -> None:
    kept = {(mutant.breaks, mutant.id) for mutant in MUTANTS}
    assert [(id_, name) for id_, names in REQUIREMENTS.items() for name in names if (id_, name) not in kept] == []


def test_ids_are_unique_and_what_they_break_is_claimed_by_their_killer() -> None:
    assert len({mutant.id for mutant in MUTANTS}) == len(MUTANTS)
    known = load_catalogue()
    claims = {claim.scenario: claim.ids for claim in collect_claims(ROOT / "scenarios")}
    for mutant in MUTANTS:
        assert mutant.breaks in known, f"{mutant.id} breaks an unknown requirement"
        killer = mutant.killed_by.partition("[")[0]
        assert mutant.breaks in claims.get(killer, ()), f"{mutant.id}: {killer} does not claim {mutant.breaks}"


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """Each mutant with the one scenario that it names, over two processes; the reference with all of these."""
    only = {mutant.id: mutant.killed_by for mutant in MUTANTS}
    with Matrix(ROOT / "scenarios", seed=1, workers=2, examples_max=10) as matrix:
        reference, _ = matrix.reference(sorted(set(only.values())))
        jobs = {id_: [one for one in reference.verdicts if killer in (one, stem(one))] for id_, killer in only.items()}
        matrix_rows = matrix.mutants(jobs, lambda row: None)
    return {row.mutant_id: row for row in [reference, *matrix_rows]}


def test_the_reference_is_green_in_all_of_them(rows: dict[str, Row]) -> None:
    assert set(rows[REFERENCE].verdicts.values()) == {"pass"}


def test_every_mutant_turns_its_scenario_red(rows: dict[str, Row]) -> None:
    survivors = [mutant.id for mutant in MUTANTS if "fail" not in rows[mutant.id].verdicts.values()]
    assert survivors == []


def test_look_then_act_is_red_in_whatever_order_cloud_and_sessions_come(rows: dict[str, Row]) -> None:
    orders = itertools.permutations(["alice", "bob", "cloud"])
    scenario = "hostagent/exclusion/at-the-last-tick-exactly-one-wins"
    expected = {f"{scenario}[{'-'.join(order)}]": "fail" for order in orders}
    assert dict(rows["hostagent/unsynchronised-arbitration"].verdicts) == expected


def test_every_requirement_in_scope_has_a_mutant() -> None:
    broken = {mutant.breaks for mutant in MUTANTS}
    assert [one.id for one in load_catalogue().requirements if one.planned is None and one.id not in broken] == []


@pytest.mark.parametrize("system", sorted(IN_SCOPE))
def test_a_systems_requirements_are_broken_by_its_own_mutants_and_shown_by_its_own_scenarios(
    rows: dict[str, Row], system: str
) -> None:
    claims = {claim.scenario: claim.ids for claim in collect_claims(ROOT / "scenarios")}
    killed = {
        mutant.breaks
        for mutant in MUTANTS
        if mutant.system == system
        for scenario, verdict in rows[mutant.id].verdicts.items()
        if verdict == "fail" and scenario.startswith(f"{system}/") and mutant.breaks in claims[stem(scenario)]
    }
    assert sorted(killed) == IN_SCOPE[system]
