"""Calls at the resource, and who was let in meanwhile. Verbs only."""

from __future__ import annotations

from lasttick import Target, must
from lasttick.laws.judges.exclusive import Judged, Policy, judge
from lasttick.laws.judges.interval import DRIFT
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Said

from .leases import term, term_of


class Watch:
    """What was said since, by this law or by the whole run, judged for two holders at once."""

    def __init__(self, target: Target, *, whole_run: bool = False) -> None:
        self.target = target
        self._start = 0 if whole_run else len(target.deployment.history)
        self._whole_run = whole_run

    async def judged(self) -> Judged:
        """Raises LawFailed for what surely were two holders at once."""
        deployment = self.target.deployment
        said = deployment.history[self._start :]
        own = said if self._whole_run else [one for one in said if one.law == self.target.law]
        found = judge(own, await self.target.effects(), Policy.of(deployment.profile))
        for conflict in found.conflicts:
            others = len(found.conflicts) - 1
            must(False, conflict.reason + (f" ({others} more like it)" if others else ""), *conflict.saids)
        return found


def long_call_s(profile: Profile) -> float:
    """A call that goes on for so long after its holder's lease would be over that others can ask, and be seen."""
    return term(profile).high_s + profile.lag_of("effects") + (profile.lease.ttl_s or 0.0) / 2


def long_call_of(target: Target) -> float:
    return long_call_s(target.deployment.profile)


def short_call_of(target: Target) -> float:
    """Seconds of a call that is short beside a TTL, and long beside an answer."""
    return min(2.0, target.ttl_s / 2)


def past_the_term(target: Target, call: Said, said: Said) -> bool:
    """Whether `said` was surely asked when a lease that ran out during this long call would be over.

    A queued request counts as asked for as long as it was seen to wait.
    """
    latest_start_s = call.answered_s - long_call_of(target) * (1 - DRIFT)
    asked_s = said.sent_s if said.pending_s is None else said.pending_s
    return asked_s >= latest_start_s + term_of(target).high_s
