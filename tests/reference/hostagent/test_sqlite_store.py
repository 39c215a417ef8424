"""Is the store on SQLite the same store as the one in memory, and what does a restart leave of it?"""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model import lease
from lasttick.model.lease import Granted, Holder, Refused
from lasttick.model.lease_oracle import Op, OpName, PureLeases, Reply
from lasttick.ports import LeaseStore
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore
from lasttick.reference.hostagent.start_error import StartError

TTL_NS = 60_000_000_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")
CLOUD = Holder("cloud", "assignment-1")


class HandClock:
    def __init__(self, t_ns: int = 0) -> None:
        self.t_ns = t_ns

    def now_ns(self) -> int:
        return self.t_ns

    def wall(self) -> Any:
        raise AssertionError("a lease store decides nothing on wall time")

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a lease store never waits")


@contextmanager
def memory(clock: HandClock) -> Iterator[LeaseStore]:
    yield MemoryLeaseStore(clock)


@contextmanager
def sqlite(clock: HandClock) -> Iterator[LeaseStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteLeaseStore(Path(folder) / "leases.db", clock)
        try:
            yield store
        finally:
            store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "leases.db"


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


async def reply(store: LeaseStore, op: Op) -> Reply:
    if op.name == "end_holder":
        return await store.end_holder(op.holder)
    answer: Reply = await getattr(store, op.name)(op.device_id, op.holder)
    return answer


STORE_OPS: list[OpName] = ["acquire", "begin_use", "begin_use", "end_use", "end_use", "release", "end_holder"]
HISTORIES = st.lists(
    st.tuples(
        st.builds(
            Op,
            st.sampled_from(STORE_OPS),
            st.sampled_from([ALICE, BOB, CLOUD]),
            st.sampled_from(["phone-1", "phone-2"]),
        ),
        st.sampled_from([0, 1, TTL_NS - 1, TTL_NS, TTL_NS + 1]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("made", [memory, sqlite])
@settings(max_examples=60, deadline=None)
@given(history=HISTORIES)
def test_any_history_is_that_of_the_pure_model(made: Callable[[HandClock], Any], history: list[tuple[Op, int]]) -> None:
    async def body() -> None:
        clock, model = HandClock(), PureLeases(TTL_NS)
        with made(clock) as store:
            for op, step_ns in history:
                clock.t_ns += step_ns
                model, expected = model.apply(op, clock.t_ns)
                assert await reply(store, op) == expected
                assert await store.snapshot() == model.snapshot(clock.t_ns)

    run(body())


def test_a_restart_drops_leases_and_keeps_who_ended(path: Path) -> None:
    """HA-15: the next process may run on a clock that says less, and no lease of the old one means anything there."""
    first = SqliteLeaseStore(path, HandClock(TTL_NS))
    run(first.begin_use("phone-1", ALICE))
    run(first.acquire("phone-2", CLOUD))
    run(first.end_holder(BOB))
    first.close()

    second = SqliteLeaseStore(path, HandClock(0))
    assert run(second.snapshot()) == []
    assert run(second.acquire("phone-1", CLOUD)) == Granted("phone-1", CLOUD, fresh=True)
    assert run(second.acquire("phone-2", BOB)) == Refused("phone-2", None, "ended")
    second.close()


def test_a_second_owner_is_refused_and_the_first_goes_on(path: Path) -> None:
    first = SqliteLeaseStore(path, HandClock())
    run(first.acquire("phone-1", ALICE))
    with pytest.raises(StartError, match=r"lease file .* locked; expected .* HA-23\); .*stop its other owner"):
        SqliteLeaseStore(path, HandClock())
    assert run(first.acquire("phone-1", BOB)) == Refused("phone-1", ALICE, "held")
    first.close()


def test_the_file_is_the_truth_and_its_owners_alone(path: Path) -> None:
    store = SqliteLeaseStore(path, HandClock(7))
    run(store.begin_use("phone-1", ALICE))
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT * FROM lease").fetchall() == [("phone-1", "mcp", "alice", 7, 7, 1, 1, 0)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_a_transition_that_fails_half_way_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`end_holder` writes several rows: all or none."""
    store = SqliteLeaseStore(path, HandClock())
    run(store.acquire("phone-1", ALICE))
    run(store.begin_use("phone-2", ALICE))

    def disk_full(record: lease.Lease) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(store, "_write", disk_full)
        with pytest.raises(sqlite3.OperationalError):
            run(store.end_holder(ALICE))
    assert [view.device_id for view in run(store.snapshot()) if not view.ended] == ["phone-1", "phone-2"]
    assert run(store.end_holder(ALICE)) == ["phone-1", "phone-2"]
    store.close()


def test_of_many_threads_one_wins(path: Path) -> None:
    store = SqliteLeaseStore(path, HandClock())
    start, decisions = threading.Barrier(8), []

    def ask(number: int) -> None:
        start.wait()
        decisions.append(run(store.acquire("phone-1", Holder("mcp", f"session-{number}"))))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(decision) for decision in decisions].count(Granted) == 1
    store.close()


@pytest.mark.parametrize("content", [b"this is no database, and long enough to be sure", "foreign"], ids=["text", "db"])
def test_a_file_of_somebody_else_is_left_alone(path: Path, content: bytes | str) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE lease (diary TEXT)")
        db.close()
    before = path.read_bytes()
    with pytest.raises(StartError, match=r"lease file .* cannot be used: .*; expected .*; .*stop its other owner"):
        SqliteLeaseStore(path, HandClock())
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot be used"):
        SqliteLeaseStore(tmp_path / "no" / "leases.db", HandClock())


@pytest.mark.parametrize("ttl_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ttl_that_makes_no_sense_is_refused(path: Path, ttl_s: float) -> None:
    with pytest.raises(ValueError, match=r"lease TTL is .* s\. It must be .*contract hostagent.* Pass"):
        SqliteLeaseStore(path, HandClock(), ttl_s)
    assert not path.exists()


def test_rules_are_asked_through_their_module(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a mutant of a rule breaks this store as it breaks the one in memory."""
    store = SqliteLeaseStore(path, HandClock())
    run(store.acquire("phone-1", ALICE))
    monkeypatch.setattr(lease, "held", lambda record, now_ns, ttl_ns: False)
    assert run(store.acquire("phone-1", BOB)) == Granted("phone-1", BOB, fresh=True)
    store.close()
