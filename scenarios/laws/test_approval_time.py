"""Laws of the end: a request that nobody answers ends when it was said to, and nothing of a person is in that."""

from __future__ import annotations

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import Approval
from lasttick.laws.caller import Caller
from lasttick.laws.judges.interval import Probe, compare, measured, next_probe_s, told
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable

from .approvals import (
    VERBS,
    arrange,
    fresh,
    good,
    in_time,
    is_late,
    is_undecided,
    pending,
    reads_outcome,
    takes,
    term_of,
    until_over,
)
from .leases import STEPS, round_trip_s

NOT_READ = "needs approval.pending or approval.outcome: nothing else tells when a request has ended"


@law("approval/late-is-refused", verbs=VERBS, seconds=takes(1, 4))
async def test_late_is_refused(target: Target) -> None:
    """Nobody answers a request until it is surely over; then the decider says yes, and the asker goes on.

    That is not answered ok and nothing runs, between two requests that are approved and run.
    """
    alice, boss = await arrange(target)
    await good(target, alice, boss)
    async with pending(target, alice, boss) as request:
        await until_over(request)
        control(not await request.effects(), "it ran before the late yes was said", *request.said())
        said = await request.decide(boss, "approve")
        if request.resumes:
            await request.resume()
        await good(target, alice, boss)
        late_s = said.sent_s - request.began.answered_s
        must(not await request.effects(), f"it ran by a yes {late_s:.3f} s after it was asked", *request.said())
        must(not said.ok, f"a yes {late_s:.3f} s after it was asked was answered ok", *request.said())
        control(said.outcome != "lost", "whether the late yes was heard is not known", said)
    target.case("a yes after the end")


@law("approval/deadline-exact", verbs=VERBS, seconds=takes(2, 4))
async def test_deadline_exact(target: Target) -> None:
    """Nobody answers a request, and it is looked at until it is over; another one gets a yes just before its end.

    The first ends when declared, by the interval rule; the yes counts.
    """
    alice, boss = await arrange(target)
    if not _reads(target, boss):
        raise NotApplicable(NOT_READ)
    await good(target, alice, boss)
    expected = term_of(target)
    async with pending(target, alice, boss) as request:
        probes, saids = await _until_ended(request)
        found = measured(request.began, probes)
        sentence, verdict = told(f"the request of {alice.name}", found, expected), compare(found, expected)
        must(verdict != "disjoint", sentence, *saids)
        control(verdict == "inside", f"{sentence}; delays leave open on which side it was", *saids, timing=True)
    target.case("ends")
    async with pending(target, alice, boss) as request:
        margin_s = 3 * round_trip_s(target) + target.approval.tolerance_s / STEPS
        await target.until(request.began.sent_s + expected.low_s - margin_s)
        await is_undecided(request, boss, f"at the latest {margin_s:.3f} s before it could end")
    target.case("a yes just before the end")


@law("approval/timeout-is-no-person", verbs=(*VERBS, "approval.outcome"), seconds=takes(1, 3))
async def test_timeout_is_no_person(target: Target) -> None:
    """A person denies one request, and nobody answers another.

    The record of the second is what `on_timeout` says, names no person, and differs from that of the first.
    """
    alice, boss = await arrange(target, "approval.outcome")
    async with pending(target, alice, boss) as request:
        said = await request.decide(boss, "deny")
        control(said.ok, f"the denial of {boss.name} was {said.answer}", said, timing=is_late(request))
        by_person = await request.record()
        control(by_person.state == "denied", "a denial is not reported as denied", by_person.said)
    async with pending(target, alice, boss) as request:
        await until_over(request)
        record = await request.record()
    control(record.said.ok, "how a request ended that nobody answered cannot be read", record.said)
    control(record.state != "pending", "it is reported as pending when it must be over", record.said)
    persons = {name: spec.id for name, spec in target.deployment.profile.callers.items()}
    is_person = record.by is not None and record.by in (*persons, *persons.values())
    must(not is_person, f"a time-out is recorded as decided by {record.by}", record.said)
    control(record.state != "approved", "a time-out is recorded as approved, by nobody", record.said)
    wanted = target.approval.on_timeout
    must(record.state == wanted, f"a time-out is recorded as {record.state}; on_timeout = {wanted}", record.said)
    tells = "by" in record.said.out or record.state != by_person.state
    control(tells, "approval.outcome puts out no `by` that tells a time-out from a person's denial", record.said)
    same = (record.state, record.by) == (by_person.state, by_person.by)
    must(not same, f"a time-out is recorded like the denial of {boss.name}", by_person.said, record.said)
    target.case("the record of a time-out")


