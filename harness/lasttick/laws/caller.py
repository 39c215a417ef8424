"""Somebody who speaks to the target: verbs in, `Said` out. One session at a time; `again` begins a new one.

A verb that acts is sent exactly once. Source: contract laws, "Binding", "Callers".
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lasttick.laws import binding as bindings
from lasttick.laws.conditions import outcome_of
from lasttick.laws.profiles.profile import Binding, CallerSpec, Outcome, Poll
from lasttick.laws.reply import NotFound, Reply, find, lost
from lasttick.laws.said import Mark, Said
from lasttick.laws.verdict import NotApplicable, Unfound

if TYPE_CHECKING:
    from lasttick.laws.target import Target
    from lasttick.laws.wire.message import Wire


class Follows(Protocol):
    """Who has to know what becomes of a request, whatever becomes of the law that makes it."""

    def sends(self) -> None:
        """It goes out now."""
        ...

    def learns(self, out: Mapping[str, Any]) -> None:
        """What an answer tells about it, at once."""
        ...


class Caller:
    """See `Target.callers`. `name` is the profile's; `session` counts this law's sessions of that caller."""

    def __init__(self, target: Target, name: str, spec: CallerSpec) -> None:
        self.target = target
        self.name = name
        self.spec = spec
        self.over = False
        self.names: dict[str, Any] = self._given()
        """Everything put out so far about this session, and what it goes by if it was opened elsewhere."""
        self.wire: Wire = target.deployment.wire(name, spec)
        self.session = target.next_session(name)
        self._journal: int | None = None

    # -- the session

    async def open(self) -> Said:
        """Begin the session; a target whose kind has none answers ok."""
        if not self.can("session.open"):
            now_s = self.target.now_s
            return self._said("session.open", "ok", Reply(True, raw="the target has no sessions"), now_s, now_s)
        journal = self.target.deployment.journal
        self._journal = journal.opened("session", self.name, self.names)
        said = await self.say("session.open")
        if (session_id := self.wire.session_id) is not None:
            self.target.deployment.redact.learn(session_id, f"[session of {self.session}]")
        journal.knows(self._journal, self.names, session_id)
        self.target.emit(self.name, "session.open", session=self.session, era="")
        return said

    async def end(self) -> Said:
        """End the session as the target wants it."""
        return await self.say("session.end")

    async def vanish(self) -> None:
        """Connections are cut and nothing is said."""
        now_s = self.target.now_s
        self.target.emit(self.name, "trouble", what="vanish", session=self.session)
        await self.wire.vanish()
        self.over = True
        reply = Reply(False, raw="connections cut, nothing said")
        self.target.note(self._said("session.vanish", "lost", reply, now_s, self.target.now_s))

    async def again(self) -> Said:
        """A new session of the same caller."""
        await self.close()
        self.over = False
        self.names = self._given()
        self.wire = self.target.deployment.wire(self.name, self.spec)
        self.session = self.target.next_session(self.name)
        return await self.open()

    async def close(self) -> None:
        """End what is open, without a verdict on it."""
        if not self.over and self.can("session.end"):
            await self.end()
        await self.wire.close()

    def twin(self, *, route: str | None = None) -> Caller:
        """The same caller in a session of its own, not yet opened. `route`: it goes this way."""
        spec = self.spec if route is None else self.spec.model_copy(update={"route": route})
        return self.target.keep(Caller(self.target, self.name, spec))

    def borrow(self, other: Caller, session_id: str | None = None) -> None:
        """From now on present the other's session, with one's own credentials; it is not this caller's to end.

        `session_id`: this id in place of the one that the other's session has.
        """
        self.wire.borrow(other.wire, session_id)
        self.names = dict(other.names)
        self.over = True
        self.knows(other)

    def knows(self, other: Caller) -> None:
        """It has what the other's session goes by: an answer that repeats it gives nothing away."""
        now_s = self.target.now_s
        reply = Reply(True, raw=f"presents the session {other.session}; nothing was sent")
        self.target.note(self._said("session.borrow", "ok", reply, now_s, now_s, inputs={"of": other.name}))

    # -- verbs about no lease or request

    async def list_tools(self) -> Said:
        return await self.say("tools.list")

    async def call(self, tool: str) -> Said:
        return await self.say("tools.call", tool=tool)

    # -- any verb

    def can(self, verb: str) -> bool:
        """Whether the profile binds it, or the kind of the target has it by itself."""
        return self.target.bound(verb, self.spec.route)

    async def say(
        self,
        verb: str,
        about: Mapping[str, Any] | None = None,
        /,
        follow: Follows | None = None,
        beside: Mapping[str, Any] | None = None,
        mark: Mark | None = None,
        **inputs: Any,
    ) -> Said:
        """Send one verb; `about` is what was put out so far about the lease or request, `beside` arguments that the
        binding does not have. `mark`: in place of a fresh one, where the binding places one.

        Raises NotApplicable when the profile does not bind it, NotShown for a binding that cannot be filled, Unfound
        for one whose outputs are not in the answer.
        """
        profile = self.target.deployment.profile
        way = self.target.deployment.way(verb, self.spec.route)
        if way is None:
            raise NotApplicable(f"needs the verb {verb}, which the profile does not bind")
        binding, origin = way.binding, way.origin
        given = {name: value for name, value in inputs.items() if value not in (None, "")}
        mark = (mark or self.target.deployment.mark(self.name)) if way.marked else None
        names = self._names(bindings.inputs_as_names(given, mark), about)
        ref = self.target.next_ref()
        message = bindings.message_of(binding, names, verb, profile.target.timeout_s, given.get("hold", 0.0))
        if message is not None and beside:
            message = bindings.with_beside(message, beside)
        self.target.starts(ref, self, verb, message, mark)
        if follow is not None:
            follow.sends()
        sent_s = self.target.now_s
        reply = await self._send(origin, message)
        outcome = outcome_of(reply, binding.outcomes, profile.outcomes)
        answered_s = self.target.now_s
        out: dict[str, Any] = {}
        pending_s: float | None = None
        each: tuple[Mapping[str, Any], ...] = ()
        if binding.each is not None:
            each = self._rows(binding, reply, outcome, verb)
        else:
            out = self._outputs(binding, reply, outcome, verb, follow)
        if binding.poll is not None and outcome in ("ok", "pending"):
            reply, outcome, pending_s = await self._poll(binding, binding.poll, verb, ChainMap(out, *names.maps))
            answered_s = self.target.now_s
            out |= self._outputs(binding.poll, reply, outcome, verb, follow)
        if origin.startswith("session."):
            self.names.update(out)
        parts = {"mark": mark, "inputs": given, "out": out, "each": each, "pending_s": pending_s}
        said = self._said(verb, outcome, reply, sent_s, answered_s, **parts)
        self.target.ends(ref, self, said)
        self.target.note(said)
        if origin == "session.end" and outcome == "ok":
            self.target.emit(self.name, "session.end", session=self.session)
            self.over = True
            self._forget_journal()
        return said

    async def look(self, verb: str, about: Mapping[str, Any], follow: Follows | None = None) -> Said | None:
        """One reading by the poll of a verb, of what was answered before; None: it has no poll.

        Raises what `say` raises.
        """
        way = self.target.deployment.way(verb, self.spec.route)
        if way is None or way.binding.poll is None:
            return None
        poll, profile = way.binding.poll, self.target.deployment.profile
        message = bindings.message_of(poll, self._names({}, about), verb, profile.target.timeout_s)
        sent_s = self.target.now_s
        reply = await self._send(way.origin, message)
        outcome = outcome_of(reply, poll.outcomes, way.binding.outcomes, profile.outcomes)
        if outcome == "ok" and not bindings.is_decided(poll, reply, outcome):
            outcome = "pending"
        out = self._outputs(poll, reply, outcome, verb, follow)
        said = self._said(verb, outcome, reply, sent_s, self.target.now_s, out=out)
        self.target.note(said)
        return said

    def _given(self) -> dict[str, Any]:
        """The vars that a session goes by which was opened elsewhere."""
        profile = self.target.deployment.profile
        known = {**profile.vars, **self.spec.vars}
        return {name: known[name] for name in profile.session.vars if name in known}

    def _names(self, inputs: Mapping[str, Any], about: Mapping[str, Any] | None) -> ChainMap[str, Any]:
        """Every name that has a value here, nearest first."""
        own, shared = dict(self.spec.vars), self.target.deployment.profile.vars
        return ChainMap(dict(inputs), dict(about or {}), self.names, own, shared)

    async def _send(self, origin: str, message: Any) -> Reply:
        if message is not None:
            return await self.wire.send(message)
        if origin == "session.open":
            return await self.wire.open()
        if origin == "session.end":
            return await self.wire.end()
        return await self.wire.list_tools(self.target.deployment.profile.target.timeout_s)

    async def _poll(
        self, binding: Binding, poll: Poll, verb: str, names: Mapping[str, Any]
    ) -> tuple[Reply, Outcome, float | None]:
        """Read again until a condition holds; the last reading's answer is the verb's.

        Also when the last reading that found it undecided was sent.
        """
        profile = self.target.deployment.profile
        deadline_s = self.target.now_s + poll.within_s
        pending_s: float | None = None
        wire = self.wire
        while True:
            message = bindings.message_of(poll, names, verb, profile.target.timeout_s)
            read_s = self.target.now_s
            if wire.is_over:
                return lost("its session was cut between two readings"), "lost", pending_s
            reply = await self._send(verb, message)
            outcome = outcome_of(reply, poll.outcomes, binding.outcomes, profile.outcomes)
            if bindings.is_decided(poll, reply, outcome):
                return reply, outcome, pending_s
            if outcome in ("ok", "pending"):
                pending_s = read_s
            if reply.lost is not None or self.target.now_s + poll.every_s > deadline_s:
                return reply, "pending" if outcome in ("ok", "pending") else outcome, pending_s
            await asyncio.sleep(max(poll.every_s - (self.target.now_s - read_s), 0.001))

    def _outputs(
        self, part: Binding | Poll, reply: Reply, outcome: Outcome, verb: str, follow: Follows | None
    ) -> dict[str, Any]:
        if outcome not in ("ok", "pending"):
            return {}
        found, missing = bindings.outputs(part.out, reply)
        if follow is not None:
            follow.learns(found)
        if missing and outcome == "ok":
            name, error = next(iter(missing.items()))
            keys = ("poll", "out", name) if isinstance(part, Poll) else ("out", name)
            raise self._unfound(verb, keys, f"{name} = {error}", reply)
        return found

    def _rows(self, binding: Binding, reply: Reply, outcome: Outcome, verb: str) -> tuple[Mapping[str, Any], ...]:
        if outcome != "ok":
            return ()
        try:
            rows = find(reply.document(), binding.each or "")
            if not isinstance(rows, list):
                raise NotFound(f"{binding.each} is no list")
        except NotFound as error:
            raise self._unfound(verb, ("each",), f"each {error}", reply) from error
        return tuple(bindings.row(binding, row) for row in rows)

    def _unfound(self, verb: str, keys: tuple[str, ...], what: str, reply: Reply) -> Unfound:
        where = self.target.deployment.where(verb, self.spec.route, *keys)
        return Unfound(
            f"{where}: {what}; the reply to {verb} was {self._raw(reply)}\n"
            "  expected: a pointer into {status, headers, body, error, meta, lines, events} that finds something in "
            "every reply whose outcome is ok (docs/check.md, Binding)\n"
            f"  next: correct the pointer, or add a rule to the outcomes of {verb} if this reply is no success"
        )

    def _said(self, verb: str, outcome: Outcome, reply: Reply, sent_s: float, answered_s: float, **more: Any) -> Said:
        return Said(
            number=self.target.next_number(),
            law=self.target.law,
            verb=verb,
            caller=self.name,
            session=self.session,
            outcome=outcome,
            reply=reply,
            sent_s=sent_s,
            answered_s=answered_s,
            raw=self._raw(reply),
            **more,
        )

    def _raw(self, reply: Reply) -> str:
        return str(self.target.deployment.redact(reply.raw))

    def _forget_journal(self) -> None:
        if self._journal is not None:
            self.target.deployment.journal.closed(self._journal)
            self._journal = None
