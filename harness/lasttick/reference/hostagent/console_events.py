"""How does the page learn that something changed? Server-sent events, one look at the host for all who watch.

One task looks while somebody watches, and not a moment longer: every half second, and at the very instant a lease runs
out, unless looking is dear. A stream keeps only the newest sight, so a slow reader costs nothing. It ends at the host's
stop, at logout and when its session is over. Source: HA-17, HA-01 (stop with open streams).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from lasttick.ports import Clock
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.console_sessions import ConsoleSessions

LOOK_NS = 500_000_000
SHORTEST_NS = 1_000_000
ALIVE_NS = 15 * 1_000_000_000
"""As often as this a stream says something, so that both ends notice a connection that is dead."""
LOOK_SHARE = 4
"""Looking at thousands of devices takes time: at least so many times as long is a pause."""
STREAMS_MAX = 32
STREAMS_PER_SESSION_MAX = 8
STOP_S = 0.2
RETRY_MS = 2_000

GONE = "gone"
EXPIRED = "expired"
STOPPING = "stopping"

logger = logging.getLogger(__name__)


class Stream:
    """One page that watches; an ASGI application, answered once."""

    def __init__(self, session: str, opened_ns: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.session = session
        self.over: str | None = None
        self.done = asyncio.Event()
        self._headers = [*headers, (b"content-type", b"text/event-stream; charset=utf-8")]
        self._wake = asyncio.Event()
        self._seen: Sight | None = None
        self._pending: Sight | None = None
        self._said_ns = opened_ns
        self._alive = False

    def offer(self, sight: Sight, now_ns: int) -> None:
        """Send this sight if it tells the page anything new; if nothing has been for long, a sign of life."""
        if self._seen is not None and sight.at_ns < self._seen.at_ns:
            return  # looked at before, told later
        if self._seen is None or is_news(self._seen, sight):
            self._seen = self._pending = sight
        elif now_ns - self._said_ns >= ALIVE_NS:
            self._alive = True
        else:
            return
        self._said_ns = now_ns
        self._wake.set()

    def end(self, why: str) -> None:
        """Say why and hang up; nothing else is sent any more."""
        if self.over is None:
            self.over = why
            self._wake.set()

    async def answer(self, receive: Any, send: Any) -> None:
        watcher = asyncio.get_running_loop().create_task(self._until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            await self._say(send, f"retry: {RETRY_MS}\n\n")
            while self.over is None:
                await self._wake.wait()
                self._wake.clear()
                for text in self._take():
                    await self._say(send, text)
            if self.over != GONE:
                await self._say(send, event("over", {"why": self.over}), more=False)
        except OSError:
            pass  # the page has left
        finally:
            watcher.cancel()
            self.done.set()

    def _take(self) -> list[str]:
        pending, self._pending = self._pending, None
        alive, self._alive = self._alive, False
        if self.over is not None:
            return []
        if pending is not None:
            return [event("board", pending.shown)]
        return [event("alive", {})] if alive else []

    async def _say(self, send: Any, text: str, *, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": text.encode("ascii"), "more_body": more})

    async def _until_gone(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end(GONE)


class Events:
    """All streams of one console. `sight` looks at the host."""

    def __init__(self, *, sight: Callable[[], Awaitable[Sight]], sessions: ConsoleSessions, clock: Clock) -> None:
        self._sight = sight
        self._sessions = sessions
        self._clock = clock
        self._streams: dict[Stream, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._failing = False

    def has_room(self, session: str) -> bool:
        """Whether one more page of this session may watch."""
        own = sum(1 for stream in self._streams if stream.session == session)
        return not self._closed and len(self._streams) < STREAMS_MAX and own < STREAMS_PER_SESSION_MAX

    async def serve(self, stream: Stream, receive: Any, send: Any) -> None:
        """Answer with this stream until it is over."""
        self._streams[stream] = None
        if self._closed:
            stream.end(STOPPING)
        elif self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look_on(), name="console events")
        try:
            # Its first sight is its own: the next common one may be half a second away.
            stream.offer(await self._sight(), self._clock.now_ns())
            await stream.answer(receive, send)
        finally:
            del self._streams[stream]
            stream.done.set()
            if not self._streams and self._task is not None:
                self._task.cancel()
                self._task = None

    def session_ended(self, session: str, why: str) -> None:
        """Whoever watches with this session sees no more."""
        for stream in list(self._streams):
            if stream.session == session:
                stream.end(why)

    async def aclose(self) -> None:
        """End every stream; who does not read the end is left to the server."""
        self._closed = True
        open_ = list(self._streams)
        for stream in open_:
            stream.end(STOPPING)
        if open_:
            waits = asyncio.gather(*(stream.done.wait() for stream in open_))
            await asyncio.wait((waits,), timeout=STOP_S)
            waits.cancel()

    async def _look_on(self) -> None:
        while True:
            began_ns = self._clock.now_ns()
            sight = await self._try_sight()
            now_ns = self._clock.now_ns()
            took_ns = now_ns - began_ns
            # Of many leases one ends during every look: that is no reason to look all the time.
            ends = [] if sight is None or sight.next_ns is None else [max(sight.next_ns, now_ns + LOOK_SHARE * took_ns)]
            for stream in list(self._streams):
                if not self._sessions.is_open(stream.session):
                    self._sessions.end(stream.session, EXPIRED)
                    stream.end(EXPIRED)
                    continue
                ends.append(self._sessions.ends_ns(stream.session))
                if sight is not None:
                    stream.offer(sight, now_ns)
            await self._clock.sleep(pause_ns(took_ns, now_ns, ends) / 1e9)

    async def _try_sight(self) -> Sight | None:
        try:
            sight = await self._sight()
        except Exception:
            # Once per outage: somebody leaves a page open for a week.
            if not self._failing:
                logger.exception("the console cannot look at the host")
            self._failing = True
            return None
        self._failing = False
        return sight


def is_news(before: Sight, now: Sight) -> bool:
    """Whether a page that knows `before` must hear of `now`."""
    return before.key != now.key


def pause_ns(took_ns: int, now_ns: int, ends_ns: Sequence[int]) -> int:
    """How long until the next look: half a second, but no longer than until something ends by itself."""
    usual = max(LOOK_NS, LOOK_SHARE * took_ns)
    return max(SHORTEST_NS, min([usual, *(end - now_ns for end in ends_ns)]))


def event(name: str, data: dict[str, Any]) -> str:
    """ASCII on one line, whatever a device is called."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=True)}\n\n"
