"""What the laws of leases have in common: arrange, contend, measure. Verbs only.

How somebody shows that a resource is held or free depends on the declared policy: who is refused asks again and again,
who is queued waits in the queue, and where everybody is given another resource only a report tells.
Source: contract laws, "Real time" and "Declared policy".
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import statistics
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from lasttick import Target, control, must
from lasttick.laws.caller import Caller
from lasttick.laws.judges.interval import Interval, Probe, Span, compare, declared, measured, next_probe_s, told
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject
from lasttick.laws.verdict import NotApplicable

VERBS = ("lease.acquire", "lease.use", "effects")
STEPS = 5
"""Probes within one tolerance."""


def term(profile: Profile) -> Interval:
    """Within which a lease must end after its last renewing event, as declared."""
    lease = profile.lease
    return declared(lease.ttl_s or 0.0, tolerance_s=lease.tolerance_s, lag_s=profile.lag_of("lease.acquire"))


def term_of(target: Target) -> Interval:
    return term(target.deployment.profile)


def takes(terms: float, more_s: float = 2.0) -> Callable[[Profile], float]:
    """Real time of a law that waits for so many leases to end."""
    return lambda profile: terms * term(profile).high_s + more_s


def span(said: Said) -> Span:
    """Between which instants the target decided."""
    return Span(said.sent_s if said.pending_s is None else said.pending_s, said.answered_s)


def now(target: Target) -> Span:
    return Span(target.now_s, target.now_s)


def at_once(limit: Interval) -> Interval:
    """To look for what may be over from now on, and must be by the end of `limit`."""
    return Interval(0.0, limit.high_s)


def surely_until_s(began: Span, target: Target) -> float:
    """Before which instant a lease renewed then is surely in force."""
    return began.sent_s + term_of(target).low_s


async def arrange(target: Target, *verbs: str) -> tuple[Caller, Caller]:
    target.needs(*VERBS, *verbs)
    alice, bob = await target.callers(2)
    return alice, bob


# -- to hold


def acquire_is_use(target: Target) -> bool:
    return target.deployment.profile.stands_for("lease.acquire") == "lease.use"


async def acted(target: Target, lease: Subject, caller: Caller, granted: Said) -> Said:
    """A grant is one only if what the caller does with it arrives at the resource. The call that did."""
    used = granted if acquire_is_use(target) else await lease.use(caller)
    control(used.ok, f"{caller.name} was granted the resource and cannot use it", granted, used)
    arrived = await target.effect_of(used) is not None
    control(arrived, f"{caller.name} was granted the resource, and its use did not arrive there", granted, used)
    return used


async def take(target: Target, lease: Subject, caller: Caller) -> Said:
    """The grant of a resource that should be free; if somebody left it held, once more when that must be over."""
    granted = await lease.acquire(caller)
    if granted.refused:
        await target.sleep(term_of(target).high_s)
        granted = await lease.acquire(caller)
    control(granted.ok, f"{caller.name} is not granted a free resource", granted)
    return granted


async def begin(target: Target, lease: Subject, caller: Caller) -> Span:
    """The caller holds the resource and has used it; when its lease was last renewed."""
    granted = await take(target, lease, caller)
    used = await acted(target, lease, caller, granted)
    return span(used if renews(target, "use") else granted)


def renews(target: Target, event: str) -> bool:
    return event in (target.lease.renewed_by or ())


async def let_go(target: Target, lease: Subject, caller: Caller) -> Said | None:
    """The holder gives it back, in whatever way it can; None: only its TTL frees it. Raises NotShown.

    Who is refused when the TTL may be over already has nothing left to give back.
    """
    if caller.can("lease.release"):
        said = await lease.release(caller)
    elif caller.can("session.end") and target.lease.session_end == "frees":
        said = await lease.end_session(caller)
    else:
        return None
    over = said.refused and said.answered_s >= lease.may_end_s(caller)
    control(said.ok or over, f"{caller.name} cannot give its own lease back: {said.answer}", said)
    return said


T = TypeVar("T")


@contextlib.asynccontextmanager
async def running(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """A call beside the story. It is waited for also when the story fails: till then it keeps the resource."""
    task = asyncio.create_task(work)
    try:
        yield task
    except Exception:
        await asyncio.gather(task, return_exceptions=True)
        raise
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def another(target: Target) -> AsyncIterator[Subject | None]:
    """A second resource beside the one that a law has; None where there is only one.

    Only one law may hold two: each of two such laws could wait for what the other has.
    """
    if target.deployment.subjects_max < 2:
        yield None
        return
    async with target.subject() as second:
        yield second


# -- to be kept off


async def contended(target: Target, lease: Subject, other: Caller) -> None:
    """While it is held, another cannot have it: without that nothing shows that it can be held at all."""
    if target.lease.busy == "refuses":
        said = await lease.acquire(other)
        control(said.refused, f"{other.name} is not refused while it is held, but {said.answer}", said)
    elif target.lease.busy == "provisions" and target.bound("lease.holder"):
        said = await lease.reported()
        control(lease.is_reported_held(said) is True, "the resource is not reported held while it is", said)


@dataclass(frozen=True, slots=True)
class Look:
    """What probing found: how long it lasted, the answers that show it, and the one that granted it to the prober."""

    found: Interval
    saids: tuple[Said, ...]
    granted: Said | None = None


async def until_free(target: Target, lease: Subject, prober: Caller, began: Span, plan: Interval) -> Look:
    """Probe until the resource is free or must have been; `plan`: seconds after `began` around which that is.

    Serial, by one caller. Raises NotApplicable where the policy leaves nothing to probe with, NotShown for an answer
    that says neither.
    """
    if target.lease.busy == "queues":
        return await _by_queueing(target, lease, prober, began, plan)
    is_report = target.lease.busy == "provisions"
    if is_report and not target.bound("lease.holder"):
        raise NotApplicable(
            "where lease.busy = provisions nobody is kept waiting, and no lease.holder tells when a resource is free"
        )
    known = {str(names["resource"]) for names in lease.told(lease.holder)} if lease.holder is not None else set()
    probes: list[Probe] = []
    held: tuple[Said, ...] = ()
    step_s, trip_s, last_s = target.tolerance_s / STEPS, round_trip_s(target), None
    while (at_s := next_probe_s(began, plan, target.now_s, last_s, step_s=step_s, round_trip_s=trip_s)) is not None:
        await target.until(at_s)
        said = await (lease.reported() if is_report else lease.acquire(prober))
        last_s = said.sent_s
        clear = said.ok or (said.refused and not is_report)
        control(
            clear, f"a probe was answered neither yes nor no, but {said.answer}", said, timing=said.outcome == "lost"
        )
        over = lease.is_reported_held(said) is not True if is_report else said.ok
        probes.append(Probe(said.sent_s, said.answered_s, over))
        if over:
            if not is_report:
                _same(prober, said, known)
            return Look(measured(began, probes), (*held, said), None if is_report else said)
        held = (said,)
    return Look(measured(began, probes), held)


async def _by_queueing(target: Target, lease: Subject, prober: Caller, began: Span, plan: Interval) -> Look:
    """One request, which is polled while it waits."""
    step_s = target.tolerance_s / STEPS
    at_s = next_probe_s(began, plan, target.now_s, None, step_s=step_s) or target.now_s
    await target.until(max(at_s, began.answered_s + plan.high_s + 2 * step_s - patience_s(target)))
    said = await lease.acquire(prober)
    control(said.outcome in ("ok", "pending"), f"{prober.name} is not queued, as lease.busy = queues says", said)
    probes = [] if said.pending_s is None else [Probe(said.pending_s, said.pending_s, False)]
    if said.ok:
        probes.append(Probe(said.sent_s, said.answered_s, True))
    return Look(measured(began, probes), (said,), said if said.ok else None)


def patience_s(target: Target) -> float:
    """How long a queued request is polled."""
    binding = target.deployment.profile.reach("lease.acquire")
    assert binding is not None, "arrange has asked for it"
    return binding.poll.within_s if binding.poll is not None else math.inf


def _same(prober: Caller, said: Said, known: set[str]) -> None:
    """Another resource than those that are held is no news of them."""
    control(
        said.resource is None or not known or said.resource in known,
        f"{prober.name} was given {said.resource} while {', '.join(sorted(known))} was asked about: lease.busy or "
        "lease.capacity of the profile is not as the target has it, or lease.acquire does not name the {resource}",
        said,
    )


def round_trip_s(target: Target) -> float:
    """What an answer of this target takes in the middle."""
    trips = target.deployment.round_trips_s
    return max(0.0, statistics.median(trips)) if trips else 0.0


async def conclude(target: Target, lease: Subject, prober: Caller, look: Look, what: str, expected: Interval) -> None:
    """The interval rule. A grant counts when what the prober does with it arrives at the resource; that there was none
    counts when it was because the resource is busy.
    """
    saids = look.saids
    sentence, verdict = told(what, look.found, expected), compare(look.found, expected)
    if look.granted is not None:
        used = await acted(target, lease, prober, look.granted)
        saids += (used,) if used is not look.granted else ()
    elif verdict == "disjoint":
        busy = saids[-1].outcome != "denied"
        control(busy, f"{prober.name} is denied the resource, which does not say that it is busy", *saids)
    must(verdict != "disjoint", sentence, *saids)
    control(verdict == "inside", f"{sentence}; delays leave open on which side it was", *saids, timing=True)
