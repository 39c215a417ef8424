"""What happened to each card, from a ledger file alone: the columns of a runtime review.

Nothing here asks the adapter, none of its code is used, and nothing is guessed: how many bytes an agent wrote stands in
no frame of an edit, so it comes from a log of the model's side, or is not observed. Source: contract lineup C-4, LU-16.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lasttick.model.lineup.frames import MESSAGE, TOOL_CALL

NOT_OBSERVED: Final = "not observed"
PERMISSION: Final = "session/request_permission"
PROMPT: Final = "session/prompt"


@dataclass(frozen=True, slots=True)
class Edit:
    """What an agent asked to write."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class AuditRow:
    """`body` of a result is the payload as the host sent it."""

    phase: str
    disposition: str
    reason: str | None
    message_seq: int | None
    body: Any


@dataclass(frozen=True, slots=True)
class CallEvidence:
    """One card. Sequence numbers are those of its conversation. `options`: action id -> the agent's option id.
    `edit`: what the agent asked for, if that was one file. `answers`: outcomes that left for the agent;
    `result_prompts`: how often the answer was given to the model. `final_text`: the last text of the agent after the
    card. `mode`: of a choice, by the row's schema. `card` None: its frame is not in the file."""

    call_id: str
    conversation_id: str
    source: str
    request_seq: int | None
    card_seq: int | None
    card: Mapping[str, Any] | None
    audit: tuple[AuditRow, ...]
    mode: str | None
    call_state: str
    interaction_state: str | None
    outcome: str | None
    options: Mapping[str, str]
    edit: Edit | None
    answers: tuple[Mapping[str, Any], ...]
    result_prompts: int
    answer_sent: bool
    prompt_started: bool
    delivered: bool
    final_text: str | None
    bytes_written: int | str


@dataclass(frozen=True, slots=True)
class Said:
    """A text that the person was to see."""

    conversation_id: str
    seq: int
    role: str
    text: str


def read_evidence(ledger: Path, bytes_written: Mapping[str, int] | None = None) -> list[CallEvidence]:
    """All cards, in the order in which they were made. `bytes_written`: call_id -> bytes, from the model's side.

    Raises NoLedger.
    """
    with _opened(ledger) as db:
        rows = db.execute(
            "SELECT c.call_id, c.conversation_id, c.source, c.state, i.state, i.outcome, i.options, i.epoch, i.rpc_id, "
            "i.session_id, i.sent_at IS NOT NULL, c.prompt_started_at IS NOT NULL, c.delivered_at IS NOT NULL, "
            "c.response_schema "
            "FROM tool_calls c LEFT JOIN hermes_interactions i USING (call_id) ORDER BY c.rowid"
        ).fetchall()
        return [_evidence(db, row, bytes_written or {}) for row in rows]


def read_refusals(ledger: Path) -> list[AuditRow]:
    """Of cards that were not shown: they have an audit row and no other. Raises NoLedger."""
    with _opened(ledger) as db:
        rows = db.execute(f"{_AUDIT} WHERE phase = 'call' AND disposition = 'rejected' ORDER BY id")
        return [_audit_row(row) for row in rows]


def read_said(ledger: Path) -> list[Said]:
    """Every text for a person, in the order in which they were said. Raises NoLedger."""
    with _opened(ledger) as db:
        rows = db.execute(
            "SELECT conversation_id, seq, body FROM messages WHERE dir = 'out' AND peer = 'host' AND type = ? "
            "ORDER BY rowid",
            (MESSAGE,),
        )
        found = [(conversation_id, seq, json.loads(body)) for conversation_id, seq, body in rows]
    return [Said(conversation_id, seq, body["role"], body["text"]) for conversation_id, seq, body in found]


class NoLedger(Exception):
    """The file cannot be read as a ledger. The message has three parts."""

    exit_code = 2


@contextmanager
def _opened(ledger: Path) -> Iterator[sqlite3.Connection]:
    """A reader that cannot write, and that leaves nothing beside a copy."""
    beside = ledger.with_name(f"{ledger.name}-wal")
    alone = "" if beside.exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro{alone}", uri=True)) as db:
            yield db
    except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
        raise NoLedger(
            f"{ledger} cannot be read: {error}\n  expected: a ledger of the permission-card adapter, whole, as "
            "SQLite's backup copies it (contract lineup C-4)\n  next: name the copy of a ledger file"
        ) from error


