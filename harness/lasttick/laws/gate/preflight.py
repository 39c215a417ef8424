"""Can this target be judged at all, now? Said before any law is played: does it answer, and quickly enough?

Only sessions are opened, and only verbs that read are sent. Source: contract laws, "Real time"; issue, "Bad input".
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from urllib.parse import urlsplit

from lasttick.laws.caller import Caller
from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.errors import GateError, Unreachable
from lasttick.laws.gate.programs import refuse_missing
from lasttick.laws.judges.tools import listed
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.said import Said
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotApplicable, NotShown, Unfound
from lasttick.laws.wire.message import WireError

NAME = "preflight"
QUICK = ("tools.list", "lease.holder", "approval.pending")
"""Reading verbs that the target itself answers: their time is the round trip."""
MUST_READ = ("tools.list", "lease.holder")
"""Of those, what every caller may ask for."""
READINGS = 5
TRIPS_MIN = 3.0
NOT_THERE = (404, 405)
"""Whoever answers this to an opening is not asked at the right address."""
DEFAULT_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Seen:
    """`round_trip_s`: the median of what was measured, `resources`: how many are free; None where nothing says it.

    `tools`: the names that each caller's list shows, () where it is refused one; left out: whose list is not known.
    """

    round_trip_s: float | None = None
    resources: int | None = None
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


async def look(deployment: Deployment, loaded: Loaded) -> Seen:
    """Raises Unreachable when the target does not answer or is something else, GateError when it refuses the caller."""
    target = Target(deployment, NAME)
    try:
        refuse_missing(loaded)
        await _connect(loaded)
        specs = deployment.profile.callers
        # `may = []` is a stranger: one whom the target should refuse.
        known = [name for name, spec in specs.items() if spec.may or "may" not in spec.model_fields_set]
        caller = target.caller((known or list(specs))[0])
        _must_be_open(await caller.open(), loaded)
        saids = await _readings(caller)
        if saids and all(said.outcome == "lost" for said in saids):
            raise _unreachable(loaded, saids[-1].raw)
        for verb in MUST_READ:
            _must_be_read([said for said in saids if said.verb == verb], deployment)
        await _effects_must_be_read(deployment, target)
        times = [said.answered_s - said.sent_s for said in saids if said.outcome != "lost"]
        tools = await _tools(target)
        return Seen(median(times) if times else None, _resources(deployment, saids), tools)
    except Unfound as error:
        raise GateError.told(deployment.redact(str(error))) from error
    except (NotShown, NotApplicable, WireError) as error:
        why = deployment.redact(str(error))
        raise GateError(why, "a binding that can be sent", f"correct {loaded.name}") from error
    finally:
        await target.close()


def refuse_tolerance(loaded: Loaded, seen: Seen) -> None:
    """A tolerance below three round trips could make a slow network a red law. Raises GateError."""
    if seen.round_trip_s is None:
        return
    least_s = TRIPS_MIN * seen.round_trip_s
    bound = loaded.profile.bound_verbs()
    for section in ("lease", "approval"):
        tolerance_s = getattr(loaded.profile, section).tolerance_s
        if any(verb.startswith(f"{section}.") for verb in bound) and tolerance_s < least_s:
            raise GateError(
                f"{loaded.where([section, 'tolerance_s'])}: tolerance_s is {tolerance_s:g} and the median round trip "
                f"to the target is {seen.round_trip_s:.3f} s",
                "at least three round trips (docs/check.md, Time)",
                f"set tolerance_s = {_rounded_up(least_s):g} or more, or run the check nearer to the target",
            )


async def _connect(loaded: Loaded) -> None:
    url = loaded.profile.target.url
    if url is None:
        return
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(loaded.profile.target.timeout_s):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or DEFAULT_PORT[parts.scheme])
    except (OSError, TimeoutError) as error:
        raise _unreachable(loaded, _why(error)) from error
    writer.close()


def _must_be_open(said: Said, loaded: Loaded) -> None:
    if said.ok:
        return
    if said.outcome == "lost":
        raise _unreachable(loaded, said.raw)
    if said.refused and said.reply.status not in NOT_THERE:
        raise GateError(
            f"{loaded.where(['callers', said.caller])}: the target refuses {said.caller}: {said.raw[:300]}",
            "credentials that the target knows, of the first caller at least",
            "correct its headers, or the variables that they are made of",
        )
    raise Unreachable(
        f"{loaded.place} answers, and it is not what the profile says: {said.raw[:300]}",
        "an MCP endpoint, or the target's own answer to session.open",
        f"correct url, at {loaded.where(['target', 'url'])}: often the path is missing, as in /mcp",
    )


async def _readings(caller: Caller) -> list[Said]:
    """Each quick verb that is bound, several times; one that needs what nothing has put out yet is left out."""
    saids: list[Said] = []
    for verb in QUICK:
        if not caller.can(verb):
            continue
        try:
            for _ in range(READINGS):
                said = await caller.say(verb)
                saids.append(said)
                if said.outcome == "lost":
                    break
        except Unfound:
            raise
        except NotShown:
            continue
    return saids


async def _effects_must_be_read(deployment: Deployment, target: Target) -> None:
    """Once, as the laws read them; again only while that shows nothing."""
    saids: list[Said] = []
    try:
        while target.bound("effects") and len(saids) < READINGS and not (saids and _is_answer(saids[-1])):
            saids.append(await target.read("effects"))
    except Unfound:
        raise
    except NotShown:
        return
    if saids:
        _must_be_read(saids, deployment)


def _must_be_read(saids: Sequence[Said], deployment: Deployment) -> None:
    """A verb that only reads, and is never answered, is bound to something else."""
    if not saids or any(_is_answer(said) for said in saids):
        return
    last = saids[-1]
    where = deployment.where(last.verb, deployment.profile.callers[last.caller].route)
    raise Unreachable(
        f"{where}: {last.verb} is {last.answer}: {last.raw[:300]}",
        f"an answer that says what {last.verb} asks for (docs/check.md, Binding)",
        "start what answers it, correct its address, or add a rule to its outcomes",
    )


def _is_answer(said: Said) -> bool:
    return said.outcome not in ("error", "lost")


async def _tools(target: Target) -> dict[str, tuple[str, ...]]:
    """Only where a law could call a tool. Who has no list on his route is known by what he may use."""
    found: dict[str, tuple[str, ...]] = {}
    if not (target.bound("tools.list") and target.bound("tools.call")):
        return found
    for name, spec in target.deployment.profile.callers.items():
        if spec.decides:
            continue
        caller = target.caller(name)
        opened = await caller.open()
        if not caller.can("tools.list"):
            found[name] = tuple(spec.may)
            continue
        try:
            said = await caller.list_tools()
        except NotShown:  # a list that names a session which was not given
            if opened.refused:
                found[name] = ()
            continue
        if said.ok or said.refused:
            found[name] = listed(said)
    return found


def _resources(deployment: Deployment, saids: Sequence[Said]) -> int | None:
    """How many subjects there can be at once."""
    lease = deployment.profile.lease
    if lease.resources:
        return len(lease.resources)
    if not deployment.names_resources or deployment.profile.vars.get("resource"):
        return 1
    last = next((said for said in reversed(saids) if said.verb == "lease.holder" and said.ok), None)
    return None if last is None else sum(row.get("held") in (False, "free") for row in last.each)


def _unreachable(loaded: Loaded, why: str) -> Unreachable:
    return Unreachable(
        f"{loaded.place or 'the target'} does not answer: {why}",
        f"the target of {loaded.where(['target'])}, running, with an answer within "
        f"{loaded.profile.target.timeout_s:g} s",
        "start it, or correct the address",
    )


def _why(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused"
    return "nothing within the time-out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__


def _rounded_up(seconds: float) -> float:
    """To the next hundredth."""
    return float(-(-seconds * 100 // 1) / 100)
