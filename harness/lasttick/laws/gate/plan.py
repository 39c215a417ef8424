"""Which laws will run on this target, how long will they take, and what does each gap cost? Nothing is sent.

A law is played up to its first message (dry.py). Source: issue, "Profiles".
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.dry import DryTarget, Listings, WouldRun
from lasttick.laws.gate.live import AT_ONCE, can_restart
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown


@dataclass(frozen=True, slots=True)
class PlannedLaw:
    """What a law's mark says, and its function."""

    law: str
    function: Callable[..., Awaitable[None]]
    verbs: tuple[str, ...]
    callers: int
    seconds: Callable[[Profile], float]
    invariant: bool
    restarts: bool = False

    @property
    def takes_a_resource(self) -> bool:
        return any(verb.startswith("lease.") for verb in self.verbs)


@dataclass(frozen=True, slots=True)
class Line:
    """One law in the plan. `why_not`: "" when it will run; `seconds`: by itself, on this profile."""

    law: str
    seconds: float = 0.0
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`seconds`: in all, with waits overlapped. `gaps`: each verb that is not bound -> the laws that need it."""

    lines: tuple[Line, ...]
    seconds: float
    gaps: Mapping[str, tuple[str, ...]]


async def plan(
    laws: Sequence[PlannedLaw], deployment: Deployment, resources: int, listings: Listings | None = None
) -> Plan:
    """`resources`: how many subjects there can be at once; `listings`: the tools that were seen to be listed.

    Lines in the order of the ids.
    """
    profile = deployment.profile
    lines: dict[str, Line] = {}
    gaps: dict[str, list[str]] = {}
    ours: list[PlannedLaw] = []
    for law in sorted(laws, key=lambda law: law.law):
        target = DryTarget(deployment, law.law, listings or {})
        for verb in law.verbs:
            if not target.bound(verb):
                gaps.setdefault(verb, []).append(law.law)
        if why := await _why_not(law, target):
            lines[law.law] = Line(law.law, why_not=why)
        else:
            lines[law.law] = Line(law.law, law.seconds(profile))
            ours.append(law)
    alone = [law for law in ours if law.restarts and can_restart(profile)]
    stories = [law for law in ours if not law.invariant and law not in alone]
    last = [law for law in ours if law.invariant]
    total_s = _overlapped_s(stories, profile, resources) + _overlapped_s(last, profile, resources)
    total_s += sum(law.seconds(profile) for law in alone)
    return Plan(tuple(lines.values()), total_s, {verb: tuple(lost) for verb, lost in sorted(gaps.items())})


def makespan(seconds: Sequence[float], slots: int) -> float:
    """How long it takes when whichever slot is free takes the next one, in their order."""
    ends = [0.0] * max(1, slots)
    for one in seconds:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def _overlapped_s(laws: Sequence[PlannedLaw], profile: Profile, resources: int) -> float:
    """Bounded by the resources for laws that need one, and by how many are played at once."""
    waiting = [law.seconds(profile) for law in laws if law.takes_a_resource]
    everything = [law.seconds(profile) for law in laws]
    return max(makespan(waiting, min(resources, AT_ONCE)), makespan(everything, AT_ONCE))


async def _why_not(law: PlannedLaw, target: DryTarget) -> str:
    """Why it is not applicable; "" when it will run."""
    try:
        target.needs(*law.verbs)
        deciders = sum(spec.decides for spec in target.deployment.profile.callers.values())
        callers = len(target.deployment.profile.callers) - deciders
        if callers < law.callers:
            raise NotApplicable(f"needs {law.callers} callers; the profile has {callers}")
        await law.function(target)
    except NotApplicable as error:
        return str(error)
    except (WouldRun, LawFailed, NotShown):
        return ""
    return ""
