"""Did ever two hold one resource, by all that was said in a run and all that happened at the resources?

Only what is sure counts. An answered grant is in force from its answer until its sending + TTL, less tolerance and
drift, or until its holder did anything that may have ended it; a call that lasts `hold` surely runs from answer - hold
to sending + hold. Two such spans of different callers at one time are a conflict, in whatever order they were decided.
Effects are compared on the resource's own clock. Source: contract laws, lease/exclusive and "Real time".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.laws.judges.interval import DRIFT, declared
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Effect, Said

RENEWALS = {"use": "lease.use", "renew": "lease.renew", "acquire": "lease.acquire"}
MAY_END = ("lease.release", "session.end", "session.vanish")
THE_ONLY = ""
"""The name of a resource that the target does not name, where it has one."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What of a profile this judge needs. `grants`: verbs whose ok gives a lease; `extends`: verbs that renew one."""

    sure_s: float
    lag_s: float
    grants: tuple[str, ...]
    extends: tuple[str, ...]
    pins: bool
    provisions: bool
    one_resource: bool

    @classmethod
    def of(cls, profile: Profile) -> Policy:
        lease = profile.lease
        acquire = profile.stands_for("lease.acquire")
        renewed_by = lease.renewed_by or ()
        return cls(
            sure_s=declared(lease.ttl_s or 0.0, tolerance_s=lease.tolerance_s, lag_s=0.0).low_s,
            lag_s=profile.lag_of("effects"),
            grants=tuple(verb for verb in RENEWALS.values() if profile.stands_for(verb) == acquire),
            extends=tuple(verb for name, verb in RENEWALS.items() if name in renewed_by),
            pins=lease.in_flight == "pins",
            provisions=lease.busy == "provisions",
            one_resource=lease.capacity == 1 and lease.busy != "provisions",
        )


@dataclass(frozen=True, slots=True)
class Held:
    """`caller` surely holds `resource` at every instant from `from_s` to `until_s`, if there is one between them."""

    caller: str
    resource: str
    from_s: float
    until_s: float
    said: Said


@dataclass(frozen=True, slots=True)
class Act:
    """A call with what it did at the resource."""

    said: Said
    effect: Effect
    resource: str


@dataclass(frozen=True, slots=True)
class Conflict:
    reason: str
    saids: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """`withheld`: answers that kept somebody off a resource during another's call. `handovers`: changes of who acts."""

    conflicts: tuple[Conflict, ...]
    withheld: tuple[Said, ...]
    handovers: tuple[Said, ...]


def judge(history: Sequence[Said], effects: Sequence[Effect], policy: Policy) -> Judged:
    """`history` in any order; what was said by verbs of no lease counts only where it may have ended one."""
    acts = list(_acts(history, effects, policy))
    held = [*_holds(history, policy), *_running(acts, policy)]
    conflicts = [*_at_the_resource(acts, policy), *_two_holders(held), *_inside_a_hold(acts, held, policy)]
    return Judged(
        conflicts=tuple(conflicts),
        withheld=tuple(_withheld(history, _running(acts, policy, whether_pinned=False), policy)),
        handovers=tuple(_handovers(acts)),
    )


# -- what is sure


def _resource(said: Said, policy: Policy) -> str | None:
    """None where nothing tells which of several it was."""
    return said.resource or (THE_ONLY if policy.one_resource else None)


def _holds(history: Iterable[Said], policy: Policy) -> Iterator[Held]:
    ends = defaultdict(list)
    for said in history:
        if said.verb in MAY_END or (said.refused and said.verb in policy.grants + policy.extends):
            ends[said.caller].append(said)
    for said in history:
        resource = _resource(said, policy)
        if not said.ok or said.verb not in policy.grants + policy.extends or resource is None:
            continue
        until_s = (said.sent_s if said.pending_s is None else said.pending_s) + policy.sure_s
        for end in ends[said.caller]:
            if not _was_before(end, said) and _is_about(end, resource):
                until_s = min(until_s, end.sent_s)
        yield Held(said.caller, resource, said.answered_s, until_s, said)


def _was_before(end: Said, said: Said) -> bool:
    """Answered when the other was not yet sent. Where no time passes, the order of the answers tells."""
    return (end.answered_s, end.number) < (said.sent_s, said.number)


def _is_about(end: Said, resource: str) -> bool:
    return end.verb in MAY_END or end.resource in (None, resource)


def _running(acts: Iterable[Act], policy: Policy, *, whether_pinned: bool = True) -> Iterator[Held]:
    """The spans in which a call surely runs at the resource; none where calls do not keep it, if that is asked."""
    if whether_pinned and not policy.pins:
        return
    for act in acts:
        said, hold_s = act.said, float(act.said.inputs.get("hold", 0.0)) * (1 - DRIFT)
        from_s, until_s = said.answered_s - hold_s, said.sent_s + hold_s
        is_as_long = said.answered_s >= until_s  # else the target took no notice of `hold`, or cut the call
        if said.ok and is_as_long and from_s < until_s:
            yield Held(said.caller, act.resource, from_s, until_s, said)


def _acts(history: Iterable[Said], effects: Sequence[Effect], policy: Policy) -> Iterator[Act]:
    of_mark = finder(effects)
    for said in history:
        resource = _resource(said, policy)
        if said.mark is not None and said.verb.startswith("lease.") and resource is not None:
            for effect in of_mark(said):
                yield Act(said, effect, resource)


