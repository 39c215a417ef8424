"""Laws of leases: whoever holds a resource holds it alone, for as long as was declared and no longer."""

from __future__ import annotations

import math

from lasttick import Target, control, law, must
from lasttick.laws.judges.interval import Interval
from lasttick.laws.verdict import NotApplicable

from .lease_answers import BUSY, must_tell_nothing, secrets_of
from .lease_calls import Watch, long_call_of, long_call_s, past_the_term
from .lease_stories import (
    LATE,
    ask_during_call,
    expires_after,
    expires_beside_another,
    hand_over,
    leaves_under_call,
    meddle,
    race,
    reported_in_long_call,
    reported_in_time,
    session_ends,
    stale_in_long_call,
    taken_over,
)
from .leases import (
    VERBS,
    Look,
    arrange,
    at_once,
    begin,
    conclude,
    contended,
    let_go,
    now,
    renews,
    running,
    span,
    surely_until_s,
    takes,
    term_of,
    until_free,
)

ANSWERS_SHOWN = 3


@law("lease/exclusive", verbs=VERBS, callers=2, seconds=takes(1, 4), invariant=True)
async def test_exclusive(target: Target) -> None:
    """Two callers race for a resource, one is kept off during a call of the other, and it changes hands.

    Nowhere in the run does a caller act on a resource, or is granted one, while another surely holds it.
    """
    alice, bob = await arrange(target)
    watch = Watch(target, whole_run=True)
    async with target.subject() as lease:
        if target.lease.busy == "refuses" and lease.spare == 0:
            alice, bob = await race(watch, lease, alice, bob)
            target.case("asked for at once")
        else:
            await begin(target, lease, alice)
        asked = await hand_over(target, lease, alice, bob)
    judged = await watch.judged()
    control(bool(judged.withheld), "nobody was seen to be kept off during a call of another", asked, timing=True)
    target.case("kept off during a call")
    if target.lease.busy != "provisions":
        control(bool(judged.handovers), "the resource was never seen to change hands", timing=True)
        target.case("changed hands")


@law("lease/outlives-long-call", verbs=VERBS, callers=2, seconds=takes(1.5, 3))
async def test_outlives_long_call(target: Target) -> None:
    """Alice makes a call that is longer than a whole term of her lease, and Bob asks for the resource meanwhile.

    `pins`: he does not get it while the call runs. `ends`: he does, and her call has stopped at the resource first.
    """
    alice, bob = await arrange(target)
    watch = Watch(target)
    async with target.subject() as lease:
        await begin(target, lease, alice)
        long = lease.use(alice, hold_s=long_call_of(target))
        async with running(long) as call, running(ask_during_call(target, lease, bob)) as asking:
            said = await call
            if target.lease.busy == "queues" and lease.holder is alice:
                await let_go(target, lease, alice)
            answers = await asking
        mine = await target.effect_of(said, ended=target.lease.in_flight == "ends")
        judged = await watch.judged()
        control(mine is not None, "the long call did not reach the resource", said)
        if target.lease.in_flight == "ends":
            used, long_s = answers[-1], long_call_of(target)
            unseen = f"nobody used the resource during a call of {long_s:g} s: in_flight = ends was not seen"
            control(used.ok, unseen, said, *answers)
            control(await target.effect_of(used) is not None, "the next holder's call did not reach the resource", used)
            control(mine is not None and mine.end is not None, "the effects do not say when the call stopped", said)
        else:
            control(said.ok, f"a call of {alice.name}, who holds the resource, was not answered ok", said)
            late = [answer for answer in judged.withheld if past_the_term(target, said, answer)]
            shown = (said, *answers[-ANSWERS_SHOWN:])
            control(bool(late), "nobody asked when the term was surely over and the call not", *shown, timing=True)
    target.case("long call")


