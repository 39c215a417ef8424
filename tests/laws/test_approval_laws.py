"""The laws of approvals: green on a right service of either variant, red by its own law on a wrong one, and never red
for a reason that is not the target's.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from lasttick.engine.network import Delay

from .approval_service import ApprovalService, deploy
from .playing import Ruled, all_laws, play

LAWS = {id_: law for id_, law in all_laws().items() if id_.startswith("approval/")}
BLOCKING, POLLING = True, False
VARIANTS = pytest.mark.parametrize("blocks", [BLOCKING, POLLING], ids=["blocking", "polling"])
BOTH = (BLOCKING, POLLING)
# Each fault: the variants that can have it, its own law, and the laws that cannot but be red with it.
OVERDUE = ("late-is-refused", "deadline-exact", "always-ends")
FAULTS: dict[str, tuple[tuple[bool, ...], str, tuple[str, ...]]] = {
    "runs at once": (BOTH, "silence-is-not-yes", ()),
    "remembers a yes": (BOTH, "silence-is-not-yes", ()),
    "approves on timeout": (BOTH, "silence-is-not-yes", ()),
    "reads yes anywhere": (BOTH, "silence-is-not-yes", ()),
    "resumes undecided": ((POLLING,), "silence-is-not-yes", ()),
    # Nobody said yes, and it did not survive either.
    "runs at a restart": (BOTH, "survives-restart", ("silence-is-not-yes",)),
    "restarts otherwise": (BOTH, "survives-restart", ()),
    "takes a yes after a no": (BOTH, "deny-is-final", ()),
    "lets the asker decide": (BOTH, "decider-only", ()),
    "lets anybody's decider decide": (BOTH, "decider-only", ()),
    "records the asker": (BOTH, "decider-only", ()),
    "says ok and runs nothing": (BOTH, "told-is-true", ()),
    "runs twice": (BOTH, "once-only", ()),
    "decides the newest": (BOTH, "bound-to-request", ()),
    "runs other arguments": (BOTH, "bound-to-arguments", ()),
    "resumes with anything": ((POLLING,), "bound-to-arguments", ()),
    "takes a late yes": (BOTH, "late-is-refused", ()),
    "ends early": (BOTH, "deadline-exact", ()),
    # What never ends, or too late, has no exact end, and a yes after its end is taken.
    "ends late": (BOTH, "deadline-exact", OVERDUE),
    "is pending for ever": (BOTH, "always-ends", OVERDUE),
    # The list is how the end is seen.
    "lists what is over": (BOTH, "always-ends", ("deadline-exact",)),
    "takes a timeout for a person's no": (BOTH, "timeout-is-no-person", ()),
    "shows no argument": (BOTH, "shows-what-runs", ()),
    "shows no end": (BOTH, "shows-what-runs", ()),
}
KEPT = {"runs twice": "survives-restart"}
"""Where a restart keeps what waits, it has to be decided once: red there too."""
CASES = {
    "silence-is-not-yes": (6, 7),
    "deny-is-final": (2, 3),
    "decider-only": (3, 3),
    "told-is-true": (2, 1),
    "once-only": (1, 1),
    "bound-to-request": (2, 2),
    "bound-to-arguments": (1, 2),
    "late-is-refused": (1, 1),
    "deadline-exact": (2, 2),
    "survives-restart": (1, 1),
    "timeout-is-no-person": (1, 1),
    "always-ends": (1, 1),
    "shows-what-runs": (2, 2),
}


def on_service(
    law: str,
    wrong: str = "",
    delay: Delay | None = None,
    edit: Callable[[str], str] = lambda text: text,
    **policy: Any,
) -> Ruled:
    return play(LAWS[f"approval/{law}"], lambda loop: deploy(loop, ApprovalService(wrong, **policy), delay, edit))


def test_the_tables_have_every_law_of_approvals() -> None:
    laws = sorted(law.removeprefix("approval/") for law in LAWS)
    assert sorted(CASES) == laws
    assert sorted({law for _, law, _ in FAULTS.values()}) == laws


@VARIANTS
@pytest.mark.parametrize("restart", ["ends", "keeps"])
@pytest.mark.parametrize("on_timeout", ["expired", "denied"])
@pytest.mark.parametrize("law", CASES)
def test_a_right_service_keeps_it(law: str, blocks: bool, restart: str, on_timeout: str) -> None:
    found = on_service(law, blocks=blocks, restart=restart, on_timeout=on_timeout)
    assert (found.word, len(found.cases)) == ("pass", CASES[law][0 if blocks else 1]), found


@pytest.mark.parametrize(
    ("wrong", "blocks"), [(wrong, blocks) for wrong, (variants, _, _) in FAULTS.items() for blocks in variants]
)
def test_each_fault_is_red_by_its_own_law_and_by_no_other(wrong: str, blocks: bool) -> None:
    _, own, others = FAULTS[wrong]
    for restart in ("ends", "keeps"):
        found = {law: on_service(law, wrong, blocks=blocks, restart=restart) for law in CASES}
        red = [law for law, ruled in found.items() if ruled.word == "fail"]
        kept = [KEPT[wrong]] if restart == "keeps" and wrong in KEPT else []
        assert sorted(red) == sorted({own, *others, *kept}), {law: found[law] for law in red}
        assert "-> " in found[own].reason or wrong in ("runs at once", "remembers a yes"), found[own]


@VARIANTS
def test_a_time_out_that_is_a_persons_no_is_found_where_time_outs_are_denials(blocks: bool) -> None:
    found = on_service("timeout-is-no-person", "takes a timeout for a person's no", blocks=blocks, on_timeout="denied")
    assert (found.word, "recorded as decided by boss" in found.reason) == ("fail", True), found


@pytest.mark.parametrize("wrong", ["is pending for ever", "ends late"])
def test_what_has_not_ended_yet_says_nothing_of_its_record(wrong: str) -> None:
    found = on_service("timeout-is-no-person", wrong)
    assert (found.word, "pending when it must be over" in found.reason) == ("inconclusive", True), found


# -- delays


def noisy(law: str, high_s: float, seed: int, **policy: Any) -> Ruled:
    return on_service(law, delay=Delay(random.Random(seed), 0.0, high_s), **policy)


@VARIANTS
@pytest.mark.parametrize("seed", range(4))
def test_noisy_runs_give_no_false_red(seed: int, blocks: bool) -> None:
    """Delays of up to 3 s on each message; what they leave open is inconclusive."""
    for restart in ("ends", "keeps"):
        words = {law: noisy(law, 3.0, seed, blocks=blocks, restart=restart).word for law in CASES}
        assert set(words.values()) <= {"pass", "inconclusive"}, words


@VARIANTS
@pytest.mark.parametrize("seed", range(2))
def test_delays_within_the_tolerance_cost_no_verdict(seed: int, blocks: bool) -> None:
    words = {law: noisy(law, 0.02, seed, blocks=blocks).word for law in CASES}
    assert set(words.values()) == {"pass"}, words


@VARIANTS
@pytest.mark.parametrize("wrong", ["approves on timeout", "ends early", "runs twice", "takes a late yes"])
def test_faults_are_found_through_delays_too(wrong: str, blocks: bool) -> None:
    own = FAULTS[wrong][1]
    delay = Delay(random.Random(1), 0.0, 0.02)
    assert on_service(own, wrong, delay, blocks=blocks).word == "fail"


def test_a_restart_that_takes_longer_than_a_request_lasts_shows_nothing() -> None:
    """Whoever refuses the yes then may only have let it run out."""

    class Slow(ApprovalService):
        async def restart(self, request: Request) -> JSONResponse:
            await asyncio.sleep(30)
            return await super().restart(request)

    found = play(LAWS["approval/survives-restart"], lambda loop: deploy(loop, Slow()))
    assert (found.word, "may have ended before it was tried" in found.reason) == ("inconclusive", True), found
    kept = play(LAWS["approval/survives-restart"], lambda loop: deploy(loop, Slow(restart="keeps")))
    assert kept.word == "inconclusive", kept


# -- what the profile does not give


def without(*starts: str) -> Callable[[str], str]:
    """The profile without the lines that begin so."""

    def edit(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if not line.startswith(starts))

    return edit


def undecided(text: str) -> str:
    return text.replace("decides = true\n", "")


@pytest.mark.parametrize("law", CASES)
def test_nothing_applies_without_effects_or_without_a_decider(law: str) -> None:
    blind = on_service(law, edit=lambda text: text.partition("[effects]")[0])
    assert (blind.word, "needs the verb effects" in blind.reason) == ("not_applicable", True), blind
    alone = on_service(law, edit=undecided)
    assert (alone.word, "needs a caller that decides" in alone.reason) == ("not_applicable", True), alone


@VARIANTS
def test_a_clause_without_its_verb_is_named_and_not_counted(blocks: bool) -> None:
    found = on_service("silence-is-not-yes", blocks=blocks, edit=without("restart = {"))
    assert found.word == "pass", found
    assert len(found.cases) == CASES["silence-is-not-yes"][0 if blocks else 1] - 1
    assert "a restart (system.restart is not bound)" in found.cases[-1]
    assert ("going on undecided" in found.cases[-1]) == blocks


def test_without_a_list_the_id_is_that_of_the_answer() -> None:
    words = {law: on_service(law, blocks=POLLING, edit=without("pending = {")).word for law in CASES}
    assert words.pop("shows-what-runs") == "not_applicable"
    assert set(words.values()) == {"pass"}, words


def test_without_a_list_a_request_that_blocks_is_never_seen() -> None:
    found = on_service("deny-is-final", blocks=BLOCKING, edit=without("pending = {"))
    assert (found.word, "is not seen to wait for a person" in found.reason) == ("inconclusive", True), found


def test_without_records_the_laws_judge_effects_alone() -> None:
    words = {law: on_service(law, edit=without("outcome = {", "states = ")).word for law in CASES}
    assert words.pop("timeout-is-no-person") == "not_applicable"
    assert set(words.values()) == {"pass"}, words


@pytest.mark.parametrize("law", ["deadline-exact", "always-ends"])
def test_an_end_that_nothing_tells_is_not_judged(law: str) -> None:
    found = on_service(law, blocks=POLLING, edit=without("outcome = {", "states = ", "pending = {"))
    assert (found.word, "nothing else tells when a request has ended" in found.reason) == ("not_applicable", True), (
        found
    )


@VARIANTS
@pytest.mark.parametrize("law", CASES)
def test_nothing_is_left_pending(law: str, blocks: bool) -> None:
    service = ApprovalService(blocks=blocks, restart="keeps")
    play(LAWS[f"approval/{law}"], lambda loop: deploy(loop, service))
    assert [one.id for one in service.asked.values() if one.state == "pending"] == []
