"""What does the adapter's ledger say? Its rows, read from the file by a reader that cannot write.

Nothing of the adapter's code is used: only the tables and columns of contract lineup C-4. A column that holds JSON is
given decoded.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

TABLES = ("meta", "messages", "tool_calls", "tool_audit", "hermes_interactions")
JSON_COLUMNS = ("body", "call", "response_schema", "result", "options", "rpc_id")
ORDERS = {
    "messages": "rowid",
    "tool_calls": "rowid",
    "tool_audit": "id",
    "hermes_interactions": "rowid",
    "meta": "rowid",
}

Row = dict[str, Any]


class LedgerRows:
    """The ledger at `path`, as it is at each look."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, table: str, **where: Any) -> list[Row]:
        """The rows of a table, oldest first; `where`: columns and what they must hold. Raises KeyError for no table."""
        order = ORDERS[table]
        with self._opened() as db:
            found = [_decoded(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}")]
        return [row for row in found if all(row[name] == value for name, value in where.items())]

    @property
    def epoch(self) -> int:
        return int(self.rows("meta")[0]["epoch"])

    @property
    def calls(self) -> list[Row]:
        return self.rows("tool_calls")

    @property
    def interactions(self) -> list[Row]:
        return self.rows("hermes_interactions")

    def messages(self, conversation_id: str = "default") -> list[Row]:
        return self.rows("messages", conversation_id=conversation_id)

    def audit(self, call_id: str | None = None) -> list[Row]:
        """All audit rows, or those of one call."""
        return self.rows("tool_audit") if call_id is None else self.rows("tool_audit", call_id=call_id)

    def call(self, call_id: str) -> Row:
        """One call. Raises AssertionError when there is no row."""
        return _one(self.rows("tool_calls", call_id=call_id), f"tool_calls row of {call_id}")

    def interaction(self, call_id: str) -> Row:
        """Who waits for that call. Raises AssertionError when there is no row, as for a model's card."""
        return _one(self.rows("hermes_interactions", call_id=call_id), f"hermes_interactions row of {call_id}")

    def pair(self, call_id: str) -> str:
        """Both states, as `emitted/pending`; a model's card has only the first: `emitted/-`."""
        waiting = self.rows("hermes_interactions", call_id=call_id)
        return f"{self.call(call_id)['state']}/{waiting[0]['state'] if waiting else '-'}"

    def verdicts(self, call_id: str) -> list[str]:
        """What was said of a call, oldest first: `call/accepted`, `result/rejected: already resolved`."""
        return [
            f"{row['phase']}/{row['disposition']}" + ("" if row["reason"] is None else f": {row['reason']}")
            for row in self.audit(call_id)
        ]

    def copy(self, to: Path) -> LedgerRows:
        """One file with all that is committed, for a reader elsewhere."""
        with self._opened() as db, closing(sqlite3.connect(to)) as target:
            db.backup(target)
        return LedgerRows(to)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            yield db


def _decoded(row: sqlite3.Row) -> Row:
    return {name: _value(name, row[name]) for name in row.keys()}  # noqa: SIM118 (a Row iterates over its values)


def _value(name: str, value: Any) -> Any:
    return json.loads(value) if name in JSON_COLUMNS and isinstance(value, str) else value


def _one(rows: list[Row], what: str) -> Row:
    assert len(rows) == 1, f"expected one {what}, got {len(rows)}"
    return rows[0]
