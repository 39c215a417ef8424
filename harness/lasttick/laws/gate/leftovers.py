"""How is ended what a run has left on the target? Requests and leases first, each in its session, then the sessions.

A request for a lease that was not decided is looked at once more: what waits is taken back, what was granted is given
back. What the target does not know any more has ended; what it refuses to end has not. A request for a person's yes is
denied by whoever may decide it. A place to fetch from is forgotten.

Source: contract laws, "Subjects".
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lasttick.laws import binding as bindings
from lasttick.laws.approval_subject import KIND as REQUEST
from lasttick.laws.approval_subject import may_decide
from lasttick.laws.conditions import outcome_of
from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.journal import Entry
from lasttick.laws.judges.approvals import shows
from lasttick.laws.profiles.profile import Binding, Outcome, Poll
from lasttick.laws.reply import NotFound, Reply, find
from lasttick.laws.said import Mark
from lasttick.laws.sources import KIND as SOURCE
from lasttick.laws.verdict import NotShown
from lasttick.laws.wire.message import Message, Wire, WireError

LEASE, SESSION = "lease", "session"
IN_ORDER = (REQUEST, LEASE, SOURCE, SESSION)
GONE = (404, 410)
UNKNOWN = (401, 403)
"""The target does not know the caller, or not as one who may: that says nothing of what the caller has there."""


@dataclass(frozen=True, slots=True)
class Left:
    """One entry that could not be ended, and why. It stays written down: the next run tries again."""

    entry: Entry
    why: str

    def __str__(self) -> str:
        names = ", ".join(f"{name}={value}" for name, value in self.entry.names.items())
        what = f"the {self.entry.kind} of {self.entry.caller}" + (f" ({names})" if names else "")
        return f"{what} could not be ended: {self.why}"


async def end_leftovers(deployment: Deployment, entries: Sequence[Entry]) -> list[Left]:
    """One try each. Returns what could not be ended."""
    left: list[Left] = []
    for kind in IN_ORDER:
        ends = await asyncio.gather(*(_end(deployment, entry) for entry in entries if entry.kind == kind))
        left += [end for end in ends if end is not None]
    return left


async def _end(deployment: Deployment, entry: Entry) -> Left | None:
    spec = deployment.profile.callers.get(entry.caller)
    if spec is None:
        return Left(entry, "the profile has no such caller any more")
    if entry.kind == REQUEST:
        return await _end_request(deployment, entry)
    speaker = _Speaker(deployment, entry, deployment.wire(entry.caller, spec))
    try:
        why = await {LEASE: _end_lease, SOURCE: _forget_source, SESSION: _end_session}[entry.kind](speaker)
    except (NotShown, WireError) as error:
        why = str(error)
    finally:
        await speaker.close()
    return None if why is None else Left(entry, str(deployment.redact(why)))


class _Speaker:
    """The caller of an entry, in the entry's session. `names`: all that is known of what the entry is about."""

    def __init__(self, deployment: Deployment, entry: Entry, wire: Wire) -> None:
        self.profile = deployment.profile
        self.entry = entry
        self.wire = wire
        self.route = self.profile.callers[entry.caller].route
        self.names: dict[str, Any] = dict(entry.names)
        self._has_session = False

    def binding(self, verb: str) -> Binding | None:
        return self.profile.reach(verb, self.route)

    def stands_for(self, verb: str) -> str:
        return self.profile.stands_for(verb, self.route)

    def message(self, verb: str, part: Binding | Poll) -> Message | None:
        """None: kind `tool` has it of itself. Raises NotShown for a name that nobody knows."""
        names = ChainMap(self.names, dict(self.profile.callers[self.entry.caller].vars), self.profile.vars)
        message = bindings.message_of(part, names, verb, self.profile.target.timeout_s)
        return None if message is None else replace(message, headers={**self._session(), **message.headers})

    def deletion(self) -> Message | None:
        """What ends an MCP session by its id; None where nothing can be open: a command's has ended with its process,
        and a server without ids has none."""
        target = self.profile.target
        if target.url is None or self.entry.session is None:
            return None
        return Message("http", f"DELETE {target.url}", headers=self._session(), timeout_s=target.timeout_s)

    async def send(self, message: Message) -> Reply:
        self._has_session = self._has_session or message.kind == "tool"
        return await self.wire.send(message)

    async def list_tools(self) -> Reply:
        self._has_session = True
        return await self.wire.list_tools(self.profile.target.timeout_s)

    def outcome(self, reply: Reply, *parts: Binding | Poll | None) -> Outcome:
        return outcome_of(reply, *(part.outcomes for part in parts if part is not None), self.profile.outcomes)

    async def close(self) -> None:
        try:
            if self._has_session:
                await self.wire.end()
        finally:
            await self.wire.close()

    def _session(self) -> Mapping[str, str]:
        return {} if self.entry.session is None else {"mcp-session-id": self.entry.session}


async def _end_session(speaker: _Speaker) -> str | None:
    """Why it could not be ended."""
    binding = speaker.binding("session.end")
    if binding is None:
        return None
    message = speaker.message("session.end", binding) or speaker.deletion()
    if message is None:
        return None
    reply = await speaker.send(message)
    return None if speaker.outcome(reply, binding) == "ok" or reply.status in GONE else reply.raw


