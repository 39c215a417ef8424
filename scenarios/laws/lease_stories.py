"""The parts of the stories that the laws of leases tell. Verbs only."""

from __future__ import annotations

import json
from typing import Any

from lasttick import Target, control, must
from lasttick.laws.caller import Caller
from lasttick.laws.interval import DRIFT, Interval, Span, at_most
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject

from .leases import (
    Look,
    Watch,
    acquire_is_use,
    acted,
    at_once,
    begin,
    conclude,
    contended,
    let_go,
    long_call_of,
    now,
    past_the_term,
    renews,
    running,
    short_call_of,
    span,
    surely_until_s,
    term_of,
    until_free,
)


async def hand_over(target: Target, lease: Subject, alice: Caller, bob: Caller) -> None:
    """Bob asks during a call of Alice, and has the resource, or one of his own, when she has let it go."""
    hold_s = short_call_of(target)
    async with running(lease.use(alice, hold_s=hold_s)) as call:
        await target.sleep(hold_s / 4)
        async with running(lease.acquire(bob)) as asked:
            if target.lease.busy != "queues":
                await asked
            said = await call
            control(said.ok, f"a call of {alice.name}, who holds the resource, was not answered ok", said)
            await let_go(target, lease, alice)
            granted: Said | None
            if target.lease.busy == "refuses":
                look = await until_free(target, lease, bob, now(target), at_once(term_of(target)))
                granted = look.granted
            else:
                granted = await asked
    control(granted is not None and granted.ok, f"{bob.name} does not get what {alice.name} has let go", said)
    assert granted is not None
    await acted(target, lease, bob, granted)


async def ask_during_call(target: Target, lease: Subject, bob: Caller) -> list[Said]:
    """Again and again, where he is refused; once when the term is over, where he waits or gets another resource."""
    long_s = long_call_of(target)
    began_s = target.now_s
    if target.lease.busy == "provisions":
        await target.until(began_s + term_of(target).high_s + target.ttl_s / 8)
        return [await lease.acquire(bob)]
    if target.lease.busy == "queues":
        await target.sleep(target.tolerance_s)
        return [await lease.acquire(bob)]
    answers = []
    while target.now_s < began_s + long_s:
        answers.append(await lease.acquire(bob))
        if answers[-1].ok:
            break
        await target.sleep(min(target.ttl_s / 8, began_s + long_s - target.now_s))
    return answers


async def expires_after(target: Target, alice: Caller, bob: Caller, event: str) -> None:
    expected = term_of(target)
    async with target.subject() as lease:
        said = await lease.acquire(alice)
        control(said.ok, f"{alice.name} is not granted a free resource", said)
        await target.until(said.sent_s + 0.4 * expected.low_s)
        if event == "acquire":
            await renew_nothing(target, lease, alice)
        else:
            say = {"use again": lease.use, "renew again": lease.renew, "acquire again": lease.acquire}[event]
            said = await say(alice)
            control(said.ok, f"{alice.name} cannot renew a lease by {event}", said, timing=True)
        if said.verb == "lease.use" or acquire_is_use(target):
            control(await target.effect_of(said) is not None, "the call did not reach the resource", said)
        look = await until_free(target, lease, bob, span(said), expected)
        await conclude(target, lease, bob, look, f"the lease of {alice.name} after {event}", expected)
    target.case(event)


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


async def session_ends_under_call(target: Target, alice: Caller, bob: Caller) -> None:
    watch = Watch(target)
    async with target.subject() as lease:
        await begin(target, lease, alice)
        hold_s = short_call_of(target)
        async with running(lease.use(alice, hold_s=hold_s)) as call:
            await target.sleep(hold_s / 4)
            ended = await lease.end_session(alice)
            control(ended.ok, f"{alice.name} cannot end her session", ended)
            until = Interval(0.0, term_of(target).high_s + hold_s)
            look = await until_free(target, lease, bob, span(ended), until)
            said = await call
        if look.granted is not None:
            await acted(target, lease, bob, look.granted)
        await watch.judged()
        mine = await target.effect_of(said, ended=True)
        if mine is None or mine.end is None:
            return  # the call was stopped on its way, or nothing tells when it ended: nothing was judged
        control(look.granted is not None, f"{bob.name} does not get what {alice.name} has left", ended, *look.saids)
    target.case("ended under a call")


async def meddle(lease: Subject, other: Caller) -> None:
    """What somebody who holds nothing can say about another's lease. Only what comes of it matters."""
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
    control(any(said.ok or said.refused for said in answers), "nothing that another said was answered", *answers)


async def taken_over(target: Target, lease: Subject, alice: Caller, bob: Caller, look: Look) -> None:
    watch = Watch(target)
    control(look.granted is not None, f"{bob.name} does not get what {alice.name} has lost", *look.saids)
    assert look.granted is not None
    await acted(target, lease, bob, look.granted)
    said, effects = await target.sandwich(lambda: lease.use(bob), lambda: lease.use(alice))
    await watch.judged()
    control(said.refused, f"a holder that had lost its lease was answered {said.outcome}", said, timing=True)
    control(not effects, "the call of a holder that had lost its lease arrived", said, timing=True)


