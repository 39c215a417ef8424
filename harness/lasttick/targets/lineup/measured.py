"""What `lasttick bench lineup` measures: the ledger's write of a permission card, and the bare commits beside it.

Source: contract lineup C-4, C-8.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lasttick.engine.clock import SystemClock
from lasttick.model.lineup import cards
from lasttick.model.lineup.frames import TOOL_CALL
from lasttick.model.lineup.records import Card, Option, PermissionAsked
from lasttick.reference.lineup.agent_process import permission_body
from lasttick.reference.lineup.ledger import PERMISSION, Interaction, Ledger
from lasttick.reference.lineup.schema import opened

CONVERSATION = "default"
OPTIONS = (Option("allow_once", "Allow edit", "allow_once"), Option("deny", "Deny", "reject_once"))
TOOL_CALL_OF_AGENT: Mapping[str, Any] = {
    "kind": "edit",
    "title": "Approve edit: note.txt",
    "rawInput": {"tool": "write_file", "arguments": {"path": "note.txt", "content": "hello"}},
}

Write = Callable[[], None]
Maker = Callable[[], Write]
"""What a write needs is made outside of the time that is measured."""


def asked_and_card(number: int, clock: SystemClock) -> tuple[PermissionAsked, Card]:
    """The `number`-th question of an agent, and its card."""
    asked = PermissionAsked(number, "session", OPTIONS, TOOL_CALL_OF_AGENT, clock.now_ns())
    card = cards.permission_card(asked, f"call_{number:032x}", clock.wall())
    assert isinstance(card, Card), card
    return asked, card


@contextmanager
def card_writer(path: Path) -> Iterator[Maker]:
    """Writes one permission card, as the adapter does when the agent asks."""
    clock = SystemClock()
    ledger = Ledger(path, clock)
    ledger.begin_epoch()
    numbers = itertools.count()

    def maker() -> Write:
        asked, card = asked_and_card(next(numbers), clock)
        return lambda: write(asked, card)

    def write(asked: PermissionAsked, card: Card) -> None:
        with ledger.writing("permission card"):
            seq = ledger.message(CONVERSATION, "in", "agent", PERMISSION, permission_body(asked))
            about: dict[str, Any] = {"call_id": card.call_id, "conversation_id": CONVERSATION, "seq": seq}
            ledger.audit("call", "accepted", None, card.payload(), **about)
            ledger.opened_card(card, CONVERSATION, Interaction("exec_approval", "session", asked.rpc_id, OPTIONS))
            ledger.message(CONVERSATION, "out", "host", TOOL_CALL, card.payload())

    try:
        yield maker
    finally:
        ledger.close()


@contextmanager
def bare_writer(path: Path) -> Iterator[Maker]:
    """Commits the same five rows, made before, to the same tables."""
    clock = SystemClock()
    db = opened(path)
    numbers = itertools.count()

    def maker() -> Write:
        number = next(numbers)
        asked, card = asked_and_card(number, clock)
        body, call = json.dumps(permission_body(asked)), json.dumps(card.payload())
        at = cards.time_text(clock.wall())
        schema, options = json.dumps(card.schema), json.dumps([one.option_id for one in OPTIONS])
        rows: list[tuple[str, tuple[Any, ...]]] = [
            (MESSAGE, (CONVERSATION, 2 * number + 1, "in", "agent", PERMISSION, body, at)),
            (AUDIT, (card.call_id, CONVERSATION, call, 2 * number + 1, at)),
            (CALL, (card.call_id, CONVERSATION, card.source, card.tool, call, schema, card.expires_at)),
            (WAITS, (card.call_id, "session", str(number), options)),
            (MESSAGE, (CONVERSATION, 2 * number + 2, "out", "host", TOOL_CALL, call, at)),
        ]
        return lambda: write(rows)

    def write(rows: list[tuple[str, tuple[Any, ...]]]) -> None:
        db.execute("BEGIN IMMEDIATE")
        for statement, values in rows:
            db.execute(statement, values)
        db.execute("COMMIT")

    try:
        yield maker
    finally:
        db.close()


@contextmanager
def row_writer(path: Path) -> Iterator[Maker]:
    """Commits one short row."""
    db = opened(path)
    db.execute("CREATE TABLE one (number INTEGER PRIMARY KEY)")
    numbers = itertools.count()

    def write(number: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO one VALUES (?)", (number,))
        db.execute("COMMIT")

    def maker() -> Write:
        return partial(write, next(numbers))

    try:
        yield maker
    finally:
        db.close()


MESSAGE = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)"
AUDIT = (
    "INSERT INTO tool_audit (call_id, conversation_id, phase, disposition, body, message_seq, at) "
    "VALUES (?, ?, 'call', 'accepted', ?, ?, ?)"
)
CALL = "INSERT INTO tool_calls VALUES (?, ?, ?, ?, ?, ?, 'emitted', NULL, NULL, ?, NULL, NULL)"
WAITS = "INSERT INTO hermes_interactions VALUES (?, 'exec_approval', 1, ?, ?, ?, 'pending', NULL, NULL)"
