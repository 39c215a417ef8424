"""A law played up to its first message: what it finds to be missing until then is what it needs. Nothing is sent.

Sessions are opened and tools are listed as the target was seen to answer before; whatever else would be sent ends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from lasttick.laws.caller import Caller, Follows
from lasttick.laws.deployment import Deployment
from lasttick.laws.reply import Reply
from lasttick.laws.said import Mark, Said
from lasttick.laws.servers.origin import Documents, Origin
from lasttick.laws.target import Target
from lasttick.laws.wire.message import Message, Wire

Listings: TypeAlias = Mapping[str, tuple[str, ...]]
"""The names of the tools that each caller's list shows; a caller whose list is not known is left out."""
SOME = "dry"


class WouldRun(Exception):
    """The law has come to its first message."""


class DryTarget(Target):
    """`listings`: what was seen of this target."""

    def __init__(self, deployment: Deployment, law: str, listings: Listings) -> None:
        super().__init__(deployment, law)
        self.listings = listings

    def keep(self, caller: Caller) -> Caller:
        return DryCaller(self, caller)

    async def sleep(self, seconds: float) -> None:
        raise WouldRun

    def origin(self, documents: Documents) -> AbstractAsyncContextManager[Origin]:
        raise WouldRun

    async def _free_resources(self) -> Sequence[str]:
        return [SOME] if self.bound("lease.holder") else await super()._free_resources()


class DryCaller(Caller):
    """Whoever would speak ends the law, but for an opening and a list that is known."""

    def __init__(self, target: DryTarget, caller: Caller) -> None:
        super().__init__(target, caller.name, caller.spec)
        self._listings = target.listings
        self.wire = _DryWire(None)

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
        profile = self.target.deployment.profile
        if verb == "session.open":
            binding = profile.reach(verb, self.spec.route)
            self.names |= dict.fromkeys(binding.out if binding is not None else (), SOME)
            has_id = profile.implied(verb, self.spec.route) and profile.target.era == "handshake"
            self.wire = _DryWire(SOME if has_id else None)
            return self._ok(verb, Reply(True))
        if verb == "tools.list" and self.name in self._listings:
            rows = [{"name": name} for name in self._listings[self.name]]
            return self._ok(verb, Reply(True, body={"tools": rows}), each=tuple(rows))
        raise WouldRun

    def _ok(self, verb: str, reply: Reply, **more: Any) -> Said:
        return self._said(verb, "ok", reply, self.target.now_s, self.target.now_s, **more)


class _DryWire(Wire):
    """Stands for a session's wire: all that it says is whether the session has an id."""

    def __init__(self, session_id: str | None) -> None:
        self._session_id = session_id

    @property
    def is_over(self) -> bool:
        return False

    @property
    def session_id(self) -> str | None:
        return self._session_id

    def borrow(self, other: Wire, session_id: str | None = None) -> None:
        self._session_id = session_id or other.session_id

    async def open(self) -> Reply:
        raise WouldRun

    async def list_tools(self, timeout_s: float) -> Reply:
        raise WouldRun

    async def send(self, message: Message) -> Reply:
        raise WouldRun

    async def end(self) -> Reply:
        raise WouldRun

    async def vanish(self) -> None:
        raise WouldRun

    async def close(self) -> None:
        return None