def finder(effects: Sequence[Effect]) -> Callable[[Said], list[Effect]]:
    """Which effects has a call? Most marks come back as they were sent; only the others are searched for in texts."""
    exact: defaultdict[Any, list[Effect]] = defaultdict(list)
    texts: list[Effect] = []
    for effect in effects:
        if isinstance(effect.mark, int | float) and not isinstance(effect.mark, bool):
            exact[effect.mark].append(effect)
        elif isinstance(effect.mark, str):
            exact[effect.mark].append(effect)
            texts.append(effect)

    def effects_of(said: Said) -> list[Effect]:
        assert said.mark is not None
        found = exact.get(said.mark.text) or exact.get(said.mark.number)
        return found or [effect for effect in texts if said.mark.is_in(effect.mark)]

    return effects_of


# -- what two callers may never do


def _two_holders(held: Iterable[Held]) -> Iterator[Conflict]:
    for one, other in _pairs(_by_resource(held, lambda hold: hold.resource)):
        from_s, until_s = max(one.from_s, other.from_s), min(one.until_s, other.until_s)
        if one.caller != other.caller and from_s < until_s:
            yield Conflict(
                f"{_named(one.resource)} was held by {one.caller} and by {other.caller} at once, for at least "
                f"{until_s - from_s:.3f} s from {from_s:.3f} s",
                (one.said, other.said),
            )


def _at_the_resource(acts: Iterable[Act], policy: Policy) -> Iterator[Conflict]:
    """By the resource's own clock, which may have been set between calls that were far apart by ours.

    One of the two must have been answered ok: else nobody is said to hold anything.
    """
    timed = [act for act in acts if act.effect.at is not None]
    for one, other in _pairs(_by_resource(timed, lambda act: act.effect.resource or act.resource)):
        if one.said.caller == other.said.caller or not (one.said.ok or other.said.ok):
            continue
        if _over_s(one.said, policy) < other.said.sent_s or _over_s(other.said, policy) < one.said.sent_s:
            continue
        first, second = sorted((one, other), key=lambda act: act.effect.at or 0.0)
        first_s, began_s, end_s = first.effect.at or 0.0, second.effect.at or 0.0, first.effect.end
        # What takes no time at the very start of another call may have been before it.
        is_later = first_s < began_s or (second.effect.end or began_s) > began_s
        if end_s is not None and began_s < end_s and is_later:
            yield Conflict(
                f"{second.said.caller} acted on {_named(second.resource)} at {began_s:.3f} s of its clock, during the "
                f"call of {first.said.caller}, which ran there until {end_s:.3f} s",
                (first.said, second.said),
            )


def _over_s(said: Said, policy: Policy) -> float:
    """By when the call has surely ended at the resource."""
    return math.inf if said.outcome == "lost" else said.answered_s + policy.lag_s


def _inside_a_hold(acts: Iterable[Act], held: Sequence[Held], policy: Policy) -> Iterator[Conflict]:
    """An act that came in whole while another held it; an effect may come as late as its lag."""
    by_resource = _by_resource(held, lambda hold: hold.resource)
    for act in acts:
        said, over_s = act.said, act.said.answered_s + policy.lag_s
        for hold in by_resource.get(act.resource, ()):
            since = (hold.from_s, hold.said.number) < (said.sent_s, said.number)
            if hold.caller != said.caller and since and over_s <= hold.until_s:
                yield Conflict(
                    f"{said.caller} acted on {_named(act.resource)} between {said.sent_s:.3f} s and {over_s:.3f} s, "
                    f"while {hold.caller} surely held it until {hold.until_s:.3f} s",
                    (hold.said, said),
                )


def _named(resource: str) -> str:
    return resource or "the resource"


# -- what must have been seen


def _withheld(history: Iterable[Said], running: Iterable[Held], policy: Policy) -> Iterator[Said]:
    """Refused, put into a queue, or given another resource instead, during somebody else's call."""
    calls = list(running)
    for said in history:
        if not said.verb.startswith("lease."):
            continue
        resource = _resource(said, policy)
        for call in calls:
            during = call.from_s <= said.sent_s and call.caller != said.caller
            here = during and (resource == call.resource or said.resource is None)
            refused = here and said.refused and said.answered_s <= call.until_s
            queued = here and said.pending_s is not None and said.sent_s < call.until_s
            elsewhere = policy.provisions and during and said.verb in policy.grants and said.ok
            if refused or queued or (elsewhere and resource != call.resource and said.answered_s <= call.until_s):
                yield said
                break


def _handovers(acts: Iterable[Act]) -> Iterator[Said]:
    good = sorted((act for act in acts if act.said.ok), key=lambda act: act.said.answered_s)
    last: dict[str, str] = {}
    for act in good:
        if last.get(act.resource, act.said.caller) != act.said.caller:
            yield act.said
        last[act.resource] = act.said.caller


def _by_resource(items: Iterable[Any], resource: Callable[[Any], str]) -> Mapping[str, list[Any]]:
    table: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        table[resource(item)].append(item)
    return table


def _pairs(table: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, Any]]:
    for items in table.values():
        for index, one in enumerate(items):
            for other in items[index + 1 :]:
                yield one, other