@law("approval/survives-restart", verbs=(*VERBS, "system.restart"), seconds=takes(1, 4), restarts=True)
async def test_survives_restart(target: Target) -> None:
    """The target restarts while a request waits. Nothing runs by itself; where restart = keeps, the decider's yes then
    runs it once, and where it is ends, a yes is not answered ok and runs nothing.
    """
    alice, boss = await arrange(target, "system.restart")
    await good(target, alice, boss)
    async with pending(target, alice, boss) as request:
        await target.restart()
        for caller in (alice, boss):
            await fresh(caller)
        await good(target, alice, boss)
        must(not await request.effects(), "it ran by itself when the target was restarted", *request.said())
        if target.approval.restart == "keeps":
            await is_undecided(request, boss, "after a restart, and restart = keeps")
            said = await request.decide(boss, "approve")
            if request.resumes:
                await request.resume()
            await good(target, alice, boss)
            times = len(await request.effects())
            must(times == 1, f"what was approved after a restart ran {times} times", *request.said())
        else:
            said = await request.decide(boss, "approve")
            if request.resumes:
                await request.resume()
            await good(target, alice, boss)
            must(not await request.effects(), "it ran after a restart, and restart = ends", *request.said())
            must(not said.ok, "a yes was answered ok after a restart, and restart = ends", *request.said())
            in_time(request, said.answered_s)
        control(said.outcome != "lost", "whether the yes was heard is not known", said)
    target.case(f"a restart {target.approval.restart} it")


@law("approval/always-ends", verbs=VERBS, seconds=takes(2, 4), invariant=True)
async def test_always_ends(target: Target) -> None:
    """Nobody answers a request until it must be over. It is then listed no more and not reported as pending.

    So it is with everything else that the run asked for.
    """
    alice, boss = await arrange(target)
    if not _reads(target, boss):
        raise NotApplicable(NOT_READ)
    async with pending(target, alice, boss) as request:
        await until_over(request)
        answer = await request.answered(target.lag_s("approval.request"))
        await _is_over(target, request, boss)
        control(answer is not None, f"{alice.name} has no answer yet, and the request is over", *request.said())
        target.case("nobody answered")
    for one in list(target.deployment.approvals):
        if one is not request and one.seen_s is not None:
            await target.until(one.seen_s + term_of(target).high_s)
            await _is_over(target, one, boss)


def _reads(target: Target, boss: Caller) -> bool:
    return any(target.bound(verb, boss.spec.route) for verb in ("approval.pending", "approval.outcome"))


async def _is_over(target: Target, request: Approval, boss: Caller) -> None:
    """By each way in which it can be read."""
    if target.bound("approval.pending", boss.spec.route):
        said, row = await request.entry(boss)
        must(row is None, f"what {request.asker.name} asked for is still listed when it must be over", said)
        control(said.ok, f"what waits cannot be read: it was {said.answer}", said)
    if reads_outcome(request):
        record = await request.record(boss)
        must(record.state != "pending", f"what {request.asker.name} asked for is pending for too long", record.said)


async def _until_ended(request: Approval) -> tuple[list[Probe], tuple[Said, ...]]:
    """Look until it is over or must have been; the probes, and the last answers."""
    target, began, last_s = request.target, request.began, None
    probes: list[Probe] = []
    held: tuple[Said, ...] = ()
    step_s, trip_s = target.approval.tolerance_s / STEPS, round_trip_s(target)
    plan = term_of(target)
    while (at_s := next_probe_s(began, plan, target.now_s, last_s, step_s=step_s, round_trip_s=trip_s)) is not None:
        await target.until(at_s)
        said, over = await _looked(request)
        last_s = said.sent_s
        probes.append(Probe(said.sent_s, said.answered_s, over))
        if over:
            return probes, (*held, said)
        held = (said,)
    return probes, held


async def _looked(request: Approval) -> tuple[Said, bool]:
    """One answer, and whether it says that the request is over."""
    if request.target.bound("approval.pending", request.decider.spec.route):
        said, row = await request.entry()
        control(said.ok, f"what waits cannot be read: it was {said.answer}", said, timing=said.outcome == "lost")
        return said, row is None
    record = await request.record()
    clear = record.said.ok or record.said.refused  # what has ended may be known no more
    control(clear, f"how it stands cannot be read: it was {record.said.answer}", record.said)
    return record.said, record.state != "pending"
