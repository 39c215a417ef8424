"""Can another tenant's caller use, lengthen or end a lease, by all or part of what its holder was told? Verbs only."""

from __future__ import annotations

import math
from typing import Any

from lasttick import Target, control, must
from lasttick.laws.caller import Caller
from lasttick.laws.judges.interval import Interval, Span
from lasttick.laws.said import Effect, Said
from lasttick.laws.subject import RENEWING, Subject

from .lease_stories import LATE
from .leases import (
    acquire_is_use,
    acted,
    begin,
    conclude,
    let_go,
    renews,
    span,
    surely_until_s,
    take,
    term_of,
    until_free,
)
from .tenants import Impostor, Names, choices, must_be_as_absent, own_of, theirs

ACTS = ("lease.use", "lease.renew", "lease.release")


async def lease_is_isolated(target: Target, owner: Caller, other: Caller) -> None:
    """He had it before her, so that he has names of his own for it, and it is known that he may have it at all."""
    async with target.subject() as lease:
        own = await _had(target, lease, other)
        began = await begin(target, lease, owner)
        tries = [_Try(target, lease, owner, other, verb, own) for verb in _acts_of(target, other)]
        for one in tries:
            for words, names in one.choices():
                await one.fails(f"{one.what}, named by {words},", names)
                began = await _still_hers(target, lease, owner, began, one.what)
            if one.names:
                target.case(f"a lease of {owner.name}, {one.verb} by {other.name}")
        renewing = [one for one in tries if one.verb in RENEWING and one.names]
        if renewing and (target.lease.busy != "provisions" or target.bound("lease.holder")):
            await _not_lengthened(target, lease, owner, other, began, renewing)


def _acts_of(target: Target, other: Caller) -> list[str]:
    """What can be said about a lease: each verb once, and none that is only about a session, or asks for a lease."""
    profile = target.deployment.profile
    acts: dict[str, str] = {}
    for verb in ACTS:
        stands_for = profile.stands_for(verb, other.spec.route)
        asks = stands_for == "lease.use" and acquire_is_use(target) and target.lease.busy != "refuses"
        if other.can(verb) and not stands_for.startswith("session.") and not asks:
            acts.setdefault(stands_for, verb)
    return list(acts.values())


async def _had(target: Target, lease: Subject, other: Caller) -> dict[str, Any]:
    """What he is told of a lease of his own, which is over then."""
    await acted(target, lease, other, await take(target, lease, other))
    (told, *_) = lease.told(other)
    freed = await let_go(target, lease, other)
    await target.sleep(target.lag_s("lease.release") if freed is not None else term_of(target).high_s)
    if other.over:
        opened = await other.again()
        control(opened.ok, f"{other.name} cannot open a session again", opened)
    return told


class _Try:
    """One verb that he says about her lease. `names`: what her own call would name, empty when that is nothing."""

    def __init__(
        self, target: Target, lease: Subject, owner: Caller, other: Caller, verb: str, own: dict[str, Any]
    ) -> None:
        self.verb = verb
        self.what = f"{other.name}'s {verb} of a lease of {owner.name}'s tenant"
        self.names = theirs(owner, other, verb, lease.names)
        self._target, self._lease, self._other, self._own = target, lease, other, own
        self._known = [*own_of(other, own).values(), *own_of(owner, lease.names).values()]
        self._impostor = Impostor(owner, other, self.names)

    def choices(self) -> list[tuple[str, dict[str, Any]]]:
        """What to name, in words and as names; none where her own call names nothing."""
        # What is named alike for everybody, such as a resource, is not hidden; it is not his all the same.
        differing = list(choices(self.names, own_of(self._other, self._own)))
        return differing or ([("what she names", self.names)] if self.names else [])

    async def say(self, names: Names) -> Said:
        about = {**self._own, **names}
        inputs: dict[str, Any] = {"resource": about.get("resource", self._lease.name)}
        if self.verb != "lease.release":
            inputs |= {"hold": 0.0, "ttl": self._target.lease.ttl_s}
        return await self._impostor.speaking(names).say(self.verb, about, **inputs)

    async def fails(self, what: str, names: Names) -> None:
        """Raises LawFailed."""
        said = await self.say(names)
        if said.ok:
            await self._target.effect_of(said)  # it may be on its way
        done = await self._target.effects_with(said.mark)
        here = [effect for effect in done if self._is_hers(effect)]
        must(not here, f"{what} happened", said)
        control(said.outcome != "lost", f"whether {what} happened is not known", said)
        is_hidden = self._target.deployment.profile.tools.foreign == "hidden"
        if self.verb == "lease.use":
            must(not said.ok or bool(done), f"{what} was answered ok", said)
        elif not is_hidden:
            must(not said.ok, f"{what} was answered ok", said)
        compared = is_hidden and await must_be_as_absent(self._target, what, self.say, names, self._known)
        # Where nothing is known to look like it, an answer counts that says no; of an end, what she can still do.
        control(compared or said.ok or said.refused, f"{what} was {said.answer}", said)

    def _is_hers(self, effect: Effect) -> bool:
        return None in (effect.resource, self._lease.resource) or effect.resource == self._lease.resource


async def _still_hers(target: Target, lease: Subject, owner: Caller, began: Span, what: str) -> Span:
    """She can go on, and keeps it for what is tried next; when her lease was last renewed."""
    used = await lease.use(owner)
    hers = used.answered_s < surely_until_s(began, target)
    must(not (used.refused and hers), f"{owner.name} was refused what she holds after {what}", used)
    control(used.ok, f"{owner.name} cannot use what she holds", used, timing=True)
    control(await target.effect_of(used) is not None, "the holder's call did not reach the resource", used)
    if renews(target, "use"):
        return span(used)
    renewed = await lease.renew(owner) if renews(target, "renew") and owner.can("lease.renew") else None
    return span(renewed) if renewed is not None and renewed.ok else began


async def _not_lengthened(
    target: Target, lease: Subject, owner: Caller, other: Caller, began: Span, tries: list[_Try]
) -> None:
    expected = term_of(target)
    await target.until(began.sent_s + LATE * expected.low_s)
    for one in tries:
        await one.say(one.names)
    control(target.now_s < surely_until_s(began, target), "the lease may have been over before he tried", timing=True)
    look = await until_free(target, lease, other, began, expected)
    what = f"the lease of {owner.name}, which {other.name} of another tenant tried to renew,"
    # That it ended early is another law's.
    await conclude(target, lease, other, look, what, Interval(-math.inf, expected.high_s))
    target.case(f"a lease of {owner.name}, not lengthened by {other.name}")
