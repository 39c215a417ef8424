"""What is written down before it is used, and read back after a crash."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.trace import Redactor
from lasttick.laws.gate.journal import Entry, JournalFile, journal_file, read_journal, write_journal

PLACE = "http://127.0.0.1:1/mcp"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return journal_file(tmp_path / "lasttick.toml")


def journal(path: Path, run: str = "aaaa", redact: Redactor | None = None) -> JournalFile:
    return JournalFile(path, run, PLACE, redact or Redactor())


def test_what_was_opened_and_not_closed_is_left(path: Path) -> None:
    mine = journal(path)
    first = mine.opened("session", "alice", {})
    second = mine.opened("lease", "bob", {"lease": "l1"}, "s2")
    mine.knows(first, {"chat": "c1"}, "s1")
    session = Entry("aaaa", first, "session", PLACE, "alice", {"chat": "c1"}, "s1")
    lease = Entry("aaaa", second, "lease", PLACE, "bob", {"lease": "l1"}, "s2")
    assert read_journal(path) == mine.left() == [session, lease]
    mine.closed(first)
    assert read_journal(path) == [lease]
    mine.closed(second)
    assert read_journal(path) == []


def test_it_is_on_disk_before_the_next_step(path: Path) -> None:
    """No flush and no close is needed: a process that is killed has written every line whole."""
    mine = journal(path)
    mine.opened("session", "alice", {})
    assert path.read_bytes().endswith(b"\n")


def test_only_the_user_reads_it_and_git_leaves_it_alone(path: Path) -> None:
    journal(path).opened("session", "alice", {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_journal(path, read_journal(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_name_that_holds_a_secret_is_left_out(path: Path) -> None:
    redact = Redactor()
    redact.learn("hunter2", "[PASSWORD]")
    mine = journal(path, redact=redact)
    mine.opened("lease", "alice", {"lease": "l1", "url": "http://x/?p=hunter2", "deep": {"p": ["hunter2"]}})
    assert read_journal(path)[0].names == {"lease": "l1"}
    assert "hunter2" not in path.read_text()


def test_two_processes_of_one_run_share_it(path: Path) -> None:
    one, other = journal(path, "aaaa"), journal(path, "bbbb")
    number = one.opened("session", "alice", {})
    assert other.opened("session", "bob", {}) == number
    one.closed(number)
    assert [entry.run for entry in read_journal(path)] == ["bbbb"]
    assert one.left() == []


def test_a_journal_with_nothing_open_goes(path: Path) -> None:
    journal(path).opened("session", "alice", {})
    kept = read_journal(path)
    write_journal(path, kept)
    assert read_journal(path) == kept
    write_journal(path, [])
    assert not path.exists()
    write_journal(path, [])


def test_no_file_is_nothing(path: Path) -> None:
    assert read_journal(path) == []


ENTRIES = [
    {"what": "opened", "run": "aaaa", "number": n, "kind": "session", "target": PLACE, "caller": "a", "names": {}}
    for n in range(3)
]
WHOLE = b"".join(json.dumps(line).encode() + b"\n" for line in ENTRIES)


@given(st.integers(0, len(WHOLE)), st.binary(max_size=40))
def test_a_line_that_was_cut_says_nothing(tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal"
    path.write_bytes(WHOLE[:cut] + b"\n" + noise + b"\n")
    whole = WHOLE[:cut].count(b"}\n") + WHOLE[:cut].endswith(b"}}")
    assert [entry.number for entry in read_journal(path)] == [0, 1, 2][: whole if whole < 3 else 3]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda part: st.lists(part), max_leaves=4))
def test_lines_of_another_shape_are_no_entries(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("shape") / "journal"
    lines = [value, {**ENTRIES[0], "names": value}, {**ENTRIES[0], "number": value}, {"what": "knows", "run": value}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for entry in read_journal(path):
        assert isinstance(entry.names, dict)
