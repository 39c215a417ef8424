"""The laws of leases: each red on a wrong host agent, and never for a reason that is not the target's."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from lasttick.engine.loop import VirtualLoop
from lasttick.engine.network import Delay
from lasttick.laws.deployment import Deployment
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotShown
from lasttick.targets.virtual import VirtualWorld

from .lease_service import LeaseService, deploy
from .playing import Ruled, play
from .verdicts import LAWS, Change, on_reference

LEASES = [law for law in LAWS if law.startswith("lease/")]
# What each law finds among the mutants of the reference.
KILLS = {
    "lease/exclusive": ["unsynchronised-arbitration"],
    "lease/outlives-long-call": ["lease-expires-mid-call"],
    "lease/expires-exactly": [
        "acquire-ignores-expiry",
        "any-traffic-renews",
        "refusal-renews",
        "renew-touches-all-devices",
    ],
    "lease/dies-with-holder": [
        "lost-session-keeps-lease",
        "session-end-under-call",
        "cancel-unpins-before-driver",
        "refusal-renews",
    ],
    "lease/only-own-release": ["refusal-renews"],
    "lease/stale-holder-refused": ["lease-expires-mid-call"],
    "lease/reported-is-held": ["lease-expires-mid-call", "lost-session-keeps-lease"],
    "lease/clock-proof": ["lease-on-wall-clock"],
    "lease/busy-says-so": ["owner-leaks-session-id", "wrapper-waits"],
}
CASES = {
    "lease/exclusive": 3,
    "lease/outlives-long-call": 1,
    "lease/expires-exactly": 3,
    "lease/dies-with-holder": 4,
    "lease/only-own-release": 2,
    "lease/stale-holder-refused": 2,
    "lease/reported-is-held": 3,
    "lease/clock-proof": 2,
    "lease/busy-says-so": 2,
}


def slow(high_s: float, seed: int) -> Change:
    """Every message between any two parts takes up to so long."""

    async def change(world: VirtualWorld, deployment: Deployment) -> None:
        world.network.delay = Delay(random.Random(seed), 0.0, high_s)

    return change


def test_the_table_has_every_law_of_leases() -> None:
    assert sorted(KILLS) == sorted(CASES) == sorted(LEASES)


@pytest.mark.parametrize("law", LEASES)
def test_the_reference_keeps_it(law: str) -> None:
    found = on_reference(law)
    assert found.word == "pass", found
    assert len(found.cases) == CASES[law]


@pytest.mark.parametrize(("law", "mutant"), [(law, mutant) for law, mutants in KILLS.items() for mutant in mutants])
def test_a_wrong_host_agent_breaks_it(law: str, mutant: str) -> None:
    found = on_reference(law, f"hostagent/{mutant}")
    assert found.word == "fail", found
    assert "-> " in found.reason, "the replies it rests on"


@pytest.mark.parametrize("mutant", ["refusal-renews", "lease-expires-mid-call", "lost-session-keeps-lease"])
def test_it_is_found_through_delays_too(mutant: str) -> None:
    laws = [law for law, mutants in KILLS.items() if mutant in mutants]
    words = {law: on_reference(law, f"hostagent/{mutant}", slow(0.02, 1)).word for law in laws}
    assert set(words.values()) == {"fail"}, words


# -- delays


@pytest.mark.parametrize("seed", range(10))
def test_ten_noisy_runs_give_no_false_red(seed: int) -> None:
    """Delays of up to 3 s on each message, the devices' too; what they leave open is inconclusive."""
    words = {law: on_reference(law, change=slow(3.0, seed)).word for law in LEASES}
    assert set(words.values()) <= {"pass", "inconclusive"}, words


@pytest.mark.parametrize("law", ["lease/expires-exactly", "lease/dies-with-holder", "lease/clock-proof"])
def test_what_delays_leave_open_is_no_pass(law: str) -> None:
    found = on_reference(law, change=slow(1.0, 1))
    assert (found.word, "delays leave open on which side it was" in found.reason) == ("inconclusive", True), found


def test_who_meddles_too_late_has_not_meddled() -> None:
    found = on_reference("lease/only-own-release", change=slow(1.0, 1))
    assert (found.word, "over before it was meddled with" in found.reason) == ("inconclusive", True), found


@pytest.mark.parametrize("seed", range(2))
def test_delays_within_the_tolerance_cost_no_verdict(seed: int) -> None:
    words = {law: on_reference(law, change=slow(0.02, seed)).word for law in LEASES}
    assert set(words.values()) == {"pass"}, words


# -- what the target or the profile does not give


def on_service(law: str, wrong: str = "", edit: Callable[[str], str] = lambda text: text, **policy: Any) -> Ruled:
    return play(LAWS[law], lambda loop: deploy(loop, LeaseService(wrong, **policy), edit=edit))


