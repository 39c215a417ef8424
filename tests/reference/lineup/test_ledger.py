"""Is the ledger whole after anything, and can nobody change what was audited? C-4."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lineup import states
from lasttick.model.lineup.cards import permission_card
from lasttick.model.lineup.records import Card, PermissionAsked, RpcId
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.ledger import Interaction, Ledger

from .adapter_rig import ALLOW, DENY, Rig


def with_ledger(tmp_path: Path, story: Any, **options: Any) -> None:
    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite")
        ledger = Ledger(rig.path, rig.clock, **options)
        ledger.begin_epoch()
        story(rig, ledger)
        ledger.close()

    run_virtual(main)


def card(rig: Rig, call_id: str) -> Card:
    made = permission_card(PermissionAsked(0, "s", (ALLOW, DENY), {}, 0), call_id, rig.clock.wall())
    assert isinstance(made, Card)
    return made


@pytest.mark.parametrize(
    "statement", ["UPDATE tool_audit SET disposition = 'accepted'", "DELETE FROM tool_audit"], ids=["update", "delete"]
)
def test_audit_rows_are_final_for_whoever_opens_the_file(tmp_path: Path, statement: str) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        with ledger.writing("audit"):
            ledger.audit("result", "rejected", "expired", {})
        with closing(sqlite3.connect(rig.path)) as other, pytest.raises(sqlite3.IntegrityError, match="are final"):
            other.execute(statement)

    with_ledger(tmp_path, story)


@pytest.mark.parametrize(("first", "second", "clash"), [(0, 0, True), (0, "0", False), ("0", "0", True), (0, 1, False)])
def test_a_request_of_one_epoch_has_one_row(tmp_path: Path, first: RpcId, second: RpcId, clash: bool) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        def write(call_id: str, rpc_id: RpcId) -> None:
            with ledger.writing("card"):
                ledger.opened_card(card(rig, call_id), "default", Interaction("exec_approval", "s", rpc_id))

        write("a", first)
        if clash:
            with pytest.raises(sqlite3.IntegrityError):
                write("b", second)
        else:
            write("b", second)
        ledger.begin_epoch()
        write("c", first)

    with_ledger(tmp_path, story)


def test_a_transition_is_whole_or_not_there(tmp_path: Path) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        def half() -> None:
            with ledger.writing("card"):
                ledger.message("default", "in", "agent", "x", {})
                ledger.opened_card(card(rig, "a"), "default", None)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            half()
        assert ledger.call("a") is None
        assert rig.rows("SELECT * FROM messages") == []

    with_ledger(tmp_path, story)


def test_a_closed_card_is_not_closed_again(tmp_path: Path) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        with ledger.writing("card"):
            ledger.opened_card(card(rig, "a"), "default", Interaction("exec_approval", "s", 0))
            ledger.moved("a", states.TRANSITIONS["deadline"], None, "expired")
        with pytest.raises(ValueError, match="a is not open; expected an emitted call"), ledger.writing("again"):
            ledger.moved("a", states.TRANSITIONS["completed"], {"action_ids": ["action_01"]}, "allow_once")
        assert rig.pair("a")[:2] == ("expired", "expired")

    with_ledger(tmp_path, story)


def test_sequence_numbers_have_no_gaps_and_halves_of_characters_do_no_harm(tmp_path: Path) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        for conversation_id in ("a", "b", "a", "a"):
            with ledger.writing("message"):
                ledger.message(conversation_id, "in", "agent", "x", {"text": "\ud83d"})
        rows = rig.rows("SELECT conversation_id, seq FROM messages ORDER BY conversation_id, seq")
        assert rows == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]

    with_ledger(tmp_path, story)


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_only_its_owner_can_read_it_and_durable_waits_for_the_disk(tmp_path: Path, durable: bool, level: int) -> None:
    def story(rig: Rig, ledger: Ledger) -> None:
        assert ledger._db.execute("PRAGMA synchronous").fetchone() == (level,)
        assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert stat.S_IMODE(rig.path.stat().st_mode) == 0o600

    with_ledger(tmp_path, story, durable=durable)


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "CREATE TABLE other (a)"])
def test_a_file_of_another_program_or_version_is_left_alone(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)

    async def main(loop: VirtualLoop) -> None:
        with pytest.raises(StartError, match="its user_version is"):
            Ledger(path, Rig(loop, path).clock)

    run_virtual(main)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetchone() == (0,)
