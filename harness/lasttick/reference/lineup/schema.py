"""How the ledger's file looks, and how it is opened. Source: contract lineup C-4.

The rest of the project reads this file too: evidence is rebuilt from a copy of it alone (LU-16).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from lasttick.reference.hostagent.start_error import StartError

SCHEMA_VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE meta (epoch INTEGER NOT NULL, host_sent INTEGER NOT NULL);
INSERT INTO meta VALUES (0, 0);
CREATE TABLE messages (
    conversation_id TEXT NOT NULL, seq INTEGER NOT NULL, dir TEXT NOT NULL, peer TEXT NOT NULL, type TEXT NOT NULL,
    body TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (conversation_id, seq)
);
CREATE TABLE tool_calls (
    call_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, source TEXT NOT NULL, tool TEXT NOT NULL,
    call TEXT NOT NULL, response_schema TEXT NOT NULL, state TEXT NOT NULL, result_status TEXT, result TEXT,
    expires_at TEXT NOT NULL, prompt_started_at TEXT, delivered_at TEXT
);
CREATE TABLE tool_audit (
    id INTEGER PRIMARY KEY, call_id TEXT, conversation_id TEXT, phase TEXT NOT NULL, disposition TEXT NOT NULL,
    reason TEXT, body TEXT NOT NULL, message_seq INTEGER, at TEXT NOT NULL
);
CREATE TABLE hermes_interactions (
    call_id TEXT PRIMARY KEY, kind TEXT NOT NULL, epoch INTEGER NOT NULL, session_id TEXT, rpc_id TEXT,
    options TEXT NOT NULL, state TEXT NOT NULL, outcome TEXT, sent_at TEXT
);
CREATE UNIQUE INDEX one_request ON hermes_interactions (epoch, rpc_id) WHERE rpc_id IS NOT NULL;
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON tool_audit BEGIN SELECT RAISE(ABORT, 'audit rows are final'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON tool_audit BEGIN SELECT RAISE(ABORT, 'audit rows are final'); END;
"""
"""`meta.host_sent`: rowid of the last message that the host link took. `rpc_id` is JSON, so that 0 is not "0".
Triggers keep audit rows as they are, whoever opens the file."""


def opened(path: Path, *, durable: bool) -> sqlite3.Connection:
    """The ledger at `path`, made when it is not there. `durable`: each commit waits for the disk. Raises StartError."""
    db: sqlite3.Connection | None = None
    try:
        # Made here, not by SQLite, which would let everybody read it; its side files take over the rights.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing that was committed, either way; a power cut could, unless each commit waits.
        db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        _migrate(db)
    except (OSError, sqlite3.Error) as error:
        if db is not None:
            db.close()
        raise StartError(
            f"the ledger {path} cannot be used: {error}",
            f"a file of this adapter's own, version {SCHEMA_VERSION} (contract lineup C-4)",
            "name another file, or move this one away if its history is not needed",
        ) from error
    return db


def _migrate(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if version != SCHEMA_VERSION:
        if (version, tables) != (0, 0):
            db.execute("ROLLBACK")
            raise sqlite3.DatabaseError(f"its user_version is {version}, with {tables} tables")
        for statement in _statements():
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _statements() -> list[str]:
    """SQLite says where one ends: a trigger has a semicolon inside."""
    found, current = [], ""
    for line in SCHEMA.strip().splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found