@law("lease/expires-exactly", verbs=VERBS, callers=2, seconds=takes(3.7))
async def test_expires_exactly(target: Target) -> None:
    """Alice takes a lease, renews it in each declared way or says what renews nothing, and falls silent.

    Bob does not get the resource before the last renewing event + TTL, and gets it within the lag after it.
    """
    alice, bob = await arrange(target)
    await expires_after(target, alice, bob, "acquire")
    for event in ("use", "renew", "acquire"):
        if renews(target, event) and alice.can(f"lease.{event}"):
            await expires_after(target, alice, bob, f"{event} again")
    await expires_beside_another(target, alice, bob)


@law("lease/dies-with-holder", verbs=VERBS, callers=2, seconds=takes(1, 8))
async def test_dies_with_holder(target: Target) -> None:
    """Alice ends her session, or vanishes without a word; and each of these again while a call of hers runs.

    The resource is free as `session_end` says, or by her TTL; and nobody acts on it before her call has ended there.
    """
    alice, bob = await arrange(target)
    expected = term_of(target)
    if alice.can("session.end"):
        await session_ends(target, alice, bob)
    async with target.subject() as lease:
        began = await begin(target, lease, alice)
        await contended(target, lease, bob)
        await alice.vanish()
        look = await until_free(target, lease, bob, began, expected)
        by_then = Interval(-math.inf, expected.high_s)
        await conclude(target, lease, bob, look, f"the lease of {alice.name}, who vanished,", by_then)
    target.case("vanished")
    if target.lease.in_flight == "pins" and target.lease.busy == "refuses":
        if alice.can("session.end"):
            await leaves_under_call(target, alice, bob, "ended")
        await leaves_under_call(target, alice, bob, "vanished")


@law("lease/only-own-release", verbs=VERBS, callers=2, seconds=takes(1.1))
async def test_only_own_release(target: Target) -> None:
    """While Alice holds the resource, another renews and releases it, and ends a session of his own.

    She can still use it and Bob is still kept off; and when she falls silent it is free when her own TTL is over.
    """
    alice, bob = await arrange(target)
    other = bob.twin()
    opened = await other.open()
    control(opened.ok, f"{bob.name} cannot open a second session", opened)
    if not any(other.can(verb) for verb in ("lease.renew", "lease.release", "session.end")):
        raise NotApplicable("needs one of lease.renew, lease.release, session.end; the profile binds none of them")
    expected = term_of(target)
    what = f"the lease of {alice.name}, with which another meddled,"
    async with target.subject() as lease:
        began = await begin(target, lease, alice)
        await contended(target, lease, bob)
        await meddle(lease, other, surely_until_s(began, target))
        if target.lease.busy == "refuses":
            said = await lease.acquire(bob)
            if said.ok:
                look = Look(Interval(-math.inf, said.answered_s - began.sent_s), (said,), said)
                await conclude(target, lease, bob, look, what, expected)
            control(said.refused, f"{bob.name} is neither granted nor refused the resource", said)
        used = await lease.use(alice)
        hers = used.answered_s < surely_until_s(began, target)
        must(not (used.refused and hers), f"{alice.name} was refused what she holds after another meddled", used)
        control(used.ok, f"{alice.name} cannot use what she holds", used, timing=True)
        control(await target.effect_of(used) is not None, "the holder's call did not reach the resource", used)
        target.case("the holder can still act")
        if renews(target, "use"):
            began = span(used)
        await target.until(began.sent_s + LATE * expected.low_s)
        await meddle(lease, other, surely_until_s(began, target))
        look = await until_free(target, lease, bob, began, expected)
        await conclude(target, lease, bob, look, what, expected)
    target.case("neither freed nor lengthened")


