"""What is the least that any lease needs? Bare counterparts of the stores, with the same calls and none of the rules.

They hold one thing per device, a holder and when it was last used, and know no pins, no ended holders, no snapshots.
Their answers are made once, so that they pay for nothing but their storage.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from lasttick.model.lease import Decision, Granted, Holder, Refused
from lasttick.ports import Clock

TTL_NS = 60_000_000_000
NOBODY = Holder("mcp", "")
YES = Granted("", NOBODY, fresh=True)
NO = Refused("", NOBODY, "held")


class BareDict:
    """A dict and a lock, called as a busy tracker is; and awaited as a lease store is."""

    def __init__(self, clock: Clock) -> None:
        self._now_ns = clock.now_ns
        self._lock = Lock()
        self._last_used: dict[str, tuple[object, int]] = {}

    def take(self, device_id: str, holder: object) -> bool:
        with self._lock:
            now_ns = self._now_ns()
            last = self._last_used.get(device_id)
            if last is not None and last[0] != holder and now_ns < last[1] + TTL_NS:
                return False
            self._last_used[device_id] = (holder, now_ns)
            return True

    def renew(self, device_id: str, holder: object) -> bool:
        with self._lock:
            now_ns = self._now_ns()
            last = self._last_used.get(device_id)
            if last is None or last[0] != holder or now_ns >= last[1] + TTL_NS:
                return False
            self._last_used[device_id] = (holder, now_ns)
            return True

    def give(self, device_id: str, holder: object) -> bool:
        with self._lock:
            last = self._last_used.get(device_id)
            if last is None or last[0] != holder:
                return False
            del self._last_used[device_id]
            return True

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        return YES if self.take(device_id, holder) else NO

    async def release(self, device_id: str, holder: Holder) -> bool:
        return self.give(device_id, holder)


class BareRow:
    """One row of SQLite in WAL with `synchronous=NORMAL`, as the store has it; each transition is one statement."""

    TAKE = """
        INSERT INTO lease VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (device_id) DO UPDATE
        SET kind = excluded.kind, id = excluded.id, last_used_ns = excluded.last_used_ns
        WHERE (kind = excluded.kind AND id = excluded.id) OR last_used_ns + 60000000000 <= excluded.last_used_ns
    """
    GIVE = "DELETE FROM lease WHERE device_id = ? AND kind = ? AND id = ?"

    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        self._sql = db.cursor().execute
        self._now_ns = clock.now_ns
        self._lock = Lock()

    @classmethod
    @contextmanager
    def opened(cls, path: Path, clock: Clock) -> Iterator[BareRow]:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(
                "CREATE TABLE lease (device_id TEXT PRIMARY KEY, kind TEXT, id TEXT, last_used_ns INTEGER) "
                "WITHOUT ROWID"
            )
            yield cls(db, clock)
        finally:
            db.close()

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        with self._lock:
            taken = self._sql(self.TAKE, (device_id, holder.kind, holder.id, self._now_ns())).rowcount
            return YES if taken else NO

    async def release(self, device_id: str, holder: Holder) -> bool:
        with self._lock:
            return bool(self._sql(self.GIVE, (device_id, holder.kind, holder.id)).rowcount)


class BareLine:
    """First in, first out by hand: a dict of deques of futures, in one event loop. The floor of the fair line."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    async def wait_until_usable(self, device_id: str, session_id: str, *, timeout: float) -> bool:
        line = self._lines.get(device_id)
        if line is None:
            self._lines[device_id] = deque()
            return True
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        await turn
        return True

    def release_device(self, device_id: str, session_id: str) -> bool:
        line = self._lines[device_id]
        if line:
            line.popleft().set_result(None)
        else:
            del self._lines[device_id]
        return True