async def _forget_source(speaker: _Speaker) -> str | None:
    """Why the target may know it still. A session of the caller's is begun first, where it is a binding's."""
    remove = speaker.binding("source.remove")
    if remove is None:
        return "no verb takes it away"
    opening = speaker.binding("session.open")
    if opening is not None and (begin := speaker.message("session.open", opening)) is not None:
        await speaker.send(begin)
    message = speaker.message("source.remove", remove)
    assert message is not None, "only session verbs and tools.list are of themselves"
    reply = await speaker.send(message)
    return None if speaker.outcome(reply, remove) == "ok" or reply.status in GONE else reply.raw


async def _end_request(deployment: Deployment, entry: Entry) -> Left | None:
    """Denied by the first caller that may. None also when nothing waits for it any more."""
    callers = deployment.profile.callers
    decider = next((name for name in callers if may_decide(deployment.profile, name, entry.caller)), None)
    if decider is None:
        return Left(entry, "the profile has no caller any more that may decide it")
    # In a session of the decider's own: that of the asker says nothing here.
    theirs = replace(entry, caller=decider, session=None)
    speaker = _Speaker(deployment, theirs, deployment.wire(decider, callers[decider]))
    try:
        why = await _deny(speaker)
    except (NotShown, WireError) as error:
        why = str(error)
    finally:
        await speaker.close()
    timeout_s = deployment.profile.approval.timeout_s
    by_itself = "" if timeout_s is None else f"; it runs out within {timeout_s:g} s by itself"
    return None if why is None else Left(entry, str(deployment.redact(why)) + by_itself)


async def _deny(speaker: _Speaker) -> str | None:
    """Why it may wait still."""
    waits = await _waits(speaker)
    if waits is False:
        return None
    decide = speaker.binding("approval.decide")
    if decide is None:
        return "no verb denies it"
    speaker.names["decision"] = decide.say.get("deny", "deny")
    message = speaker.message("approval.decide", decide)
    assert message is not None, "only session verbs and tools.list are of themselves"
    reply = await speaker.send(message)
    outcome = speaker.outcome(reply, decide)
    if outcome == "ok" or reply.status in GONE or await _waits(speaker) is False:
        return None
    return reply.raw


async def _waits(speaker: _Speaker) -> bool | None:
    """Whether it is listed, which may tell its id; None: nothing can say."""
    pending = speaker.binding("approval.pending")
    try:
        message = None if pending is None else speaker.message("approval.pending", pending)
    except NotShown:
        message = None
    if pending is None or message is None:
        return None
    reply = await speaker.send(message)
    if speaker.outcome(reply, pending) != "ok":
        return None
    try:
        listed = find(reply.document(), pending.each or "")
    except NotFound:
        return None
    rows = [bindings.row(pending, element) for element in listed] if isinstance(listed, list) else []
    mark, id_ = Mark(str(speaker.names.get("mark", "")), 0.0), speaker.names.get("id")
    for row in rows:
        if str(row["id"]) == str(id_) if id_ is not None and "id" in row else shows(mark, row):
            speaker.names |= row
            return True
    return False


async def _end_lease(speaker: _Speaker) -> str | None:
    """Why it could not be ended."""
    state = await _state(speaker)
    if state in ("busy", "denied"):
        return None  # the request was turned down, or what it was granted is over
    binding = speaker.binding("lease.release")
    if binding is None or speaker.stands_for("lease.release").startswith("session."):
        return "it still waits in the queue, and no verb takes it back" if state == "pending" else None
    try:
        message = speaker.message("lease.release", binding)
    except NotShown as error:
        waits = "it still waits in the queue, and what would take it back cannot be sent"
        why = waits if state == "pending" else "what came of its request is not known, so its release cannot be sent"
        return f"{why}: {error}"
    assert message is not None, "only session verbs and tools.list are of themselves"
    reply = await speaker.send(message)
    outcome = speaker.outcome(reply, binding)
    if outcome == "ok":
        return None
    if state == "pending":
        return f"it still waits in the queue: {reply.raw}"
    if outcome != "lost" and reply.status in GONE:
        return None
    if outcome == "denied" and (reply.status not in UNKNOWN or await _is_known(speaker)):
        return None  # somebody else's by now
    ttl_s = speaker.profile.lease.ttl_s
    return reply.raw + ("" if ttl_s is None else f"; it runs out within {ttl_s:g} s by itself")


async def _state(speaker: _Speaker) -> Outcome | None:
    """How the request stands, by one reading, which may tell more names; None: nothing can say."""
    acquire = speaker.binding("lease.acquire")
    if acquire is None or acquire.poll is None:
        return None
    try:
        message = speaker.message("lease.acquire", acquire.poll)
    except NotShown:
        return None
    assert message is not None, "a poll has a binding of its own"
    reply = await speaker.send(message)
    outcome = speaker.outcome(reply, acquire.poll, acquire)
    if outcome == "ok" and not bindings.is_decided(acquire.poll, reply, outcome):
        outcome = "pending"
    if outcome in ("ok", "pending"):
        speaker.names |= bindings.outputs(acquire.poll.out, reply)[0]
    elif reply.status in (*UNKNOWN, *GONE):
        return None
    return outcome


async def _is_known(speaker: _Speaker) -> bool:
    """Whether the target lets the caller read at all: then a refusal is about the lease, and not about the caller."""
    holder = speaker.binding("lease.holder")
    try:
        message = None if holder is None else speaker.message("lease.holder", holder)
    except NotShown:
        message = None
    if message is not None:
        return speaker.outcome(await speaker.send(message), holder) == "ok"
    return speaker.profile.speaks_mcp() and (await speaker.list_tools()).ok
