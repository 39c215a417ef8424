"""One target for the length of a run: its profile, everything that was said to it, and the resources laws share.

Each law gets a `Target` of its own over it. Source: contract laws.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from lasttick.engine.trace import Redactor
from lasttick.laws.binding import Way, way_of
from lasttick.laws.pool import Pool
from lasttick.laws.profiles.loaded import hide
from lasttick.laws.profiles.profile import CallerSpec, Profile
from lasttick.laws.said import Effect, Mark, Said
from lasttick.laws.servers.origin import Listen, on_loopback
from lasttick.laws.templates import as_text, fill, names_in
from lasttick.laws.wire.message import Wire

if TYPE_CHECKING:
    from lasttick.laws.approval_subject import Approval

MARK_PREFIX = "lt"


@dataclass(frozen=True, slots=True)
class Controls:
    """What only a world of our own can do itself: move time, step the wall clock, restart, and see every effect."""

    step: Callable[[float], Awaitable[None]] | None = None
    restart: Callable[[], Awaitable[None]] | None = None
    effects: Callable[[], Awaitable[Sequence[Effect]]] | None = None

    def give(self, verb: str) -> bool:
        return getattr(self, {"clock.step": "step", "system.restart": "restart"}.get(verb, verb), None) is not None


class Journal(Protocol):
    """Where every session, lease and request is written down before it is used, so that a later run can end it."""

    def opened(self, kind: str, caller: str, names: Mapping[str, Any], session: str | None = None) -> int:
        """`session`: the id of the MCP session that it belongs to."""
        ...

    def knows(self, number: int, names: Mapping[str, Any], session: str | None) -> None:
        """What its answer told about it."""
        ...

    def closed(self, number: int) -> None: ...


class NoJournal:
    """A world of our own leaves nothing behind."""

    def opened(self, kind: str, caller: str, names: Mapping[str, Any], session: str | None = None) -> int:
        return 0

    def knows(self, number: int, names: Mapping[str, Any], session: str | None) -> None:
        return None

    def closed(self, number: int) -> None:
        return None


@dataclass(slots=True)
class Deployment:
    """`run`: a short plain word that tells this run's marks from those of earlier ones.

    `redact` hides secrets in everything that is shown; `history` is all that any law said, in order of the answers.
    """

    profile: Profile
    run: str
    secrets: Mapping[str, str] = field(default_factory=dict)
    transport: httpx.AsyncBaseTransport | None = None
    controls: Controls = field(default_factory=Controls)
    journal: Journal = field(default_factory=NoJournal)
    lock_dir: Path | None = None
    locate: Callable[[Sequence[str | int]], str] | None = None
    """Names the place of keys in the file that the profile was read from."""
    redact: Redactor = field(default_factory=Redactor)
    history: list[Said] = field(default_factory=list)
    round_trips_s: list[float] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    """Every request for a person's yes that any law made."""
    listen: Listen = on_loopback
    """How the target reaches a server of a law's own."""
    _ways: dict[tuple[str, str | None], Way | None] = field(default_factory=dict)
    _pool: Pool | None = None
    _pool_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _marks: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _numbers: dict[float, None] = field(default_factory=dict)

    began_s: float = 0.0

    def __post_init__(self) -> None:
        self.began_s = asyncio.get_running_loop().time()
        hide(self.secrets, self.redact)

    def way(self, verb: str, route: str | None = None) -> Way | None:
        """How a verb is sent, found once for each route; None: not bound."""
        key = (verb, route)
        if key not in self._ways:
            self._ways[key] = way_of(self.profile, verb, route)
        return self._ways[key]

    def where(self, verb: str, route: str | None, *keys: str) -> str:
        """How a message names what is written for a verb: with file and line where the profile is a file.

        What the verb borrows by `same` stands elsewhere.
        """
        profile = self.profile
        while (own := profile.bound(verb, route)) is not None and own.same and not own.model_fields_set & set(keys[:1]):
            verb = own.same
        if self.locate is None:
            return f"the binding of {verb}"
        on_route = route in profile.routes and profile.routes[route].binding(verb) is not None
        return self.locate([*(("routes", str(route)) if on_route else ()), *verb.split("."), *keys])

    def wire(self, name: str, spec: CallerSpec) -> Wire:
        """A new session's wire for a caller; nothing is sent yet."""
        from lasttick.laws.wire.caller import CallerWire
        from lasttick.laws.wire.place import Place

        target = self.profile.target
        place = Place(
            url=target.url,
            command=None if target.command is None else tuple(target.command),
            env=target.env,
            allow_hosts=tuple(target.allow_hosts),
            era=target.era,
            timeout_s=target.timeout_s,
        )
        names = {**self.profile.vars, **spec.vars}
        return CallerWire(
            place,
            headers={name: as_text(fill(value, names)) for name, value in spec.headers.items()},
            env={name: as_text(fill(value, names)) for name, value in spec.env.items()},
            transport=self.transport,
            name=name,
        )

    def mark(self, caller: str) -> Mark:
        """A fresh mark: `lt-7qk2-alice-12`, and a number between 1 and 2 that no other mark of this run has."""
        text = f"{MARK_PREFIX}-{self.run}-{caller}-{next(self._marks)}"
        number = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 1_000_000
        while (found := 1 + number / 1_000_000) in self._numbers:
            number = (number + 1) % 1_000_000
        self._numbers[found] = None
        return Mark(text, found)

    @property
    def names_resources(self) -> bool:
        """Whether a caller asks for a resource by name."""
        binding = self.profile.reach("lease.acquire")
        return binding is not None and "resource" in names_in(binding.model_dump(exclude={"out", "outcomes", "poll"}))

    @property
    def subjects_max(self) -> int:
        """How many subjects there can be at once; 0 before the first."""
        return 0 if self._pool is None else len(self._pool.names)

    async def pool(self, listed: Callable[[], Awaitable[Sequence[str]]]) -> Pool:
        """The pool of resources: those of the profile, else those that `listed` finds free, else the target chooses."""
        async with self._pool_lock:
            if self._pool is None:
                names: Sequence[str] = self.profile.lease.resources
                if not names and self.names_resources:
                    own = self.profile.vars.get("resource")
                    names = [str(own)] if own else await listed()
                self._pool = Pool(names, self.lock_dir)
            return self._pool