async def stale_in_long_call(target: Target, lease: Subject, alice: Caller, bob: Caller) -> None:
    watch = Watch(target)
    async with running(lease.use(bob, hold_s=long_call_of(target))) as call:
        await target.sleep(term_of(target).high_s + target.ttl_s / 8)
        tried = await lease.use(alice)
        said = await call
    control(await target.effect_of(said) is not None, "the long call did not reach the resource", said)
    judged = await watch.judged()
    control(tried.refused, f"a holder that had lost its lease was answered {tried.outcome}", tried, timing=True)
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


# -- how a busy resource answers


async def busy_refuses(target: Target, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """Asked thrice, since one answer may have been long on its way."""
    watch = Watch(target)
    answers = [await lease.acquire(bob) for _ in range(3)]
    granted = next((said for said in answers if said.ok), None)
    if granted is not None:
        await acted(target, lease, bob, granted)
        await watch.judged()
    for said in answers:
        control(not said.ok, "the lease may be over already", said, timing=True)
        control(said.outcome not in ("lost", "error"), "a busy resource gave no answer that says anything", said)
        must(said.outcome == "busy", f"a busy resource answered {said.outcome}; lease.busy = refuses means busy", said)
    limit_s = target.lag_s("lease.acquire") + target.tolerance_s
    fastest_s = min(said.answered_s - said.sent_s for said in answers)
    slowest_s = max(_trips_s(target, answers))
    text = f"a refusal took {fastest_s:.3f} s at least; declared: {limit_s:.3f} s (lag_s and tolerance_s of [lease])"
    must(fastest_s <= limit_s + slowest_s, f"{text}, and no other answer took more than {slowest_s:.3f} s", *answers)
    control(fastest_s <= limit_s, f"{text}, but others took as long", *answers, timing=True)
    return answers


async def busy_queues(target: Target, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """He waits until she lets go, and then has it."""
    watch = Watch(target)
    async with running(lease.acquire(bob)) as asked:
        await target.sleep(short_call_of(target))
        await let_go(target, lease, alice)
        said = await asked
    if said.ok:
        await acted(target, lease, bob, said)
    await watch.judged()
    must(
        not said.refused, f"a busy resource answered {said.outcome}; lease.busy = queues means a place in a queue", said
    )
    control(said.ok, f"{bob.name} was queued and did not get the resource when it was free", said)
    control(said.pending_s is not None, f"{bob.name} was not seen to wait; lease.acquire needs a poll", said)
    return [said]


async def busy_provisions(target: Target, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """He gets another one."""
    hers = lease.resource
    said = await lease.acquire(bob)
    must(not said.refused, f"a busy resource answered {said.outcome}; lease.busy = provisions means another one", said)
    control(said.ok, f"{bob.name} was not granted a resource", said)
    control(hers is not None and said.resource is not None, "lease.acquire puts out no resource to compare", said)
    await acted(target, lease, bob, said)
    must(said.resource != hers, f"{bob.name} was given {hers}, which {alice.name} holds", said)
    return [said]


BUSY = {"refuses": busy_refuses, "queues": busy_queues, "provisions": busy_provisions}


def _trips_s(target: Target, without: list[Said]) -> list[float]:
    """What the other answers of this law took, without the time that a call was to last."""
    own = [said for said in target.deployment.history if said.law == target.law and said not in without]
    return [said.answered_s - said.sent_s - float(said.inputs.get("hold", 0.0)) for said in own]


def secrets_of(target: Target, alice: Caller, bob: Caller) -> dict[str, str]:
    """What opens doors for Alice and not for Bob, by name: her session, her headers and variables."""
    secrets: dict[str, str] = {}
    for said in target.deployment.history:
        if said.verb == "session.open" and (said.caller, said.session) == (alice.name, alice.session):
            secrets["session id"] = said.reply.headers.get("mcp-session-id", "")
    for kind in ("headers", "env", "vars"):
        his = getattr(bob.spec, kind)
        for name, value in getattr(alice.spec, kind).items():
            if isinstance(value, str) and value not in his.values():
                secrets[f"{name} of her {kind}"] = value.rpartition(" ")[2]
    return {name: value for name, value in secrets.items() if len(value) >= SECRET_CHARS_MIN}


def must_not_tell(said: Said, secrets: dict[str, str]) -> None:
    told = _text(said.reply.document()) + said.reply.raw
    for name, value in secrets.items():
        must(value not in told, f"the answer to {said.caller} has the {name} of the holder in it", said)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


SECRET_CHARS_MIN = 8
"""Shorter ones occur by chance."""
