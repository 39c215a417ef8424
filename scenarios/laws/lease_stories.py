"""The parts of the stories that the laws of leases tell. Verbs only."""

from __future__ import annotations

import asyncio
import math

from lasttick import Target, control, must
from lasttick.laws.caller import Caller
from lasttick.laws.judges.interval import DRIFT, Interval, Span, at_most
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject

from .lease_calls import Watch, long_call_of, past_the_term, short_call_of
from .leases import (
    Look,
    acquire_is_use,
    acted,
    another,
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
    take,
    term_of,
    until_free,
)

RACES = 4
EARLY, LATE = 0.4, 0.8
"""When in a term something is said that renews, and something that must not: it shows only if it adds more than the
lag."""


async def race(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> tuple[Caller, Caller]:
    """Both ask at the same time, again and again. Winner and loser of the last time."""
    target = watch.target
    for left in reversed(range(RACES)):
        for caller in (alice, bob):
            if caller.over:
                opened = await caller.again()
                control(opened.ok, f"{caller.name} cannot open a session", opened)
        said, his = await asyncio.gather(lease.acquire(alice), lease.acquire(bob))
        control(said.ok or his.ok, "neither of two callers is granted a free resource", said, his)
        if said.ok and his.ok:
            await _never_both(target, lease, (alice, bob), (said, his))
        winner, loser = (alice, bob) if said.ok else (bob, alice)
        await acted(target, lease, winner, said if said.ok else his)
        await watch.judged()
        if not left or await let_go(target, lease, winner) is None:
            break
        await target.sleep(target.lag_s("lease.release"))
    return winner, loser


async def _never_both(
    target: Target, lease: Subject, callers: tuple[Caller, Caller], grants: tuple[Said, Said]
) -> None:
    """Two grants within less than a term: two holders, if a grant is worth anything: what one of them does arrives."""
    said, his = grants
    within_s = max(said.answered_s, his.answered_s) - min(said.sent_s, his.sent_s)
    control(within_s < term_of(target).low_s, "the lease may have been over before the second grant", said, his)
    same = None in (said.resource, his.resource) or said.resource == his.resource
    other = f"{said.resource} and {his.resource} were granted: lease.busy or lease.capacity is not as the target has it"
    control(same, other, said, his)
    used = grants if acquire_is_use(target) else await asyncio.gather(*(lease.use(caller) for caller in callers))
    arrived = [await target.effect_of(one) is not None for one in used]
    control(any(arrived), "both were granted the resource, and nothing that they did with it arrived", *grants, *used)
    must(False, f"{said.caller} and {his.caller} were granted the resource within {within_s:.3f} s", said, his)


async def hand_over(target: Target, lease: Subject, alice: Caller, bob: Caller) -> Said:
    """Bob asks during a call of Alice, and has the resource, or one of his own, when she has let it go. His answer."""
    hold_s = short_call_of(target)
    async with running(lease.use(alice, hold_s=hold_s)) as call:
        await target.sleep(hold_s / 4)
        async with running(lease.acquire(bob)) as asked:
            if target.lease.busy != "queues":
                await asked
            said = await call
            control(said.ok, f"a call of {alice.name}, who holds the resource, was not answered ok", said)
            await let_go(target, lease, alice)
            answer = await asked
    granted: Said | None = answer
    if target.lease.busy == "refuses":
        look = await until_free(target, lease, bob, now(target), at_once(term_of(target)))
        granted = look.granted
    control(granted is not None and granted.ok, f"{bob.name} does not get what {alice.name} has let go", said, answer)
    assert granted is not None
    await acted(target, lease, bob, granted)
    return answer


async def ask_during_call(target: Target, lease: Subject, bob: Caller) -> list[Said]:
    """Again and again, where he is refused; once, where he waits, or gets another resource when the term is over.

    Whatever he is granted he uses at once. His answers, the use last.
    """
    began_s = target.now_s
    if target.lease.busy == "refuses":
        return await ask_until(target, lease, bob, began_s + long_call_of(target), target.ttl_s / 8)
    wait_s = target.tolerance_s if target.lease.busy == "queues" else term_of(target).high_s + target.ttl_s / 8
    await target.until(began_s + wait_s)
    return await ask_until(target, lease, bob, target.now_s, 0.0)


async def ask_until(target: Target, lease: Subject, bob: Caller, until_s: float, every_s: float) -> list[Said]:
    """Ask at least once, until it is granted, and use it at once. All answers."""
    answers = [await lease.acquire(bob)]
    while not answers[-1].ok and target.now_s < until_s:
        await target.sleep(min(every_s, until_s - target.now_s))
        answers.append(await lease.acquire(bob))
    if answers[-1].ok and not acquire_is_use(target):
        answers.append(await lease.use(bob))
    return answers


async def expires_after(target: Target, alice: Caller, bob: Caller, event: str) -> None:
    expected = term_of(target)
    async with target.subject() as lease:
        said = await take(target, lease, alice)
        if event == "acquire":
            await target.until(said.sent_s + LATE * expected.low_s)
            await renew_nothing(target, lease, alice)
        else:
            await target.until(said.sent_s + EARLY * expected.low_s)
            say = {"use again": lease.use, "renew again": lease.renew, "acquire again": lease.acquire}[event]
            said = await say(alice)
            way = event.removesuffix(" again")
            why = f'{said.answer}; if it renews nothing, take "{way}" out of lease.renewed_by'
            is_open = said.outcome in ("lost", "pending")
            control(said.ok, f"{alice.name} cannot renew a lease by {event}: {why}", said, timing=is_open)
        if said.verb == "lease.use" or acquire_is_use(target):
            control(await target.effect_of(said) is not None, "the call did not reach the resource", said)
        look = await until_free(target, lease, bob, span(said), expected)
        await conclude(target, lease, bob, look, f"the lease of {alice.name} after {event}", expected)
    target.case(event)


async def expires_beside_another(target: Target, alice: Caller, bob: Caller) -> None:
    """What she does with another resource does not lengthen it. Shortening it is the target's own affair."""
    expected = term_of(target)
    async with target.subject() as lease, another(target) as second:
        if second is None:
            return
        began = await begin(target, lease, alice)
        await target.until(began.sent_s + LATE * expected.low_s)
        taken = await second.acquire(alice)
        if not (taken.ok and (await second.use(alice)).ok):
            return  # one lease at a time
        look = await until_free(target, lease, bob, began, expected)
        what = f"the lease of {alice.name}, who used another resource,"
        await conclude(target, lease, bob, look, what, Interval(-math.inf, expected.high_s))
    target.case("use of another resource")


async def renew_nothing(target: Target, lease: Subject, alice: Caller) -> None:
    """All that the holder can say and that, by the declared policy, does not renew its lease. Answers do not matter."""
    if not renews(target, "use"):
        await lease.use(alice)
    if alice.can("tools.list"):
        await alice.list_tools()
    if alice.can("lease.holder"):
        await alice.say("lease.holder", resource=lease.resource)


async def session_ends(target: Target, alice: Caller, bob: Caller) -> None:
    async with target.subject() as lease:
        began = await begin(target, lease, alice)
        await contended(target, lease, bob)
        ended = await lease.end_session(alice)
        control(ended.ok, f"{alice.name} cannot end her session", ended)
        what = f"the lease of {alice.name}, whose session ended,"
        if target.lease.session_end == "keeps":
            expected = term_of(target)
            await conclude(target, lease, bob, await until_free(target, lease, bob, began, expected), what, expected)
        else:
            lag_s = max(target.lag_s("session.end"), target.lag_s("lease.acquire"))
            expected = at_most(lag_s, tolerance_s=target.tolerance_s)
            look = await until_free(target, lease, bob, span(ended), at_once(expected))
            await conclude(target, lease, bob, look, what, expected)
            by_end = look.saids[-1].answered_s < surely_until_s(began, target)
            control(by_end, "the lease may have run out before the session's end could free it", timing=True)
    target.case("ended")


async def leaves_under_call(target: Target, alice: Caller, bob: Caller, how: str) -> None:
    """Her session ends, or she vanishes, while a call of hers runs: nobody else acts there before it has ended."""
    watch = Watch(target)
    async with target.subject() as lease:
        await begin(target, lease, alice)
        hold_s = short_call_of(target)
        async with running(lease.use(alice, hold_s=hold_s)) as call:
            await target.sleep(hold_s / 4)
            if how == "ended":
                ended = await lease.end_session(alice)
                control(ended.ok, f"{alice.name} cannot end her session", ended)
            else:
                await alice.vanish()
            over_s = target.now_s + hold_s
            await ask_until(target, lease, bob, over_s, hold_s / 8)
            said = await call
        await target.until(over_s)
        mine = await target.effect_of(said, ended=True)
        await watch.judged()
        if mine is not None and mine.end is not None:  # else it was stopped on its way, or nothing tells when it ended
            target.case(f"{how} under a call")


async def meddle(lease: Subject, other: Caller, until_s: float) -> None:
    """What somebody who holds nothing can say about another's lease. Only what comes of it matters.

    `until_s`: till when it surely is another's; later it could be had for the asking.
    """
    profile = lease.target.deployment.profile
    says = {"lease.renew": lease.renew, "lease.release": lease.release, "session.end": lease.end_session}
    if profile.stands_for("lease.release") == "session.end":
        del says["session.end"]
    answers = []
    for verb, say in says.items():
        if other.can(verb):
            if other.over:
                opened = await other.again()
                control(opened.ok, f"{other.name} cannot open a session", opened)
            answers.append(await say(other))
    told = "; ".join(dict.fromkeys(f"{said.verb} was {said.answer}" for said in answers))
    clear = any(said.ok or said.refused for said in answers)
    control(clear, f"whether another may meddle is not known: {told}", *answers)
    control(lease.target.now_s < until_s, "the lease may have been over before it was meddled with", timing=True)


async def taken_over(watch: Watch, lease: Subject, alice: Caller, bob: Caller, look: Look) -> None:
    target = watch.target
    control(look.granted is not None, f"{bob.name} does not get what {alice.name} has lost", *look.saids)
    assert look.granted is not None
    await acted(target, lease, bob, look.granted)
    said, effects = await target.sandwich(lambda: lease.use(bob), lambda: lease.use(alice))
    await watch.judged()
    is_open = said.outcome != "error"  # one more try does not teach the profile a rule
    control(said.refused, f"a holder that had lost its lease was {said.answer}", said, timing=is_open)
    control(not effects, "the call of a holder that had lost its lease arrived", said, timing=True)


async def stale_in_long_call(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> None:
    target = watch.target
    async with running(lease.use(bob, hold_s=long_call_of(target))) as call:
        await target.sleep(term_of(target).high_s + target.ttl_s / 8)
        tried = await lease.use(alice)
        said = await call
    control(await target.effect_of(said) is not None, "the long call did not reach the resource", said)
    judged = await watch.judged()
    is_open = tried.outcome != "error"
    control(tried.refused, f"a holder that had lost its lease was {tried.answer}", tried, timing=is_open)
    control(tried in judged.withheld and past_the_term(target, said, tried), "asked too late", said, tried, timing=True)


async def reported_in_time(target: Target, lease: Subject, held: bool, since: Span, until_s: float) -> Said:
    """Read until it is reported as it is; `since`: when it became so, `until_s`: how long it surely stays so."""
    due = at_most(target.lag_s("lease.holder"), tolerance_s=target.tolerance_s)
    while True:
        said = await lease.reported()
        control(said.ok, "nobody can say who holds what", said)
        is_right = (lease.is_reported_held(said) is True) == held
        if is_right or said.sent_s > since.answered_s + due.high_s:
            break
        await target.sleep(target.tolerance_s / 5)
    surely = said.answered_s <= until_s
    what = f"{lease.resource or 'the resource'} is reported {'free' if held else 'held'}"
    must(is_right or not surely, f"{what} {said.sent_s - since.answered_s:.3f} s after that was over", said)
    control(surely, "the lease may be over already", said, timing=True)
    return said


async def reported_in_long_call(target: Target, lease: Subject, alice: Caller) -> None:
    long_s = long_call_of(target)
    async with running(lease.use(alice, hold_s=long_s)) as call:
        await target.sleep(term_of(target).high_s + target.ttl_s / 8)
        said = await lease.reported()
        used = await call
    control(used.ok and said.ok, f"a call of {alice.name}, who holds the resource, was not answered ok", used, said)
    control(await target.effect_of(used) is not None, "the long call did not reach the resource", used)
    during = past_the_term(target, used, said) and said.answered_s <= used.sent_s + long_s * (1 - DRIFT)
    wrong = lease.is_reported_held(said) is not True
    must(not (wrong and during), "it is reported free during a call of its holder", used, said)
    control(during, "nobody looked when the term was surely over and the call not", used, said, timing=True)
