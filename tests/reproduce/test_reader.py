"""What is a ledger that cannot be read, and what does reading leave behind?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lasttick.reproduce.reader import NoLedger, read_evidence, read_refusals, read_said


@pytest.mark.parametrize("content", [None, b"", b"text, no database", b"SQLite format 3\0" + b"\0" * 100])
def test_what_is_no_ledger_is_one_message(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ledger.sqlite"
    if content is not None:
        path.write_bytes(content)
    for read in (read_evidence, read_refusals, read_said):
        with pytest.raises(NoLedger, match=r"cannot be read: .*\n  expected: .*C-4.*\n  next: name the copy"):
            read(path)
    assert [one.name for one in tmp_path.iterdir()] == ([] if content is None else [path.name])


def test_a_ledger_whose_rows_are_broken_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE messages (conversation_id, seq, dir, peer, type, body, at)")
        db.execute("INSERT INTO messages VALUES ('default', 1, 'out', 'host', 'lineup.v1.message', '{', '')")
        db.commit()
    with pytest.raises(NoLedger):
        read_said(path)
