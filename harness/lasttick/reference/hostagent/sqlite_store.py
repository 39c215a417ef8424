"""Could the arbiter live in a database? A `LeaseStore` whose only truth is a SQLite file, one transaction a transition.

The rules are those of `lasttick.model.lease`; each transition reads the device's row, asks them, and writes the row
back. Nothing is remembered outside the file but the holders that ended, which only ever get more.

One process at a time owns the file: it is opened in SQLite's exclusive mode and a second owner is refused, because
ages are monotonic nanoseconds of one host and mean nothing to the next process. A restart therefore drops all leases of
the process before (HA-15), while holders that ended stay refused for ever (ruling HA-6). So nobody else can write
between a transition's reading and its writing, and the transaction is that of its one statement; only `end_holder`
writes several and begins one itself. Durability is WAL with `synchronous=NORMAL`: a killed process loses nothing, a
power cut may lose the last transitions, and no lease outlives either. The file holds session ids, which are keys to
sessions: only its owner may read it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Lock

from lasttick.model import lease
from lasttick.model.lease import Answer, Decision, Granted, Holder, HolderKind, Lease, LeaseView, Refused
from lasttick.ports import Clock
from lasttick.reference.hostagent.start_error import StartError

SCHEMA_VERSION = 2
SCHEMA = f"""
CREATE TABLE lease (
    device_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    acquired_ns INTEGER NOT NULL,
    last_used_ns INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    ended INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE ended (kind TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
"""
READ = "SELECT device_id, kind, id, acquired_ns, last_used_ns, fence, uses, ended FROM lease "
Row = tuple[str, HolderKind, str, int, int, int, int, int]


class SqliteLeaseStore:
    """`ports.LeaseStore` over the file `path`, made if absent. May be called from several threads; `close` it.

    A device keeps one row at most; ids are any Unicode text. `end_holder` and `snapshot` read all rows, the other
    transitions one.
    Raises StartError when the file cannot be used, ValueError for a TTL that is not a positive, finite number.
    """

    def __init__(self, path: Path, clock: Clock, ttl_s: float = 60.0) -> None:
        self._ttl_s = lease.checked_ttl_s(ttl_s)
        self._ttl_ns = round(ttl_s * 1e9)
        self._now_ns = clock.now_ns
        self._lock = Lock()
        self._db = _opened(path)
        # One cursor for all: making one is a tenth of a transition, as is asking the file who has ended.
        self._sql = self._db.cursor().execute
        self._fence = 0  # not kept in the file: a host raises it to what its devices have seen, which decides
        self._ended = {Holder(kind, id) for kind, id in self._sql("SELECT kind, id FROM ended").fetchall()}

    def close(self) -> None:
        """Give the file to the next owner. Idempotent; transitions after it raise sqlite3.ProgrammingError."""
        with self._lock:
            self._db.close()

    @property
    def ttl_s(self) -> float:
        return self._ttl_s

    @property
    def shared(self) -> bool:
        return False

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        with self._lock:
            return self._take(device_id, holder, begins_use=False)

    async def begin_use(self, device_id: str, holder: Holder) -> Decision:
        with self._lock:
            return self._take(device_id, holder, begins_use=True)

    async def begin_own_use(self, device_id: str, holder: Holder) -> Decision:
        with self._lock:
            record = self._read(device_id)
            now_ns = self._now_ns()
            if holder not in self._ended:
                if record is None or not lease.held(record, now_ns, self._ttl_ns):
                    return Refused(device_id, None, "not_held")
                if record.holder == holder and not lease.live(record, holder, now_ns, self._ttl_ns):
                    return Refused(device_id, None, "not_held")
            return self._take(device_id, holder, begins_use=True)

    async def fence_above(self, device_id: str, seen: int) -> None:
        with self._lock:
            self._fence = max(self._fence, seen)

    async def end_use(self, device_id: str, holder: Holder) -> bool:
        with self._lock:
            now_ns = self._now_ns()
            record = self._read(device_id)
            if record is None or record.holder != holder or record.uses == 0:
                return False
            record.uses = lease.unpinned(record.uses)
            record.last_used_ns = lease.last_used_after_call_ns(record.last_used_ns, now_ns)
            if record.ended and record.uses == 0:
                self._drop(record)
            else:
                self._write(record)
            return True

    async def release(self, device_id: str, holder: Holder) -> bool:
        with self._lock:
            now_ns = self._now_ns()
            record = self._read(device_id)
            if record is None or not lease.live(record, holder, now_ns, self._ttl_ns):
                return False
            self._give_up(record)
            return True

    async def end_holder(self, holder: Holder) -> list[str]:
        with self._lock:
            if holder in self._ended:
                return []
            with self._db:
                self._sql("BEGIN IMMEDIATE")
                now_ns = self._now_ns()
                records = self._records("WHERE kind = ? AND id = ? ORDER BY device_id", holder)
                device_ids = [record.device_id for record in records if lease.held(record, now_ns, self._ttl_ns)]
                for record in records:
                    self._give_up(record)
                self._sql("INSERT INTO ended VALUES (?, ?)", holder)
            self._ended.add(holder)
            return device_ids

    async def snapshot(self) -> list[LeaseView]:
        with self._lock:
            now_ns = self._now_ns()
            return [
                LeaseView(r.device_id, r.holder, r.acquired_ns, r.last_used_ns, r.uses, r.ended)
                for r in self._records("ORDER BY device_id")
                if lease.held(r, now_ns, self._ttl_ns)
            ]

    # What follows runs inside the lock.

    def _take(self, device_id: str, holder: Holder, *, begins_use: bool) -> Decision:
        now_ns = self._now_ns()
        if holder in self._ended:
            return Refused(device_id, None, "ended")
        record = self._read(device_id)
        answer: Answer = "fresh" if record is None else lease.answer(record, holder, now_ns, self._ttl_ns)
        if answer == "held" and record is not None:
            return Refused(device_id, record.holder, "held")
        if answer == "fresh" or record is None:
            self._fence = lease.next_fence(self._fence)
            record = Lease(device_id, holder, now_ns, now_ns, self._fence)
        record.last_used_ns = now_ns
        record.ended = False
        if begins_use:
            record.uses = lease.pinned(record.uses)
        self._write(record)
        return Granted(device_id, holder, answer == "fresh", record.fence)

    def _read(self, device_id: str) -> Lease | None:
        row = self._sql(READ + "WHERE device_id = ?", (device_id,)).fetchone()
        return None if row is None else _record(row)

    def _records(self, clause: str, values: tuple[str, ...] = ()) -> list[Lease]:
        return [_record(row) for row in self._sql(READ + clause, values).fetchall()]

    def _give_up(self, record: Lease) -> None:
        if lease.goes_at_once(record):
            self._drop(record)
        else:
            record.ended = True
            self._write(record)

    def _write(self, record: Lease) -> None:
        r = record
        values = (r.device_id, r.holder.kind, r.holder.id, r.acquired_ns, r.last_used_ns, r.fence, r.uses, r.ended)
        self._sql("INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _drop(self, record: Lease) -> None:
        self._sql("DELETE FROM lease WHERE device_id = ?", (record.device_id,))


def _record(row: Row) -> Lease:
    device_id, kind, holder_id, acquired_ns, last_used_ns, fence, uses, ended = row
    return Lease(device_id, Holder(kind, holder_id), acquired_ns, last_used_ns, fence, uses, bool(ended))


def _opened(path: Path) -> sqlite3.Connection:
    """The database at `path`, ours alone, without leases. Raises StartError."""
    db: sqlite3.Connection | None = None
    try:
        # Made here, not by SQLite, which would let everybody read it; its side files take over the rights.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if version != SCHEMA_VERSION and (version, tables) != (0, 0):
            raise sqlite3.DatabaseError(f"its user_version is {version}, with {tables} tables")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        with db:
            db.execute("BEGIN IMMEDIATE")
            if version == 0:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
            db.execute("DELETE FROM lease")
    except (OSError, sqlite3.Error) as error:
        if db is not None:
            db.close()
        raise StartError(
            f"the lease file {path} cannot be used: {error}",
            f"a file of this program's own, version {SCHEMA_VERSION}, in a folder that is there, that no other process "
            "has open (contract hostagent, HA-15 and HA-23)",
            "correct the path, stop its other owner, or remove the file: leases do not outlive a restart anyway",
        ) from error
    return db