def _evidence(db: sqlite3.Connection, row: tuple[Any, ...], bytes_written: Mapping[str, int]) -> CallEvidence:
    call_id, conversation_id, source, state, interaction, outcome, options, _, rpc_id, session_id, *marks, schema = row
    said = _messages(db, conversation_id)
    card_seq, card = next(
        (
            (seq, body)
            for seq, way, type_, body in said
            if (way, type_) == ("out host", TOOL_CALL) and _is(body, call_id)
        ),
        (None, None),
    )
    before = [seq for seq, way, type_, _ in said if (way, type_) == ("in host", MESSAGE) and seq < (card_seq or 0)]
    texts = [
        body["text"]
        for seq, way, type_, body in said
        if (way, type_) == ("out host", MESSAGE) and body["role"] == "agent" and seq > (card_seq or 0)
    ]
    mine = [
        (way, body)
        for _, way, type_, body in said
        if type_ == PERMISSION and (json.dumps(body["rpc_id"]), body["session_id"]) == (rpc_id, session_id)
    ]
    asked = next((body for way, body in mine if way == "in agent"), None)
    told = [
        body for _, way, type_, body in said if (way, type_) == ("out agent", PROMPT) and body.get("call_id") == call_id
    ]
    return CallEvidence(
        call_id,
        conversation_id,
        source,
        request_seq=before[-1] if before else None,
        card_seq=card_seq,
        card=card,
        audit=_audit(db, call_id),
        mode=json.loads(schema).get("mode"),
        call_state=state,
        interaction_state=interaction,
        outcome=outcome,
        options=_options(card, options),
        edit=None if asked is None else _edit(asked["tool_call"]),
        answers=tuple(body["outcome"] for way, body in mine if way == "out agent"),
        result_prompts=len(told),
        answer_sent=bool(marks[0]),
        prompt_started=bool(marks[1]),
        delivered=bool(marks[2]),
        final_text=texts[-1] if texts else None,
        bytes_written=bytes_written.get(call_id, NOT_OBSERVED),
    )


def _messages(db: sqlite3.Connection, conversation_id: str) -> list[tuple[int, str, str, Any]]:
    """(seq, direction and peer, type, body)"""
    rows = db.execute(
        "SELECT seq, dir || ' ' || peer, type, body FROM messages WHERE conversation_id = ? ORDER BY seq",
        (conversation_id,),
    )
    return [(seq, way, type_, json.loads(body)) for seq, way, type_, body in rows]


_AUDIT: Final = "SELECT phase, disposition, reason, message_seq, body FROM tool_audit"


def _audit(db: sqlite3.Connection, call_id: str) -> tuple[AuditRow, ...]:
    return tuple(_audit_row(row) for row in db.execute(f"{_AUDIT} WHERE call_id = ? ORDER BY id", (call_id,)))


def _audit_row(row: tuple[Any, ...]) -> AuditRow:
    phase, disposition, reason, seq, body = row
    return AuditRow(phase, disposition, reason, seq, json.loads(body))


def _edit(tool_call: Mapping[str, Any]) -> Edit | None:
    """Of a request whose content is the diff of one file."""
    content = tool_call.get("content")
    diffs = [one for one in content if one.get("type") == "diff"] if isinstance(content, list) else []
    return Edit(str(diffs[0].get("path")), str(diffs[0].get("newText"))) if len(diffs) == 1 else None


def _is(body: Any, call_id: str) -> bool:
    return bool(body["call_id"] == call_id)


def _options(card: Mapping[str, Any] | None, options: str | None) -> dict[str, str]:
    """In the order of the card, which is the agent's."""
    if card is None or options is None or "action_group" not in card["data"]:
        return {}
    actions = [action["id"] for action in card["data"]["action_group"]["actions"]]
    return dict(zip(actions, [option["optionId"] for option in json.loads(options)], strict=False))
