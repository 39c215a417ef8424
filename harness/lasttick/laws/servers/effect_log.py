"""What happened at the resource? The log that the recorder and the dummies write, and the one a law believes.

An effect begins when a call arrives and lasts `hold_s` of its arguments: a call that stays at the resource for so long.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from lasttick.laws.servers.asgi import Refused, Request
from lasttick.ports import Clock

Kind: TypeAlias = Literal["read", "write"]
HOLD_S_MAX = 600.0
KEPT_MAX = 10_000
"""How many entries a log keeps; the oldest go first, and are counted."""
_S = 1e9


@dataclass(slots=True)
class Effect:
    """One call that reached the resource. `seq` counts from 1; `at` and `end` are seconds on the log's monotonic clock
    (that of the machine for a served one), `end` None while it lasts. `mark` None: it came without one.
    """

    seq: int
    mark: str | None
    at: float
    end: float | None
    resource: str | None
    tool: str
    args: Mapping[str, Any]
    headers: Mapping[str, str]
    body: str
    kind: Kind

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class EffectLog:
    """Effects in the order in which they began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: deque[Effect] = deque(maxlen=KEPT_MAX)
        self._count = 0
        self._closed = asyncio.Event()

    def __iter__(self) -> Iterator[Effect]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    async def happen(self, tool: str, kind: Kind, args: Mapping[str, Any], request: Request) -> Effect:
        """Let a call happen: its effect begins now, and this returns when it has ended.

        Raises Refused for a hold that is no time to wait; then nothing has happened.
        """
        args = _plain(args)
        hold_s = _hold_s(args.get("hold_s", 0.0))
        mark, resource = args.get("mark"), args.get("resource")
        self._count += 1
        effect = Effect(
            self._count,
            mark if isinstance(mark, str) and mark else None,
            self._now_s(),
            None,
            resource if isinstance(resource, str) and resource else None,
            tool,
            args,
            request.headers,
            request.text,
            kind,
        )
        self._entries.append(effect)
        try:
            if hold_s:
                await self._sleep(hold_s)
        finally:
            effect.end = self._now_s()
        return effect

    def entries(self, after: int = 0) -> list[Effect]:
        """The kept ones with a larger `seq`."""
        first = self._count - len(self._entries)
        return list(islice(self._entries, max(0, after - first), None))

    def clear(self) -> None:
        """Forget them all. `seq` goes on counting, so that who reads only new ones misses none."""
        self._entries.clear()

    def close(self) -> None:
        """What still lasts ends now."""
        self._closed.set()

    def as_json(self, request: Request) -> dict[str, Any]:
        """The answer to `GET /effects?after=SEQ`. Raises Refused."""
        return {"effects": [effect.as_json() for effect in self.entries(after_of(request))]}

    def _now_s(self) -> float:
        return self._clock.now_ns() / _S

    async def _sleep(self, seconds: float) -> None:
        both = [asyncio.ensure_future(self._clock.sleep(seconds)), asyncio.ensure_future(self._closed.wait())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()


def _plain(args: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that any JSON reader can read: numbers that JSON has not become text."""
    return dict(json.loads(json.dumps(dict(args)), parse_constant=str))


def _hold_s(given: Any) -> float:
    """Seconds, also as text (a form has no numbers). Raises Refused."""
    try:
        hold_s = float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else -1.0
    except (ValueError, OverflowError):
        hold_s = -1.0
    if not 0 <= hold_s <= HOLD_S_MAX:
        shown = repr(given)[:60]
        raise Refused(400, f"hold_s is {shown}; expected seconds from 0 to {HOLD_S_MAX:g}; correct it")
    return hold_s


def after_of(request: Request) -> int:
    """`?after=SEQ`: only what came later is asked for. Raises Refused."""
    after = request.query.get("after", "0")
    if not (after.isascii() and after.isdigit() and len(after) <= 18):
        raise Refused(400, f"after is {after[:60]!r}; expected the seq of an entry, a whole number; correct it")
    return int(after)
