"""Laws of decisions: who may decide, and that a denial stands."""

from __future__ import annotations

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import Approval, Decision, asking, deciders
from lasttick.laws.caller import Caller

from .approvals import VERBS, arrange, askers, good, in_time, is_late, is_undecided, pending, reads_outcome, takes


@law("approval/deny-is-final", verbs=VERBS, seconds=takes(0.5, 6))
async def test_deny_is_final(target: Target) -> None:
    """A request is denied; then the decider says yes after all, the asker goes on, and asks for the same once more.

    Nothing of that runs it, between two requests that are approved and run.
    """
    alice, boss = await arrange(target)
    await good(target, alice, boss)
    tried = ["a later yes"]
    async with pending(target, alice, boss) as request:
        said = await request.decide(boss, "deny")
        control(said.ok, f"the denial of {boss.name} was {said.answer}", said, timing=is_late(request))
        later = await request.decide(boss, "approve")
        if request.resumes:
            tried.append("a later yes and a resume")
            later = await request.resume()
        await good(target, alice, boss)
        must(not await request.effects(), f"what was denied ran after {tried[-1]}", *request.said())
        in_time(request, later.answered_s)
        for what in tried:
            target.case(what)
        async with asking(target, alice, boss, request.mark) as again:
            again.ask()
            await again.seen()
            await good(target, alice, boss)
            must(not await again.effects(), "what was denied ran when it was asked for again", *again.said())
            target.case("the same request again")


@law("approval/decider-only", verbs=VERBS, seconds=takes(1, 6))
async def test_decider_only(target: Target) -> None:
    """The asker, another caller and another tenant's decider say yes, and then no, to a request; then the decider says
    yes. Theirs decides nothing, and the record names who did.
    """
    alice, boss = await arrange(target)
    await good(target, alice, boss)
    others = [alice]
    for name in askers(target):
        if name != alice.name:
            other = target.caller(name)
            if (await other.open()).ok:
                others.append(other)
    others += await deciders(target, alice.name, foreign=True)
    for other in others:
        what = f"{other.name}, {_role(other, alice)},"
        async with pending(target, alice, boss) as request:
            await _decides_nothing(target, request, other, what)
            await good(target, alice, boss)
            must(not await request.effects(), f"it ran when {what} said yes", *request.said())
            await is_undecided(request, boss, f"after {what} had said no")
            await _records(request, boss)
        target.case(f"{other.name}, {_role(other, alice)}")


def _role(other: Caller, asker: Caller) -> str:
    if other is asker:
        return "the asker"
    return f"a decider of {other.spec.tenant}" if other.spec.decides else "who decides nothing"


async def _decides_nothing(target: Target, request: Approval, other: Caller, what: str) -> None:
    decisions: tuple[Decision, ...] = ("approve", "deny")
    for decision in decisions:
        said = await request.decide(other, decision)
        control(said.outcome != "lost", f"whether {what} was heard is not known", said)
        if said.ok and request.resumes and decision == "approve":
            await request.resume()


async def _records(request: Approval, boss: Caller) -> None:
    if not reads_outcome(request) or boss.spec.id is None:
        return
    record = await request.record()
    control(record.said.ok, "how it ended cannot be read", record.said)
    if "by" in record.said.out:
        must(
            record.by == boss.spec.id,
            f"it is recorded as decided by {record.by!r}, not by {boss.spec.id}",
            record.said,
        )
