"""What can a caller of any target do that leaves an effect? A call of a tool, or a use of a lease; and who may not?"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.laws.binding import names_wanted
from lasttick.laws.caller import Caller
from lasttick.laws.judges.tools import callable_tools, listed, may_use
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotApplicable, NotShown, control

from .leases import let_go

LEASES = ("lease.acquire", "lease.use")
NO_ACT = (
    "needs lease.acquire and lease.use, or a tool that a law may call: one that the first caller sees and has in its "
    "`may`, or a recorder's ltread or ltwrite"
)


class Act:
    """One act under test. `tool` None: a use of a lease. `subject`: what it is done to, where that is leased."""

    def __init__(self, target: Target, tool: str | None, subject: Subject | None) -> None:
        self.target = target
        self.tool = tool
        self.subject = subject

    async def well(self, caller: Caller) -> Said:
        """As somebody who may: what is leased is acquired first. If that is not answered ok: its answer."""
        if self.subject is not None and self.subject.holder is not caller:
            acquired = await self.subject.acquire(caller)
            if not acquired.ok:
                return acquired
        return await self.alone(caller)

    async def alone(self, caller: Caller) -> Said:
        """The act and nothing before it."""
        if self.tool is None:
            assert self.subject is not None
            return await self.subject.use(caller)
        return await self.call(caller, self.tool)

    async def call(
        self,
        caller: Caller,
        tool: str,
        beside: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Said:
        """A call of a tool by any name; `beside`: with arguments that the binding does not have; `about`: with these
        names in place of those that the caller has.
        """
        names = {**(self.subject.names if self.subject is not None else {}), **(about or {})}
        resource = names.get("resource")
        return await caller.say("tools.call", names, beside=beside, tool=tool, resource=resource, hold=0.0)

    def is_in_session_of(self, caller: Caller) -> bool:
        """Whether the act presents what this caller's session goes by: an MCP session id, or an output of its opening.

        Only then can it be told from the same act in another session.
        """
        verb = "lease.use" if self.tool is None else "tools.call"
        binding = self.target.deployment.profile.reach(verb, caller.spec.route)
        if binding is None:
            return False
        by_id = binding.tool is not None and caller.wire.session_id is not None
        return by_id or any(name in names_wanted(binding) for name in caller.names)

    async def well_and_let_go(self, caller: Caller) -> Said:
        """Afterwards nobody has the lease: who is refused then is not refused because of it."""
        said = await self.well(caller)
        subject = self.subject
        if subject is not None and subject.holder is caller:
            await let_go(self.target, subject, caller)
            await self.target.sleep(self.target.lag_s("lease.release"))
        return said


@contextlib.asynccontextmanager
async def act_of(target: Target, tool: str | None) -> AsyncIterator[Act]:
    """An act on a resource of its own, where it has one. `tool` may be chosen later: any text says there is one."""
    binding = target.deployment.profile.reach("tools.call")
    names_one = tool is None or (binding is not None and "resource" in names_wanted(binding))
    if names_one and target.bound("lease.acquire"):
        async with target.subject() as subject:
            yield Act(target, tool, subject)
    else:
        yield Act(target, tool, None)


async def usual_tool(target: Target, caller: Caller) -> str | None:
    """The tool that this caller's acts are calls of; None: they are uses of a lease.

    Raises NotApplicable when it can be neither.
    """
    if target.bound("tools.call") and (usable := await own_tools(target, caller)):
        return usable[0]
    if not all(target.bound(verb) for verb in LEASES):
        raise NotApplicable(NO_ACT)
    return None


def tools_of(target: Target, caller: Caller, listing: Said) -> list[str]:
    """The tools of a caller's list that a law may call, and this caller may use."""
    tools = callable_tools(target.deployment.profile, listed(listing))
    return [tool for tool in tools if may_use(caller.spec, tool)]


async def own_tools(target: Target, caller: Caller) -> list[str]:
    """`tools_of`, also where no list can be asked for."""
    if caller.can("tools.list"):
        return tools_of(target, caller, await caller.list_tools())
    return list(callable_tools(target.deployment.profile, caller.spec.may))


@dataclass(frozen=True, slots=True)
class Foreign:
    """`tool`, which `allowed` sees and may use, is foreign to `other`: not seen, or not in its `may`."""

    tool: str
    allowed: Caller
    other: Caller

    async def on(self, route: str | None) -> Foreign:
        """The same two on another way to the target."""
        if route is None or (route == self.allowed.spec.route == self.other.spec.route):
            return self
        allowed, other = self.allowed.twin(route=route), self.other.twin(route=route)
        await allowed.open()
        await other.open()
        return Foreign(self.tool, allowed, other)

    def routes(self) -> list[str | None]:
        """Every way on which the other could call it; None: that of the file's own binding."""
        if self.other.spec.route is not None:
            return [self.other.spec.route]
        profile = self.other.target.deployment.profile
        return [None, *(name for name, verbs in profile.routes.items() if verbs.binding("tools.call") is not None)]


async def foreign_tools(target: Target) -> list[Foreign]:
    """Every tool that a law may call, with somebody who may and each caller who may not; empty when there is none.

    Where no list can be asked for, a tool is known by the `may` of who may use it. Raises NotShown when a list is
    answered neither ok nor as refused.
    """
    profile = target.deployment.profile
    sees: dict[Caller, tuple[str, ...]] = {}
    for name, spec in profile.callers.items():
        if not spec.decides:
            caller = target.caller(name)
            opened = await caller.open()
            if not caller.can("tools.list"):
                sees[caller] = tuple(spec.may)
                continue
            try:
                said = await caller.list_tools()
            except NotShown:
                if opened.refused:  # who was given no session, where a list names one, has nothing to say
                    continue
                raise
            control(said.ok or said.refused, f"whether {name} sees a tool is not known", said)
            sees[caller] = listed(said)
    names = list(dict.fromkeys(tool for seen in sees.values() for tool in seen))
    found = []
    for tool in callable_tools(profile, names):
        free = [caller for caller, seen in sees.items() if may_use(caller.spec, tool) and tool in (*seen, "")]
        found += [Foreign(tool, free[0], other) for other in sees if free and other not in free]
    return found