def without(*verbs: str) -> Callable[[str], str]:
    """The profile without these lines or tables."""

    def edit(text: str) -> str:
        kept, skipping = [], False
        for line in text.splitlines():
            if line.startswith("["):
                skipping = line.strip("[]") in verbs
            if not skipping and line.partition(" =")[0] not in verbs:
                kept.append(line)
        return "\n".join(kept)

    return edit


@pytest.mark.parametrize("law", [law for law in LEASES if law != "lease/clock-proof"])
def test_nothing_passes_without_effects_or_without_another_caller(law: str) -> None:
    blind = on_service(law, edit=lambda text: without("effects")(text) + '\n[effects]\nabsent = "no log"\n')
    assert (blind.word, "needs the verb effects" in blind.reason) == ("not_applicable", True), blind
    alone = on_service(law, edit=without("callers.bob"))
    assert (alone.word, alone.reason) == ("not_applicable", "needs 2 callers; the profile has 1")


@pytest.mark.parametrize(
    ("law", "cases"),
    [
        ("lease/exclusive", ("asked for at once", "kept off during a call", "changed hands")),
        ("lease/outlives-long-call", ("long call",)),
        ("lease/expires-exactly", ("acquire",)),
        ("lease/dies-with-holder", ("vanished", "vanished under a call")),
        ("lease/stale-holder-refused", ("run out", "run out, during a long call of the next holder")),
        ("lease/reported-is-held", ("held", "held during a long call", "free")),
        ("lease/busy-says-so", ("refuses", "gives nothing away")),
    ],
)
def test_where_nothing_gives_a_lease_back_its_ttl_does(law: str, cases: tuple[str, ...]) -> None:
    found = on_service(law, edit=without("end", "release", "renew"), renewed_by=[])
    assert (found.word, found.cases) == ("pass", cases), found


def test_who_can_say_nothing_about_anothers_lease_cannot_be_judged() -> None:
    found = on_service("lease/only-own-release", edit=without("end", "release", "renew"), renewed_by=[])
    assert found.word == "not_applicable"
    assert found.reason.startswith("needs one of lease.renew, lease.release, session.end")


def test_where_everybody_gets_a_resource_only_a_report_tells_when_one_is_free() -> None:
    found = on_service("lease/expires-exactly", edit=without("lease.holder"), busy="provisions")
    assert found.word == "not_applicable"
    assert "no lease.holder tells when a resource is free" in found.reason


def test_a_capacity_that_is_not_as_declared_is_said() -> None:
    found = on_service(
        "lease/expires-exactly", edit=lambda text: text.replace("capacity = 2", "capacity = 1"), capacity=2
    )
    assert found.word == "inconclusive"
    assert "bob was given r2 while r1 was asked about: lease.busy or lease.capacity of the profile" in found.reason


def test_a_queue_that_is_polled_for_a_short_time_is_joined_late() -> None:
    found = on_service(
        "lease/expires-exactly", edit=lambda text: text.replace("within_s = 60", "within_s = 3"), busy="queues"
    )
    assert found.word == "pass", found


def test_a_queue_that_is_polled_for_too_short_a_time_leaves_it_open() -> None:
    short = "within_s = 1"
    found = on_service("lease/busy-says-so", edit=lambda text: text.replace("within_s = 60", short), busy="queues")
    assert found.word == "inconclusive"
    assert "bob was queued and did not get the resource when it was free" in found.reason


@pytest.mark.parametrize("law", [law for law in LEASES if law != "lease/clock-proof"])
@pytest.mark.parametrize("session_end", ["frees", "keeps"])
def test_nothing_stays_held_where_leases_do_not_run_out(law: str, session_end: str) -> None:
    """What a vanished caller had is left for the end of the run; everything else is given back when the law is over."""
    service = LeaseService("never expires", session_end=session_end)
    found = play(LAWS[law], lambda loop: deploy(loop, service))
    assert found.word == "fail" or law not in ("lease/expires-exactly", "lease/dies-with-holder"), found
    held = [lease for lease in service.leases.values() if not lease.over]
    assert law == "lease/dies-with-holder" or held == []


class Gone(LeaseService):
    """What is another's is not there for anybody else."""

    async def renew(self, request: Request) -> JSONResponse:
        return await self._unless_anothers(request, super().renew)

    async def release(self, request: Request) -> JSONResponse:
        return await self._unless_anothers(request, super().release)

    async def _unless_anothers(self, request: Request, go_on: Any) -> JSONResponse:
        is_own = self.own(self.leases[request.path_params["lease"]], (await request.json())["session"])
        return await go_on(request) if is_own else JSONResponse({"why": "gone"}, 410)


