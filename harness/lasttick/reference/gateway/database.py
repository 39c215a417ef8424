"""Where do organisations, runs, messages and ToolCall rows live? Tables, and an engine from a URL.

SQLite by default: one connection, WAL, so that a killed process loses nothing it has told anybody. Everything is
SQLAlchemy Core in portable SQL, so a PostgreSQL URL works too. Calls are short and made inline: no thread takes part,
which a virtual clock could not see, and no other request runs inside a transaction. One platform owns its database.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import StaticPool

from lasttick.reference.gateway.config import ConfigError

SCHEMA = "1"
OPEN_BUSY_MS = 5_000
"""How long to wait for another process's lock at the start."""
BUSY_MS = 50
"""The same afterwards: nobody else is served while one transaction waits, nor heard a signal to stop."""
_ESCAPE = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


class SafeText(sa.types.TypeDecorator[str]):
    """Text of strangers in a column: any Python string goes in and comes out the same. PostgreSQL takes no NUL and
    nobody takes lone surrogates, so those, and the backslash that writes them, are escaped."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        if value is None or (value.isascii() and "\\" not in value and "\x00" not in value):
            return value
        text = value.replace("\\", "\\\\").replace("\x00", "\\0")
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def process_result_value(self, value: str | None, dialect: Any) -> str | None:
        return value if value is None or "\\" not in value else _ESCAPE.sub(_unescaped, value)


metadata = sa.MetaData()

setting = sa.Table(
    "setting",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
org = sa.Table(
    "org",
    metadata,
    sa.Column("org_id", SafeText, primary_key=True),
    sa.Column("document", sa.Text, nullable=False),
)
chat_token = sa.Table(
    "chat_token",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("org_id", SafeText, sa.ForeignKey("org.org_id"), nullable=False),
)
agent_run = sa.Table(
    "agent_run",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("id", SafeText, nullable=False, unique=True),
    sa.Column("org_id", SafeText, nullable=False, index=True),
    sa.Column("run_kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
    sa.Column("conversation_id", SafeText, nullable=False),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("finished_at", sa.Text),
)
message = sa.Table(
    "message",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("org_id", SafeText),
    sa.Column("conversation_id", SafeText, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("text", SafeText, nullable=False),
    sa.Column("run_id", SafeText, sa.ForeignKey("agent_run.id")),
    sa.Column("created_at", sa.Text, nullable=False),
)
tool_call = sa.Table(
    "tool_call",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("org_id", SafeText, nullable=False, index=True),
    sa.Column("door", sa.Text, nullable=False),
    sa.Column("sub", SafeText, nullable=False),
    sa.Column("run_id", SafeText, nullable=False),
    sa.Column("tool_name", SafeText, nullable=False),
    sa.Column("action", SafeText, nullable=False),
    sa.Column("input", SafeText, nullable=False),
    sa.Column("opened_at", sa.Text, nullable=False),
    sa.Column("closed_at", sa.Text),
    sa.Column("status", sa.Integer),
    sa.Column("outcome", sa.Text),
)


class Database:
    """The tables at a URL. `open` it before use and `close` it after; it can be opened once.

    One connection, held for good: taking it from a pool for every transaction costs more than the transaction. When its
    server went away the next transaction fails, and the one after that connects again.
    """

    def __init__(self, url: sa.URL) -> None:
        self._url = url
        self._owed: list[tuple[sa.Executable, dict[str, Any]]] = []
        self._engine: Engine | None = None
        self._connection: Connection | None = None

    def open(self) -> None:
        """Connect, and make what is missing. Raises ConfigError."""
        try:
            self._engine = engine(self._url)
            self._connection = self._engine.connect()
            with self.begin() as connection:
                metadata.create_all(connection)
                found = connection.scalar(sa.select(setting.c.value).where(setting.c.name == "schema"))
                if found is None:
                    connection.execute(setting.insert().values(name="schema", value=SCHEMA))
            if self._engine.name == "sqlite":
                with self.begin() as connection:
                    connection.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY_MS}")
        except (OSError, ImportError, sa.exc.SQLAlchemyError) as error:
            raise _unusable(self._url, reason(error)) from error
        if found not in (None, SCHEMA):
            raise _unusable(self._url, f"its schema is {found[:20]}")

    def close(self) -> None:
        """Idempotent. What is still owed is tried once more."""
        if self._connection is not None:
            if not self._connection.closed:
                with suppress(sa.exc.SQLAlchemyError):
                    self._settle(self._connection)
            self._connection.close()
        if self._engine is not None:
            self._engine.dispose()

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """One transaction. Nothing may be awaited inside."""
        if self._connection is None:
            raise RuntimeError("the database is not open; expected to be inside `async with platform.running()`")
        self._settle(self._connection)
        with self._connection.begin():
            yield self._connection

    def must(self, statement: sa.Executable, values: dict[str, Any] | None = None) -> None:
        """A statement that may not be lost, in a transaction of its own. Raises SQLAlchemyError when it can not be
        executed now: then it is owed, and nothing else is read or written before it."""
        try:
            with self.begin() as connection:
                connection.execute(statement, values or {})
        except sa.exc.SQLAlchemyError:
            self._owed.append((statement, values or {}))
            raise

    def _settle(self, connection: Connection) -> None:
        if self._owed:
            with connection.begin():
                for statement, values in self._owed:
                    connection.execute(statement, values)
            self._owed.clear()


def engine(url: sa.URL) -> Engine:
    """Parameters stay out of errors and logs: they are texts of customers, and tokens."""
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, hide_parameters=True)
    _make_private(url)
    made = sa.create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True)
    sa.event.listen(made, "connect", _set_up_sqlite)
    return made


def file_of(url: sa.URL) -> Path | None:
    """The file of a SQLite database; None for one in memory, one of SQLite's own URIs, and a server."""
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or name == ":memory:" or name.startswith("file:"):
        return None
    return Path(name)


def dumped(value: Any) -> str:
    """A JSON column's text. ASCII, so that every database takes it."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def reason(error: Exception) -> str:
    """What a database said, without SQL and parameters."""
    said = getattr(error, "orig", None) or error
    return f"{type(said).__name__}: {said}".splitlines()[0][:200]


def _set_up_sqlite(connection: Any, _: Any) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", f"busy_timeout = {OPEN_BUSY_MS}"):
        connection.execute(f"PRAGMA {pragma}")


def _make_private(url: sa.URL) -> None:
    """Made here, not by SQLite, which would let everybody read it; its side files take over the rights."""
    path = file_of(url)
    if path is None:
        return
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _unusable(url: sa.URL, why: str) -> ConfigError:
    return ConfigError(
        f"the database {url.render_as_string(hide_password=True)} cannot be used: {why}",
        f"one that this program can connect to and write, of schema {SCHEMA} or empty (contract gateway, Parts)",
        "correct DATABASE_URL or --identity-dir, install its driver, or start its server",
    )


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return code if code == "\\" else "\x00" if code == "0" else chr(int(code[1:], 16))
