"""Every declared policy of leases: a service that keeps it passes, one that breaks it fails the law that names it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lasttick.engine.network import Delay

from .lease_service import LeaseService, deploy
from .playing import Ruled, all_laws, play

LAWS = {id_: law for id_, law in all_laws().items() if id_.startswith("lease/")}
# Without clock.step there is nothing to step.
SHOWN = [id_ for id_ in LAWS if id_ != "lease/clock-proof"]
QUEUES, PROVISIONS, ENDS = {"busy": "queues"}, {"busy": "provisions"}, {"in_flight": "ends"}
KEEPS, TWO, BY_USE = {"session_end": "keeps"}, {"capacity": 2}, {"renewed_by": ["use"]}
POLICIES: list[dict[str, Any]] = [
    {},
    QUEUES,
    PROVISIONS,
    ENDS,
    KEEPS,
    TWO,
    BY_USE,
    {"renewed_by": ["use", "renew"]},
    {"renewed_by": []},
    QUEUES | ENDS,
    QUEUES | TWO,
    QUEUES | KEEPS | BY_USE,
    PROVISIONS | KEEPS | BY_USE,
]
BROKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("lease/exclusive", "grants to all", {}),
    ("lease/exclusive", "grants to all", QUEUES),
    ("lease/exclusive", "grants twice at once", {}),
    ("lease/exclusive", "grants to all", TWO),
    ("lease/exclusive", "provisions the same", PROVISIONS),
    ("lease/outlives-long-call", "lets go in calls", {}),
    ("lease/outlives-long-call", "lets go in calls", QUEUES),
    ("lease/outlives-long-call", "provisions the same", PROVISIONS),
    ("lease/outlives-long-call", "goes on in calls", ENDS),
    ("lease/outlives-long-call", "goes on in calls", ENDS | QUEUES),
    ("lease/expires-exactly", "expires early", {}),
    ("lease/expires-exactly", "expires early", QUEUES),
    ("lease/expires-exactly", "expires early", PROVISIONS),
    ("lease/expires-exactly", "expires late", {}),
    ("lease/expires-exactly", "expires late", QUEUES),
    ("lease/expires-exactly", "expires late", PROVISIONS),
    ("lease/expires-exactly", "expires late", TWO),
    ("lease/expires-exactly", "use renews otherwise", {}),
    ("lease/expires-exactly", "use renews otherwise", BY_USE),
    ("lease/expires-exactly", "renew renews otherwise", {}),
    ("lease/dies-with-holder", "expires late", {}),
    ("lease/dies-with-holder", "expires late", PROVISIONS),
    ("lease/dies-with-holder", "session ends otherwise", {}),
    ("lease/dies-with-holder", "session ends otherwise", QUEUES),
    ("lease/dies-with-holder", "session ends otherwise", PROVISIONS),
    ("lease/dies-with-holder", "session ends otherwise", KEEPS),
    ("lease/dies-with-holder", "lets go in calls", {}),
    ("lease/only-own-release", "anyone releases", {}),
    ("lease/only-own-release", "anyone releases", QUEUES),
    ("lease/only-own-release", "anyone releases", PROVISIONS),
    ("lease/only-own-release", "anyone renews", {}),
    ("lease/only-own-release", "anyone renews", QUEUES),
    ("lease/only-own-release", "anyone renews", PROVISIONS),
    ("lease/stale-holder-refused", "serves old leases", {}),
    ("lease/stale-holder-refused", "serves old leases", QUEUES),
    ("lease/reported-is-held", "reports all free", {}),
    ("lease/reported-is-held", "reports all held", {}),
    ("lease/reported-is-held", "reports bob", {}),
    ("lease/reported-is-held", "reports all free", QUEUES),
    ("lease/reported-is-held", "release does nothing", ENDS),
    ("lease/busy-says-so", "grants to all", {}),
    ("lease/busy-says-so", "grants to all", QUEUES),
    ("lease/busy-says-so", "denies when busy", {}),
    ("lease/busy-says-so", "refuses slowly", {}),
    ("lease/busy-says-so", "tells keys", {}),
    ("lease/busy-says-so", "tells the lease", {}),
    ("lease/busy-says-so", "tells the lease", TWO),
    ("lease/busy-says-so", "tells the session", {}),
    ("lease/busy-says-so", "refuses instead of queueing", QUEUES),
    ("lease/busy-says-so", "provisions the same", PROVISIONS),
]


def ruled(law: str, wrong: str, policy: dict[str, Any]) -> Ruled:
    return play(LAWS[law], lambda loop: deploy(loop, LeaseService(wrong, **policy)))


def said(policy: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in policy.items()) or "as by default"


@pytest.mark.parametrize("policy", POLICIES, ids=said)
@pytest.mark.parametrize("law", SHOWN)
def test_a_service_that_keeps_its_policy_passes(law: str, policy: dict[str, Any]) -> None:
    found = ruled(law, "", policy)
    is_shown = not (law == "lease/stale-holder-refused" and policy.get("busy") == "provisions")
    assert found.word == ("pass" if is_shown else "not_applicable"), found


@pytest.mark.parametrize(
    ("law", "wrong", "policy"), BROKEN, ids=lambda value: said(value) if isinstance(value, dict) else value
)
def test_a_service_that_breaks_it_fails(law: str, wrong: str, policy: dict[str, Any]) -> None:
    found = ruled(law, wrong, policy)
    assert found.word == "fail", found
    assert "-> " in found.reason, "the replies it rests on"


@pytest.mark.parametrize("policy", POLICIES, ids=said)
def test_delays_of_three_seconds_are_nobodys_fault(policy: dict[str, Any]) -> None:
    words = {}
    for number, law in enumerate(SHOWN):
        delay = Delay(random.Random(number), 0.0, 3.0)
        words[law] = play(LAWS[law], lambda loop, delay=delay: deploy(loop, LeaseService(**policy), delay)).word
    assert "fail" not in words.values(), words


def test_every_law_is_seen_to_fail() -> None:
    assert {law for law, _, _ in BROKEN} == set(SHOWN)
