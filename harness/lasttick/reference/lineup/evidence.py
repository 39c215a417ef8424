"""What happened to each card, from a ledger file alone: the columns of a runtime review.

Nothing here asks the adapter, and nothing is guessed: how many bytes an agent wrote stands in no frame of an edit, so
it comes from a log of the agent's side, or is not observed. Source: contract lineup LU-16, C-11.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lasttick.model.lineup.frames import MESSAGE, TOOL_CALL
from lasttick.reference.lineup.ledger import PERMISSION

NOT_OBSERVED: Final = "not observed"


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
    `answers`: outcomes that left for the agent. `final_text`: the last text of the agent after the card. `card` None:
    its frame is not in the file, as with a row of an older adapter."""

    call_id: str
    conversation_id: str
    source: str
    request_seq: int | None
    card_seq: int | None
    card: Mapping[str, Any] | None
    audit: tuple[AuditRow, ...]
    call_state: str
    interaction_state: str | None
    outcome: str | None
    options: Mapping[str, str]
    answers: tuple[Mapping[str, Any], ...]
    answer_sent: bool
    prompt_started: bool
    delivered: bool
    final_text: str | None
    bytes_written: int | str


def copied(ledger: Path, to: Path) -> None:
    """A whole copy in one file, also of a ledger whose adapter was killed or still runs: what it committed last may
    stand beside the file and not in it."""
    with closing(sqlite3.connect(ledger)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def read_evidence(ledger: Path, bytes_written: Mapping[str, int] | None = None) -> list[CallEvidence]:
    """All cards, in the order in which they were made. `bytes_written`: call_id -> bytes, from the agent's side."""
    with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?mode=ro", uri=True)) as db:
        rows = db.execute(
            "SELECT c.call_id, c.conversation_id, c.source, c.state, i.state, i.outcome, i.options, i.epoch, i.rpc_id, "
            "i.session_id, i.sent_at IS NOT NULL, c.prompt_started_at IS NOT NULL, c.delivered_at IS NOT NULL "
            "FROM tool_calls c LEFT JOIN hermes_interactions i USING (call_id) ORDER BY c.rowid"
        ).fetchall()
        return [_evidence(db, row, bytes_written or {}) for row in rows]


def _evidence(db: sqlite3.Connection, row: tuple[Any, ...], bytes_written: Mapping[str, int]) -> CallEvidence:
    call_id, conversation_id, source, state, interaction, outcome, options, _, rpc_id, session_id, *marks = row
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
    answers = [
        body["outcome"]
        for seq, way, type_, body in said
        if (way, type_) == ("out agent", PERMISSION)
        and seq > (card_seq or 0)
        and (json.dumps(body["rpc_id"]), body["session_id"]) == (rpc_id, session_id)
    ]
    return CallEvidence(
        call_id,
        conversation_id,
        source,
        request_seq=before[-1] if before else None,
        card_seq=card_seq,
        card=card,
        audit=_audit(db, call_id),
        call_state=state,
        interaction_state=interaction,
        outcome=outcome,
        options=_options(card, options),
        answers=tuple(answers),
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


def _audit(db: sqlite3.Connection, call_id: str) -> tuple[AuditRow, ...]:
    rows = db.execute(
        "SELECT phase, disposition, reason, message_seq, body FROM tool_audit WHERE call_id = ? ORDER BY id", (call_id,)
    )
    return tuple(AuditRow(phase, what, reason, seq, json.loads(body)) for phase, what, reason, seq, body in rows)


def _is(body: Any, call_id: str) -> bool:
    return bool(body["call_id"] == call_id)


def _options(card: Mapping[str, Any] | None, options: str | None) -> dict[str, str]:
    """In the order of the card, which is the agent's."""
    if card is None or options is None or "action_group" not in card["data"]:
        return {}
    actions = [action["id"] for action in card["data"]["action_group"]["actions"]]
    return dict(zip(actions, [option["optionId"] for option in json.loads(options)], strict=False))
