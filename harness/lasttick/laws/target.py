"""What a law is given: callers, subjects, time and effects of one target. It speaks verbs and nothing else.

Source: contract laws, "How a law reaches a system".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from lasttick.engine.trace import Trace
from lasttick.laws.caller import Caller
from lasttick.laws.deployment import Deployment
from lasttick.laws.effects import effects_of
from lasttick.laws.profiles.profile import ApprovalVerbs, LeaseVerbs
from lasttick.laws.said import Effect, Mark, Said
from lasttick.laws.servers.origin import Documents, Origin, served
from lasttick.laws.subject import Subject
from lasttick.laws.verdict import NotApplicable, NotShown, control
from lasttick.laws.wire.message import Message
from lasttick.model.address import is_loopback

READ_EVERY_S = 0.05
Call: TypeAlias = Callable[[], Awaitable[Said]]


class Target:
    """One law's view of a deployment. `law`: its id; `cases`: how many instances it has judged so far."""

    def __init__(self, deployment: Deployment, law: str, trace: Trace | None = None) -> None:
        self.deployment = deployment
        self.law = law
        self.cases: list[str] = []
        self.judged = "answers"
        """What the verdict rests on: `effects` once it was seen what happened at the resource."""
        self._trace = trace
        self._sessions: dict[str, int] = {}
        self._callers: list[Caller] = []
        self._refs = 0
        self._reader: Caller | None = None

    # -- time

    @property
    def now_s(self) -> float:
        """The run's monotonic clock, in seconds since the run began."""
        return asyncio.get_running_loop().time() - self.deployment.began_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))

    async def until(self, t_s: float) -> None:
        """Wait for an instant of `now_s`; at once when it is over."""
        await self.sleep(t_s - self.now_s)

    # -- what the profile says

    @property
    def lease(self) -> LeaseVerbs:
        """The declared policy of leases."""
        return self.deployment.profile.lease

    @property
    def approval(self) -> ApprovalVerbs:
        """The declared policy of approvals."""
        return self.deployment.profile.approval

    @property
    def ttl_s(self) -> float:
        assert self.lease.ttl_s is not None, "the loader asks for ttl_s wherever a lease verb is bound"
        return self.lease.ttl_s

    @property
    def tolerance_s(self) -> float:
        return self.lease.tolerance_s

    def lag_s(self, verb: str) -> float:
        """The longest time from a fact to its report through `verb`."""
        return self.deployment.profile.lag_of(verb)

    def bound(self, verb: str, route: str | None = None) -> bool:
        if self.deployment.controls.give(verb):
            return True
        return self.deployment.way(verb, route) is not None

    def needs(self, *verbs: str) -> None:
        """Raises NotApplicable when one of them is not bound."""
        for verb in verbs:
            if not self.bound(verb):
                binding = self.deployment.profile.binding(verb)
                why = f": {binding.absent}" if binding is not None and binding.absent else ""
                raise NotApplicable(f"needs the verb {verb}, which the profile does not bind{why}")

    def needs_policy(self, key: str, *values: Any) -> None:
        """Raises NotApplicable when the lease policy `key` is none of `values`."""
        found = getattr(self.lease, key)
        if found not in values:
            wanted = " or ".join(map(str, values))
            raise NotApplicable(f"needs lease.{key} = {wanted}; the profile says {found}")

    def case(self, what: str) -> None:
        """One instance was judged and holds."""
        self.cases.append(what)

    # -- callers and subjects

    async def callers(self, number: int, *, may: str | None = None) -> list[Caller]:
        """`number` callers, each with a session of its own, in the order of the profile.

        `may`: only those whose list `may` holds it, or who have no such list. Raises NotApplicable when there are too
        few, NotShown when a session cannot be opened.
        """
        fit = [
            (name, spec)
            for name, spec in self.deployment.profile.callers.items()
            if not spec.decides and (may is None or "may" not in spec.model_fields_set or may in spec.may)
        ]
        if len(fit) < number:
            what = f" that may {may}" if may else ""
            raise NotApplicable(f"needs {number} callers{what}; the profile has {len(fit)}")
        opened = []
        for name, spec in fit[:number]:
            caller = self.keep(Caller(self, name, spec))
            said = await caller.open()
            control(said.ok, f"{name} cannot open a session", said)
            opened.append(caller)
        return opened

    def caller(self, name: str) -> Caller:
        """A caller of the profile by name, its session not opened."""
        return self.keep(Caller(self, name, self.deployment.profile.callers[name]))

    def keep(self, caller: Caller) -> Caller:
        """Its session is ended when the law is over."""
        self._callers.append(caller)
        return caller

    @contextlib.asynccontextmanager
    async def subject(self) -> AsyncIterator[Subject]:
        """A fresh lease subject: a resource that no other law uses meanwhile. Given up at the end in any case."""
        pool = await self.deployment.pool(self._free_resources)
        subject = Subject(self, await pool.take())
        try:
            yield subject
        finally:
            held_until_s = self.now_s
            try:
                held_until_s = await asyncio.shield(subject.give_up())
            finally:
                pool.give_back(subject.name, max(0.0, held_until_s - self.now_s))

    async def _free_resources(self) -> Sequence[str]:
        if not self.bound("lease.holder"):
            raise NotApplicable(
                "lease.acquire asks for a {resource}, and nothing names one; set lease.resources in the profile"
            )
        said = await self.read("lease.holder")
        control(said.ok, "the resources cannot be listed", said)
        free = [str(row["resource"]) for row in said.each if row.get("held") in (False, "free") and "resource" in row]
        control(bool(free), "no resource is free: something else holds them all", said)
        return free

    async def read(self, verb: str, **inputs: Any) -> Said:
        """A reading verb, said by a caller that does nothing else."""
        if self._reader is None:
            specs = self.deployment.profile.callers
            unlimited = [name for name, spec in specs.items() if "may" not in spec.model_fields_set]
            self._reader = self.caller((unlimited or list(specs))[-1])
            opened = await self._reader.open()
            control(opened.ok, "no session for reading can be opened", opened)
        return await self._reader.say(verb, **inputs)

    # -- effects

    @property
    def sees_effects(self) -> bool:
        return self.bound("effects")

    async def effects(self) -> Sequence[Effect]:
        """All that happened at the resources so far. Raises NotApplicable, or NotShown when it cannot be read."""
        if self.deployment.controls.effects is not None:
            self.judged = "effects"
            return await self.deployment.controls.effects()
        said = await self.read("effects")
        control(said.ok, "the effects cannot be read", said)
        self.judged = "effects"
        return effects_of(said.each)

    async def effects_with(self, mark: Mark | None) -> list[Effect]:
        """What happened with that mark, now."""
        return [] if mark is None else [effect for effect in await self.effects() if mark.is_in(effect.mark)]

    async def effect_of(self, said: Said, *, ended: bool = False) -> Effect | None:
        """The effect of a call, waited for as long as the declared lag allows; None when none came.

        `ended`: wait for its end too.
        """
        return await self.effect_with(said.mark, ended=ended)

    async def effect_with(self, mark: Mark | None, *, ended: bool = False) -> Effect | None:
        """The first effect with that mark, as `effect_of` waits: the last look is sent when the lag is over."""
        deadline_s = self.now_s + self.lag_s("effects")
        while True:
            looked_s = self.now_s
            found = await self.effects_with(mark)
            if found and not (ended and found[0].end is None):
                return found[0]
            if looked_s >= deadline_s:
                return found[0] if found else None
            await self.sleep(READ_EVERY_S)

    async def sandwich(self, good: Call, bad: Call, again: Call | None = None) -> tuple[Said, list[Effect]]:
        """good, bad, good (or `again`): the bad call's answer, and what it did.

        Raises NotShown when a good one does not arrive at the resource and the bad one did nothing: what it did is a
        witness, which needs no control.
        """
        missing = await self._missing(await good(), "before")
        said = await bad()
        missing = await self._missing(await (again or good)(), "after") if missing is None else missing
        if missing is not None and await self.effect_of(said) is None:
            raise missing
        return said, await self.effects_with(said.mark)

    async def _missing(self, said: Said, when: str) -> NotShown | None:
        """Why nothing can be said of a call between two good ones of which this is one; None when it arrived."""
        if not said.ok:
            return NotShown(f"the allowed call {when} the refused one was not answered ok", (said,))
        if await self.effect_of(said) is None:
            return NotShown(f"the allowed call {when} the refused one did not reach the resource", (said,))
        return None

    # -- origins of the law's own

    def origin(self, documents: Documents) -> AbstractAsyncContextManager[Origin]:
        """A server that the target can be pointed at, with these documents; it writes down what reaches it."""
        return served(documents, self.deployment.listen)

    def needs_nearness(self) -> None:
        """Raises NotApplicable when the target is not on this machine, whose loopback addresses it must reach."""
        host = urlsplit(self.deployment.profile.target.url or "http://127.0.0.1").hostname or ""
        if not is_loopback(host):
            raise NotApplicable(f"needs a target on this machine, whose servers it can reach; this one is at {host}")

    # -- clock and restart

    async def step_clock(self, seconds: float) -> None:
        """Only the target's wall clock jumps. Raises NotApplicable."""
        self.needs("clock.step")
        if self.deployment.controls.step is not None:
            await self.deployment.controls.step(seconds)
            return
        said = await self.read("clock.step", seconds=seconds)
        control(said.ok, "the wall clock cannot be stepped", said)

    async def restart(self) -> None:
        """The target ends and starts again; whoever had a session there needs a new one. Raises NotApplicable."""
        self.needs("system.restart")
        if self.deployment.controls.restart is not None:
            await self.deployment.controls.restart()
        else:
            said = await self.read("system.restart")
            control(said.ok, "the target cannot be restarted", said)
        self._reader = None

    # -- the end

    async def close(self) -> None:
        """End every session that this law opened."""
        for caller in self._callers:
            with contextlib.suppress(NotShown, NotApplicable):
                await caller.close()

    # -- bookkeeping

    def next_session(self, caller: str) -> str:
        self._sessions[caller] = self._sessions.get(caller, 0) + 1
        return f"{caller}-{self._sessions[caller]}"

    def next_ref(self) -> str:
        self._refs += 1
        return f"c{self._refs}"

    def next_number(self) -> int:
        return len(self.deployment.history) + 1

    def note(self, said: Said) -> None:
        self.deployment.history.append(said)
        self.deployment.round_trips_s.append(said.answered_s - said.sent_s - float(said.inputs.get("hold", 0.0)))

    def emit(self, actor: str, kind: str, ref: str | None = None, **data: Any) -> None:
        if self._trace is not None:
            self._trace.emit(actor, kind, ref, **data)

    def starts(self, ref: str, caller: Caller, verb: str, message: Message | None, mark: Mark | None) -> None:
        arguments = dict(message.args) if message is not None else {}
        self.emit(
            caller.name,
            "call.start",
            ref,
            tool=message.what if message is not None and message.kind == "tool" else verb,
            device_id=arguments.get("device_id"),
            arguments=arguments,
            session=caller.session,
            verb=verb,
            mark=mark.text if mark else None,
        )

    def ends(self, ref: str, caller: Caller, said: Said) -> None:
        self.emit(
            caller.name,
            "call.end",
            ref,
            tool=said.verb,
            ok=said.ok,
            http_status=None if said.reply.status is None else int(said.reply.status),
            code=_member(said.reply.error, "code"),
            reason=_member(_member(said.reply.error, "data"), "reason"),
            message=_member(said.reply.error, "message"),
            owner=None,
            outcome=said.outcome,
            reply=said.raw,
        )


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
