"""What happened, so that a killed adapter can go on: every transition is one transaction, committed before its frame.

An adapter whose epoch is over can write nothing more, so two of them on one file do not answer for each other. Frames
to the host are rows before they are sent; what a killed adapter did not send, the next one sends.
Source: contract lineup C-4, C-8; LU-10, LU-16.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from lasttick.model.lineup import states
from lasttick.model.lineup.cards import time_text
from lasttick.model.lineup.frames import MESSAGE, TOOL_CALL
from lasttick.model.lineup.records import CallState, Card, InteractionState, Option, RpcId, Source
from lasttick.ports import Clock
from lasttick.reference.lineup.schema import opened

Step: TypeAlias = Callable[[str], None]
"""Called with the name of an instant. What it raises ends the adapter there."""
Kind: TypeAlias = Literal["exec_approval", "clarify", "slash_confirm", "update_prompt"]
Dir: TypeAlias = Literal["in", "out"]
Peer: TypeAlias = Literal["host", "agent", "gateway", "adapter"]
"""`adapter`: what it notes for its own next start."""

PROMPT: Final = "session/prompt"
PERMISSION: Final = "session/request_permission"
CANCEL_TURN: Final = "session/cancel"
UPDATE: Final = "session/update"
REFUSED: Final = "refused"
NOT_BEGUN: Final = 0
TOLD: Final = "told"
"""Of a note: the person was told what became of a turn or of a call."""


class LedgerLost(Exception):
    """Another adapter was started on this ledger: nothing more may be answered here."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """Who waits for the answer. `epoch` and `rpc_id` name one request of one agent process."""

    kind: Kind
    session_id: str | None = None
    rpc_id: RpcId | None = None
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as it stands. `result` as it was normalised; None: none, or cancelled."""

    call_id: str
    conversation_id: str
    source: Source
    schema: Mapping[str, Any]
    state: CallState
    interaction: InteractionState | None
    result_status: str | None
    result: Mapping[str, Any] | None
    outcome: str | None
    sent: bool
    prompt_started: bool
    delivered: bool

    @property
    def pair(self) -> states.Pair:
        return (self.state, self.interaction)


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message to the host that no link took yet. `row` orders them over all conversations."""

    row: int
    conversation_id: str
    type: str
    payload: Mapping[str, Any]


class Ledger:
    """One SQLite file (WAL). Read methods may be called at any time, write methods inside `writing` only.

    `durable`: what is committed also survives a power cut, for some milliseconds a commit. A killed process loses
    nothing either way.
    Raises StartError when the file is no ledger; LedgerLost from `writing` when a newer epoch has begun.
    """

    def __init__(self, path: Path, clock: Clock, *, durable: bool = False) -> None:
        self._path = path
        self._clock = clock
        self._db = opened(path, durable=durable)
        self._step: Step = _no_step
        self.epoch = NOT_BEGUN

    def on_step(self, step: Step) -> None:
        self._step = step

    def close(self) -> None:
        """Idempotent. What was begun and not committed is gone."""
        self._db.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """One transaction; `name` is that of its two steps. Rolled back by whatever is raised inside."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            there = self._epoch_there()
            if self.epoch not in (NOT_BEGUN, there):
                raise LedgerLost(
                    f"epoch {self.epoch} of {self._path} is over, {there} has begun; expected one adapter for a "
                    "ledger (contract lineup C-4); stop one of the two"
                )
            yield
            self._step(f"before commit: {name}")
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._step(f"after commit: {name}")

    def begin_epoch(self) -> None:
        """A new agent process: ids that it counts from 0 are told from those of the last one. A transaction of its own.
        Raises LedgerLost."""
        with self.writing("epoch"):
            self._db.execute("UPDATE meta SET epoch = epoch + 1")
            begun = self._epoch_there()
        self.epoch = begun

    # -- writing

    def message(self, conversation_id: str, dir_: Dir, peer: Peer, type_: str, body: Any) -> int:
        """The next message of a conversation; its sequence number."""
        last = self._one("SELECT max(seq) FROM messages WHERE conversation_id = ?", conversation_id)
        seq = (last or 0) + 1
        self._db.execute(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)",
            (conversation_id, seq, dir_, peer, type_, _json(body), self._now()),
        )
        return seq

    def audit(
        self,
        phase: Literal["call", "result"],
        disposition: Literal["accepted", "rejected"],
        reason: str | None,
        body: Any,
        *,
        call_id: str | None = None,
        conversation_id: str | None = None,
        seq: int | None = None,
    ) -> None:
        """`seq`: of the message in which it was said."""
        self._db.execute(
            "INSERT INTO tool_audit (call_id, conversation_id, phase, disposition, reason, body, message_seq, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (call_id, conversation_id, phase, disposition, reason, _json(body), seq, self._now()),
        )

    def opened_card(self, card: Card, conversation_id: str, waits: Interaction | None) -> None:
        self._db.execute(
            "INSERT INTO tool_calls VALUES (?, ?, ?, ?, ?, ?, 'emitted', NULL, NULL, ?, NULL, NULL)",
            (
                card.call_id,
                conversation_id,
                card.source,
                card.tool,
                _json(card.payload()),
                _json(card.schema),
                card.expires_at,
            ),
        )
        if waits is not None:
            options = [{"optionId": o.option_id, "name": o.name, "kind": o.kind} for o in waits.options]
            rpc_id = None if waits.rpc_id is None else json.dumps(waits.rpc_id)
            self._db.execute(
                "INSERT INTO hermes_interactions VALUES (?, ?, ?, ?, ?, ?, 'pending', NULL, NULL)",
                (card.call_id, waits.kind, self.epoch, waits.session_id, rpc_id, _json(options)),
            )

    def moved(self, call_id: str, step: states.Step, result: Mapping[str, Any] | None, outcome: str | None) -> None:
        """The card is closed. Only one that is open can be."""
        changed = self._db.execute(
            "UPDATE tool_calls SET state = ?, result_status = ?, result = ? WHERE call_id = ? AND state = 'emitted'",
            (step.call, step.result_status, None if result is None else _json(result), call_id),
        )
        if changed.rowcount != 1:
            raise ValueError(f"{call_id} is not open; expected an emitted call (contract lineup C-4); report this")
        if step.interaction is not None:
            self._db.execute(
                "UPDATE hermes_interactions SET state = ?, outcome = ? WHERE call_id = ? AND state = 'pending'",
                (step.interaction, outcome, call_id),
            )

    def answer_sent(self, call_id: str) -> None:
        self._db.execute("UPDATE hermes_interactions SET sent_at = ? WHERE call_id = ?", (self._now(), call_id))

    def prompt_started(self, call_id: str) -> None:
        self._db.execute("UPDATE tool_calls SET prompt_started_at = ? WHERE call_id = ?", (self._now(), call_id))

    def delivered(self, call_id: str) -> None:
        self._db.execute("UPDATE tool_calls SET delivered_at = ? WHERE call_id = ?", (self._now(), call_id))

    def host_took(self, row: int) -> None:
        self._db.execute("UPDATE meta SET host_sent = ?", (row,))

    # -- reading

    def call(self, call_id: str) -> CallRow | None:
        found = self._db.execute(f"{_CALLS} WHERE c.call_id = ?", (call_id,)).fetchone()
        return None if found is None else _call_row(found)

    def unfinished(self) -> list[CallRow]:
        """Calls that may be owed something, in the order in which they were made (C-8)."""
        rows = self._db.execute(
            f"{_CALLS} WHERE c.state = 'emitted' OR (c.state = 'completed' AND "
            "((c.source = 'model' AND c.delivered_at IS NULL) OR (c.source <> 'model' AND i.sent_at IS NULL))) "
            "ORDER BY c.rowid"
        )
        return [_call_row(row) for row in rows]

    def conversations(self) -> list[str]:
        return [row[0] for row in self._db.execute("SELECT DISTINCT conversation_id FROM messages ORDER BY 1")]

    def message_ids(self, conversation_id: str) -> set[str]:
        """Of the user's messages that were taken: a repeated one is known by its id, also after a restart."""
        return {body["message_id"] for _, body in self._bodies(conversation_id, "in", "host", MESSAGE)}

    def open_turns(self, conversation_id: str) -> list[int]:
        """Sequence numbers of user messages whose turn has no end, and of which nobody was told."""
        ended = {body.get("turn") for _, body in self._bodies(conversation_id, "in", "agent", PROMPT)}
        ended |= {body.get("turn") for _, body in self._bodies(conversation_id, "in", "adapter", TOLD)}
        return [seq for seq, _ in self._bodies(conversation_id, "in", "host", MESSAGE) if seq not in ended]

    def told_calls(self) -> set[str]:
        """Calls of whose doubtful delivery the person was told."""
        rows = self._db.execute("SELECT body FROM messages WHERE peer = 'adapter' AND type = ?", (TOLD,))
        return {json.loads(body).get("call_id") for (body,) in rows}

    def unsent(self) -> Unsent | None:
        """The oldest message that no host link took. A card that is closed by now is not shown any more."""
        after: int = self._one("SELECT host_sent FROM meta")
        rows = self._db.execute(
            "SELECT m.rowid, m.conversation_id, m.type, m.body FROM messages m WHERE m.rowid > ? AND m.dir = 'out' AND "
            "m.peer = 'host' ORDER BY m.rowid",
            (after,),
        )
        for row, conversation_id, type_, text in rows:
            payload = json.loads(text)
            if type_ == TOOL_CALL and not self._is_open(payload["call_id"]):
                continue
            return Unsent(row, conversation_id, type_, payload)
        return None

    def _is_open(self, call_id: str) -> bool:
        return bool(self._one("SELECT state = 'emitted' FROM tool_calls WHERE call_id = ?", call_id))

    def _bodies(self, conversation_id: str, dir_: Dir, peer: Peer, type_: str) -> list[tuple[int, Any]]:
        rows = self._db.execute(
            "SELECT seq, body FROM messages WHERE conversation_id = ? AND dir = ? AND peer = ? AND type = ? "
            "ORDER BY seq",
            (conversation_id, dir_, peer, type_),
        )
        return [(seq, json.loads(body)) for seq, body in rows]

    def _one(self, query: str, *values: Any) -> Any:
        found = self._db.execute(query, values).fetchone()
        return None if found is None else found[0]

    def _epoch_there(self) -> int:
        return cast(int, self._one("SELECT epoch FROM meta"))

    def _now(self) -> str:
        return time_text(self._clock.wall())

    def _roll_back(self) -> None:
        """Also when whoever made the step fail has closed the file, as a killed process does."""
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.ProgrammingError:
            return


_CALLS = (
    "SELECT c.call_id, c.conversation_id, c.source, c.response_schema, c.state, i.state, c.result_status, c.result, "
    "i.outcome, i.sent_at IS NOT NULL, c.prompt_started_at IS NOT NULL, c.delivered_at IS NOT NULL "
    "FROM tool_calls c LEFT JOIN hermes_interactions i USING (call_id)"
)


def _call_row(row: tuple[Any, ...]) -> CallRow:
    call_id, conversation_id, source, schema, state, interaction, status, result, outcome, sent, started, done = row
    return CallRow(
        call_id,
        conversation_id,
        source,
        json.loads(schema),
        state,
        interaction,
        status,
        None if result is None else json.loads(result),
        outcome,
        bool(sent),
        bool(started),
        bool(done),
    )


_encode: Final = json.JSONEncoder(ensure_ascii=False, default=repr).encode
"""Made once: `json.dumps` with settings makes an encoder for each call."""


def _json(value: Any) -> str:
    """As it was said, other than what no database can keep: half of a character pair."""
    text = _encode(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _no_step(_name: str) -> None:
    return None
