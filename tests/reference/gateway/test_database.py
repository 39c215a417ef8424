"""The tables: any text in and out, private files, SQL that PostgreSQL takes, and databases that can not be used."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql

from lasttick.engine.chance import Chance
from lasttick.engine.clock import SystemClock
from lasttick.model.trust import Admitted, Claims
from lasttick.reference.gateway import database
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.config import ConfigError, GatewayConfig
from lasttick.reference.gateway.conversations import Conversations
from lasttick.reference.gateway.database import Database, SafeText
from lasttick.reference.gateway.documents import Org
from lasttick.reference.gateway.ledger import Attempt, Ledger
from lasttick.reference.gateway.runs import Runs

POSTGRES = "LASTTICK_TEST_POSTGRES_URL"
HOSTILE = "\x00\\0 \\ud800 \ud800 \U0010ffff ü'; DROP TABLE org; --"


def opened(url: sa.URL | str) -> Database:
    made = Database(sa.make_url(url))
    made.open()
    return made


def pragma(db: Database, name: str) -> Any:
    with db.begin() as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@given(st.text(st.characters(codec=None) | st.sampled_from("\\0ud8\x00\ud800")))  # type: ignore[arg-type]
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    column = SafeText()
    stored = column.process_bind_param(text, None)
    assert stored is not None
    assert "\x00" not in stored
    stored.encode("utf-8")
    assert column.process_result_value(stored, None) == text


@given(st.lists(st.text(st.sampled_from("\\0u\x00\ud8008d")), min_size=2, max_size=2, unique=True))
def test_two_texts_are_never_stored_as_one(texts: list[str]) -> None:
    column = SafeText()
    assert column.process_bind_param(texts[0], None) != column.process_bind_param(texts[1], None)


def exercise(db: Database) -> None:
    """Every statement of the platform, once, with hostile texts."""
    clock, runs = SystemClock(), Runs(db, clock=SystemClock(), entropy=Chance(1))
    catalogue, conversations = Catalogue(db), Conversations(db, clock)
    ledger = Ledger(db, clock, ["a-secret-of-ours"])
    catalogue.load()
    document = {"chat_tokens": ["t-1", "t-2"], "flags": {HOSTILE: HOSTILE}}
    for _ in range(2):
        catalogue.put_org(HOSTILE, document)
    assert catalogue.document(HOSTILE) == document
    assert catalogue.org_of_token("t-2") == HOSTILE
    assert catalogue.now(HOSTILE)[0].flags == {HOSTILE: HOSTILE}
    assert catalogue.now("other") == (Org("other"), catalogue.tools())
    catalogue.put_org(HOSTILE, {})
    assert catalogue.org_of_token("t-2") is None
    run = runs.create_run(HOSTILE, HOSTILE, {"channel": HOSTILE})
    assert runs.find(run.id, HOSTILE) == runs.by_id(run.id) == run
    assert runs.find(run.id, "org-a") is None
    assert runs.find(HOSTILE, HOSTILE) is None
    runs.set_allowed_tools(run, [HOSTILE])
    assert runs.of_org(HOSTILE)[0].metadata["runtimeManifest"] == {"allowedTools": [HOSTILE]}
    conversations.add_inbound(HOSTILE, HOSTILE, HOSTILE)
    conversations.add_inbound(None, HOSTILE, HOSTILE)
    conversations.add_answer(HOSTILE, HOSTILE, "fine", run.id)
    assert [row["text"] for row in conversations.messages(HOSTILE, HOSTILE)] == [HOSTILE, "fine"]
    assert len(conversations.messages(None, HOSTILE)) == 1
    assert runs.by_id(run.id).state == "finished"  # type: ignore[union-attr]
    runs.create_run(HOSTILE, "c", {})
    assert runs.finish_left_over() == 1
    attempt = Attempt(Admitted("runner", Claims(HOSTILE, HOSTILE, "runner", "runner")), HOSTILE, HOSTILE, HOSTILE, {})
    row = ledger.opened(attempt)
    ledger.closed(row, 200, "OK")
    ledger.refused(attempt, 403, "X")
    assert [(found["tool_name"], found["outcome"]) for found in ledger.rows(HOSTILE)] == [
        (HOSTILE, "OK"),
        (HOSTILE, "X"),
    ]
    assert [found["outcome"] for found in ledger.rows(HOSTILE, after=row or 0)] == ["X"]


def test_everything_on_sqlite(tmp_path: Path) -> None:
    db = opened(f"sqlite:///{tmp_path}/deep/er/gateway.sqlite")
    exercise(db)
    assert pragma(db, "journal_mode") == "wal"
    assert (pragma(db, "foreign_keys"), pragma(db, "synchronous"), pragma(db, "busy_timeout")) == (1, 1, 50)
    db.close()
    db.close()


def test_everything_on_postgresql() -> None:
    url = os.environ.get(POSTGRES)
    if not url:
        pytest.skip(f"no PostgreSQL server: {POSTGRES} is not set")
    db = opened(url)
    try:
        exercise(db)
    finally:
        database.metadata.drop_all(db._engine)
        db.close()


def test_the_tables_are_postgresqls_too() -> None:
    for table in database.metadata.sorted_tables:
        text = str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))
        assert not re.search(r"DATETIME|BLOB|JSON", text)


def test_rows_survive_their_process(tmp_path: Path) -> None:
    """Killed right after it said so, a platform has lost nothing."""
    path = tmp_path / "gateway.sqlite"
    program = f"""
