"""What the laws of approvals have in common: arrange, answer, wait for the end. Verbs only.

An effect before any decision is approval/silence-is-not-yes's to judge; it makes every other law inconclusive.
Source: contract laws, "Verdicts" (Arrange, Sandwich).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lasttick import Target, control, must
from lasttick.laws.approval_subject import Approval, asking, deciders, term
from lasttick.laws.caller import Caller
from lasttick.laws.judges.interval import Interval
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Mark, Said

VERBS = ("approval.request", "approval.decide", "effects")


def takes(terms: float, more_s: float = 3.0) -> Callable[[Profile], float]:
    """Real time of a law that waits for so many requests to end."""
    return lambda profile: terms * term(profile).high_s + more_s


def term_of(target: Target) -> Interval:
    return term(target.deployment.profile)


async def arrange(target: Target, *verbs: str) -> tuple[Caller, Caller]:
    """Somebody who asks, and somebody who may decide it, connected before anybody asks."""
    target.needs(*VERBS, *verbs)
    name = next(iter(askers(target)), "")
    (boss, *_) = await deciders(target, name)
    (alice,) = await target.callers(1)
    return alice, boss


def askers(target: Target) -> list[str]:
    """Whoever decides nothing, by name; the first of them asks."""
    return [name for name, spec in target.deployment.profile.callers.items() if not spec.decides]


async def fresh(caller: Caller) -> Caller:
    """The same caller in a new session; the old one may be gone."""
    said = await caller.again()
    control(said.ok, f"{caller.name} cannot open a session again", said)
    return caller


@asynccontextmanager
async def pending(
    target: Target, asker: Caller, boss: Caller, mark: Mark | None = None, early: Callable[..., None] = control
) -> AsyncIterator[Approval]:
    """A request that waits for a person and has done nothing yet; `early` says what it means if it has."""
    async with asking(target, asker, boss, mark) as request:
        await ask(request, early)
        yield request


async def ask(request: Approval, early: Callable[..., None] = control) -> None:
    """Raises NotShown, or what `early` raises, when it does not wait for a person."""
    request.ask()
    seen = await request.seen()
    told = request.said()
    turned_down = not seen and request.answer is not None and request.answer.outcome not in ("ok", "pending")
    late = is_late(request)
    control(not turned_down, f"the request of {request.asker.name} is turned down", *told, timing=late)
    early(not await request.effects(), f"what {request.asker.name} asked for happened before anybody said yes", *told)
    control(seen, f"the request of {request.asker.name} is not seen to wait for a person", *told, timing=late)


async def say_yes(request: Approval, boss: Caller) -> Said:
    """The decider's yes, and the asker goes on where that is the asker's part."""
    said = await request.decide(boss, "approve")
    if said.ok and request.resumes:
        await request.resume()
    return said


async def runs(request: Approval, boss: Caller, what: str = "an approved request") -> Said:
    """It is approved and arrives at the resource: without that nothing shows that a yes can make anything happen."""
    said = await say_yes(request, boss)
    late = is_late(request)
    control(said.ok, f"{what}: the yes of {boss.name} was {said.answer}", *request.said(), timing=late)
    control(await request.effect() is not None, f"{what} did not reach the resource", *request.said(), timing=late)
    return said


async def good(target: Target, asker: Caller, boss: Caller, early: Callable[..., None] = control) -> None:
    """Ask, yes, and it arrives. After another request it is the barrier: what has not arrived by now has not."""
    async with pending(target, asker, boss, early=early) as request:
        await runs(request, boss)


async def is_undecided(request: Approval, boss: Caller, when: str) -> None:
    """It still waits, and the decider's yes counts: nothing before has decided the request."""
    if request.target.bound("approval.pending", boss.spec.route):
        listing, row = await request.entry()
        late = is_late(request)
        told = f"what {request.asker.name} asked for waits no longer {when}"
        must(row is not None or not listing.ok or late, told, listing)
        told = f"{told}, or is over" if listing.ok else f"what waits was {listing.answer}"
        control(row is not None, told, listing, timing=late)
    said = await request.decide(boss, "approve")
    _answered_ok(request, said, f"the yes of {boss.name} was {said.answer} {when}")
    if request.resumes:
        said = await request.resume()
        _answered_ok(request, said, f"what {boss.name} approved was {said.answer} when its asker went on, {when}")
    must(await request.effect() is not None, f"what {boss.name} approved did not run {when}", *request.said())


def _answered_ok(request: Approval, said: Said, told: str) -> None:
    """A refusal counts only while the request is surely not over; an error and a lost answer are none."""
    late = said.answered_s >= open_until_s(request)
    must(late or not said.refused, told, *request.said())
    control(said.ok, f"{told}, perhaps too late" if said.refused else told, said, timing=late)


def open_until_s(request: Approval) -> float:
    """Before which instant it has surely not ended by itself."""
    return (request.sent_s or 0.0) + term_of(request.target).low_s


def is_late(request: Approval) -> bool:
    """Whether it may have ended by itself by now: what did not work then is worth another try."""
    return request.target.now_s >= open_until_s(request)


def in_time(request: Approval, tried_s: float) -> None:
    """What was tried then found it waiting, or decided in time: a refusal of what is over by itself shows nothing."""
    told = f"what {request.asker.name} asked for may have ended before it was tried"
    control(tried_s < open_until_s(request), told, *request.said(), timing=True)


async def until_over(request: Approval) -> None:
    """Wait until it must have ended."""
    await request.target.until(request.began.answered_s + term_of(request.target).high_s)


def reads_outcome(request: Approval) -> bool:
    return request.target.bound("approval.outcome", request.decider.spec.route)
