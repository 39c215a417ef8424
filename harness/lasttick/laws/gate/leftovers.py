"""How is ended what a run has left on the target? Leases first, each in its session, then the sessions.

What the target does not know any more has ended. Source: contract laws, "Subjects".
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lasttick.laws import binding as bindings
from lasttick.laws.conditions import outcome_of
from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.journal import Entry
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.reply import Reply
from lasttick.laws.verdict import NotShown
from lasttick.laws.wire.message import Message, WireError

LEASE, SESSION = "lease", "session"
VERBS = {LEASE: "lease.release", SESSION: "session.end"}
GONE = (404, 410)


@dataclass(frozen=True, slots=True)
class Left:
    """One entry that could not be ended, and why. `again`: no answer came, so a later try may do it."""

    entry: Entry
    why: str
    again: bool

    def __str__(self) -> str:
        names = ", ".join(f"{name}={value}" for name, value in self.entry.names.items())
        what = f"the {self.entry.kind} of {self.entry.caller}" + (f" ({names})" if names else "")
        return f"{what} could not be ended: {self.why}"


async def end_leftovers(deployment: Deployment, entries: Sequence[Entry]) -> list[Left]:
    """One try each. Returns what could not be ended."""
    left: list[Left] = []
    for kind in (LEASE, SESSION):
        ends = await asyncio.gather(*(_end(deployment, entry) for entry in entries if entry.kind == kind))
        left += [end for end in ends if end is not None]
    return left


async def _end(deployment: Deployment, entry: Entry) -> Left | None:
    profile = deployment.profile
    spec = profile.callers.get(entry.caller)
    if spec is None:
        return Left(entry, "the profile has no such caller any more", False)
    try:
        message = _message(profile, entry)
        if message is None:
            return None
        wire = deployment.wire(entry.caller, spec)
        try:
            reply = await wire.send(message)
            if message.kind == "tool":
                await wire.end()
        finally:
            await wire.close()
    except (NotShown, WireError) as error:
        return Left(entry, str(error), False)
    return _left(deployment, entry, reply)


def _message(profile: Profile, entry: Entry) -> Message | None:
    """What ends it; None when nothing has to be sent. Raises NotShown."""
    verb, route = VERBS[entry.kind], profile.callers[entry.caller].route
    binding = profile.reach(verb, route)
    if binding is None or (entry.kind == LEASE and profile.stands_for(verb, route).startswith("session.")):
        return None  # it runs out by itself, or ends with its session
    names = ChainMap(dict(entry.names), dict(profile.callers[entry.caller].vars), profile.vars)
    message = bindings.message_of(binding, names, verb, profile.target.timeout_s)
    session = {} if entry.session is None else {"mcp-session-id": entry.session}
    if message is not None:
        return replace(message, headers={**session, **message.headers})
    if profile.target.url is None or entry.session is None:
        return None  # a command's session has ended with its process; a server without ids has no sessions
    return Message("http", f"DELETE {profile.target.url}", headers=session, timeout_s=profile.target.timeout_s)


def _left(deployment: Deployment, entry: Entry, reply: Reply) -> Left | None:
    profile = deployment.profile
    binding = profile.reach(VERBS[entry.kind], profile.callers[entry.caller].route)
    outcome = outcome_of(reply, {} if binding is None else binding.outcomes, profile.outcomes)
    if outcome == "ok" or reply.status in GONE:
        return None
    if entry.kind == LEASE and outcome in ("busy", "denied"):
        return None  # somebody else's by now
    why = str(deployment.redact(reply.raw))
    if entry.kind == LEASE and profile.lease.ttl_s is not None:
        why += f"; it runs out within {profile.lease.ttl_s:g} s by itself"
    return Left(entry, why, outcome == "lost")