import os, signal, sqlalchemy as sa
from lasttick.reference.gateway.database import Database, setting
db = Database(sa.make_url("sqlite:///{path}"))
db.open()
with db.begin() as connection:
    connection.execute(setting.insert().values(name="told", value="yes"))
print("told", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("told\n", -9), done.stderr
    with opened(f"sqlite:///{path}").begin() as connection:
        told = sa.select(database.setting.c.value).where(database.setting.c.name == "told")
        assert connection.scalar(told) == "yes"


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    db = opened(f"sqlite:///{tmp_path}/gateway.sqlite")
    with pytest.raises(RuntimeError), db.begin() as connection:  # noqa: PT012
        connection.execute(database.setting.insert().values(name="half", value=""))
        raise RuntimeError
    with db.begin() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(database.setting)) == 1


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Somebody else writes to the file, and does not come to an end."""
    with closing(sqlite3.connect(folder / "gateway.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_many_who_meet_a_locked_file_are_all_answered_before_a_stop_is_due(tmp_path: Path) -> None:
    """64 callers at once, whom one loop serves one after the other: SIGTERM has 5 s."""
    db = opened(f"sqlite:///{tmp_path}/gateway.sqlite")
    began_ns = time.monotonic_ns()
    with locked(tmp_path):
        for _ in range(64):
            with pytest.raises(sa.exc.OperationalError, match="locked"), db.begin() as connection:
                connection.execute(database.setting.insert().values(name="x", value=""))
    assert time.monotonic_ns() - began_ns < 5e9
    db.close()


def test_what_is_owed_comes_before_everything_else(tmp_path: Path) -> None:
    """A statement that may not be lost meets a locked file: nobody reads what it would have changed, and it is executed
    as soon as that can be; at the latest when the database is closed."""
    for again in (True, False):
        db = opened(f"sqlite:///{tmp_path}/gateway.sqlite")
        with locked(tmp_path):
            with pytest.raises(sa.exc.OperationalError, match="locked"):
                db.must(database.setting.insert().values(name=f"owed {again}", value=""))
            with pytest.raises(sa.exc.OperationalError, match="locked"):
                _names(db)
        if again:
            assert "owed True" in _names(db)
            assert "owed True" in _names(db)
        db.close()
    assert "owed False" in _names(opened(f"sqlite:///{tmp_path}/gateway.sqlite"))


def _names(db: Database) -> list[str]:
    with db.begin() as connection:
        return list(connection.scalars(sa.select(database.setting.c.name)))


def test_files_are_their_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "identity" / "gateway.sqlite"
    db = opened(f"sqlite:///{path}")
    exercise(db)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    db.close()


def test_memory_needs_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite://", "sqlite:///:memory:"):
        exercise(opened(url))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////proc/nowhere/gateway.sqlite",
        "sqlite:///{tmp}",
        "sqlite:///{tmp}/no-database",
        "sqlite:///{tmp}/other-schema",
        "nosuch://user:canary-pw@host/name",
        "oracle://user:canary-pw@host/name",
    ],
)
def test_a_database_that_can_not_be_used(url: str, tmp_path: Path) -> None:
    (tmp_path / "no-database").write_text("this is no database, but a text that is long enough to be looked at " * 9)
    other = opened(f"sqlite:///{tmp_path}/other-schema")
    with other.begin() as connection:
        connection.execute(database.setting.update().values(value="99"))
    other.close()
    with pytest.raises(ConfigError, match=r"cannot be used: .*; expected .* \(contract gateway.*\); .*") as raised:
        opened(url.format(tmp=tmp_path))
    assert "canary-pw" not in str(raised.value)


def test_before_it_is_open() -> None:
    with pytest.raises(RuntimeError, match="not open"), Database(sa.make_url("sqlite://")).begin():
        pass


def test_the_default_is_a_file_in_the_identity_folder(tmp_path: Path) -> None:
    url = GatewayConfig(identity_dir=tmp_path / "a?b#c %41").store_url
    db = opened(url)
    exercise(db)
    assert (tmp_path / "a?b#c %41" / "gateway.sqlite").is_file()
    db.close()


def test_errors_hold_no_parameters() -> None:
    db = opened("sqlite://")
    with pytest.raises(sa.exc.IntegrityError) as raised, db.begin() as connection:
        connection.execute(database.setting.insert(), [{"name": "x", "value": "canary"}] * 2)
    assert "canary" not in str(raised.value)
    assert database.reason(raised.value) == "IntegrityError: UNIQUE constraint failed: setting.name"