def test_an_answer_that_no_rule_knows_is_told_with_the_remedy() -> None:
    law = LAWS["lease/only-own-release"]
    found = play(law, lambda loop: deploy(loop, Gone(), edit=without("end")))
    assert found.word == "inconclusive"
    assert "lease.release was answered error; no rule of [outcomes] knows HTTP 410" in found.reason
    known = '[outcomes]\ndenied = [{ "/status" = 410 }]\n[lease]\n'
    edit = lambda text: without("end")(text).replace("[lease]\n", known)  # noqa: E731
    assert play(law, lambda loop: deploy(loop, Gone(), edit=edit)).word == "pass"


def test_a_second_acquire_that_is_refused_renews_nothing_and_is_no_matter_of_time() -> None:
    raised: list[NotShown] = []

    async def law(target: Target) -> None:
        try:
            await LAWS["lease/expires-exactly"].function(target)
        except NotShown as error:
            raised.append(error)
            raise

    told = replace(LAWS["lease/expires-exactly"], function=law)
    found = play(told, lambda loop: deploy(loop, LeaseService(renewed_by=["renew", "acquire"])))
    assert found.word == "inconclusive"
    assert (
        'by acquire again: answered busy; if it renews nothing, take "acquire" out of lease.renewed_by' in found.reason
    )
    assert not raised[0].timing


@pytest.mark.parametrize("law", [law for law in LEASES if law != "lease/clock-proof"])
def test_an_error_is_never_a_refusal(law: str) -> None:
    """Whoever asks for what is held gets a 500. No law passes or fails on that."""
    found = on_service(law, "breaks")
    assert found.word == "inconclusive", found
    assert "500" in found.reason


@pytest.mark.parametrize("policy", [{"busy": busy} for busy in ("refuses", "queues", "provisions")], ids=str)
@pytest.mark.parametrize("law", [law for law in LEASES if law != "lease/clock-proof"])
def test_who_may_never_have_it_shows_nothing_by_being_denied(law: str, policy: dict[str, Any]) -> None:
    found = on_service(law, "denies bob", **policy)
    assert found.word != "fail", found


# -- what a busy answer tells


def placed(text: str) -> str:
    """The profile also puts out the place, and presents it with each use."""
    return text.replace('lease = "/body/lease"', 'lease = "/body/lease", place = "/body/place"').replace(
        'mark = "{mark}"', 'mark = "{mark}", place = "{place}"'
    )


def test_what_everybody_is_told_is_no_secret_of_the_holder() -> None:
    found = on_service("lease/busy-says-so", "tells the place", edit=placed)
    assert (found.word, found.cases) == ("pass", ("refuses", "gives nothing away")), found


def test_what_the_report_shows_to_everybody_is_no_secret() -> None:
    open_ = on_service("lease/busy-says-so", "tells and reports the lease")
    assert open_.word == "pass", open_


def test_a_word_that_begins_like_a_secret_is_none() -> None:
    """lease-no-1 is not in lease-no-12."""
    found = on_service("lease/busy-says-so", "tells the next lease")
    assert found.word == "pass", found


# -- how fast a busy answer is


class FromTheContender(Delay):
    """From the answer to whoever first asks for what is held, every message takes 1.45 s."""

    service: LeaseService

    def draw(self) -> float:
        return 1.45 if self.service.contended else 0.0


def slow_network(wrong: str = "", edit: Callable[[str], str] = lambda text: text) -> Ruled:
    async def deployed(loop: VirtualLoop) -> Deployment:
        delay = FromTheContender(random.Random(1))
        delay.service = LeaseService(wrong)
        return await deploy(loop, delay.service, delay, edit)

    return play(LAWS["lease/busy-says-so"], deployed)


def test_a_network_that_slows_down_under_the_contender_is_nobodys_fault() -> None:
    found = slow_network()
    assert (found.word, "but others took as long" in found.reason) == ("inconclusive", True), found


def test_where_nothing_can_be_read_to_compare_slowness_shows_nothing() -> None:
    found = on_service("lease/busy-says-so", "refuses slowly", edit=without("lease.holder"))
    assert (found.word, "nothing else of it could be read" in found.reason) == ("inconclusive", True), found
    assert on_service("lease/busy-says-so", edit=without("lease.holder")).word == "pass"


def test_refusals_are_seen_also_where_a_key_is_all_that_a_use_needs() -> None:
    """A refused acquire has no mark: only a refused use shows that nothing happened."""
    found = play(LAWS["tools/refused-is-untouched"], lambda loop: deploy(loop, LeaseService("takes any key")))
    assert (found.word, found.cases) == ("pass", ("lease.use of alice",)), found