@law(
    "lease/stale-holder-refused",
    verbs=VERBS,
    callers=2,
    seconds=lambda profile: takes(1)(profile) + long_call_s(profile),
)
async def test_stale_holder_refused(target: Target) -> None:
    """Alice's lease runs out, or she gives it back, and Bob takes the resource; then she acts on what she knew.

    She is refused and nothing arrives, between two good calls of his and during a call that outlasts his own TTL.
    """
    target.needs_policy("busy", "refuses", "queues")
    alice, bob = await arrange(target)
    watch = Watch(target)
    async with target.subject() as lease:
        began = await begin(target, lease, alice)
        look = await until_free(target, lease, bob, began, term_of(target))
        await taken_over(watch, lease, alice, bob, look)
        target.case("run out")
        if target.lease.in_flight == "pins":
            await stale_in_long_call(watch, lease, alice, bob)
            target.case("run out, during a long call of the next holder")
    if alice.can("lease.release") and target.deployment.profile.stands_for("lease.release") == "lease.release":
        async with target.subject() as lease:
            await begin(target, lease, alice)
            await let_go(target, lease, alice)
            look = await until_free(target, lease, bob, now(target), at_once(term_of(target)))
            await taken_over(watch, lease, alice, bob, look)
        target.case("given back")


@law("lease/reported-is-held", verbs=(*VERBS, "lease.holder"), callers=2, seconds=takes(1.5, 4))
async def test_reported_is_held(target: Target) -> None:
    """A resource is reported free, Alice takes it, uses it for longer than its TTL, and lets it go.

    Each time the report is right within its lag, and it names her where the profile says how.
    """
    alice, bob = await arrange(target, "lease.holder")
    async with target.subject() as lease:
        before = await lease.reported()
        control(before.ok, "nobody can say who holds what", before)
        control(lease.is_reported_held(before) is not True, "it is reported held before anybody asked for it", before)
        began = await begin(target, lease, alice)
        await contended(target, lease, bob)
        said = await reported_in_time(target, lease, True, began, surely_until_s(began, target))
        names = [row["by"] for row in said.each if str(row.get("resource")) == lease.resource and "by" in row]
        if alice.spec.id is not None and names:
            must(names == [alice.spec.id], f"it is reported as held by {names}, not by {alice.spec.id}", said)
        target.case("held")
        if target.lease.in_flight == "pins":
            await reported_in_long_call(target, lease, alice)
            target.case("held during a long call")
        freed = await let_go(target, lease, alice)
        if freed is None:
            await target.sleep(term_of(target).high_s)
        await reported_in_time(target, lease, False, now(target) if freed is None else span(freed), math.inf)
        target.case("free")


@law("lease/clock-proof", verbs=(*VERBS, "clock.step"), callers=2, seconds=takes(2))
async def test_clock_proof(target: Target) -> None:
    """The target's wall clock jumps, first ahead, then back, by three terms of a lease that Alice holds.

    The lease ends when it would have ended anyway.
    """
    alice, bob = await arrange(target, "clock.step")
    expected = term_of(target)
    for name, seconds in (("ahead", 3 * expected.high_s), ("back", -3 * expected.high_s)):
        async with target.subject() as lease:
            began = await begin(target, lease, alice)
            await contended(target, lease, bob)
            await target.step_clock(seconds)
            try:
                look = await until_free(target, lease, bob, began, expected)
                what = f"the lease of {alice.name}, while the wall clock jumped {name} by {abs(seconds):g} s,"
                await conclude(target, lease, bob, look, what, expected)
            finally:
                await target.step_clock(-seconds)
        target.case(name)


@law("lease/busy-says-so", verbs=VERBS, callers=2, seconds=lambda profile: 4.0)
async def test_busy_says_so(target: Target) -> None:
    """Alice holds the resource and Bob asks for it.

    He is told what `busy` declares, without delay, and nothing in the answer opens for him what is hers.
    """
    alice, bob = await arrange(target)
    async with target.subject() as lease:
        watch = Watch(target)
        await begin(target, lease, alice)
        secrets = await secrets_of(lease, alice, bob)
        answers = await BUSY[target.lease.busy](watch, lease, alice, bob)
        target.case(target.lease.busy)
        await must_tell_nothing(lease, alice, bob, answers, secrets)
    target.case("gives nothing away")
