"""Who tried to call which tool, and what came of it? One ToolCall row for each attempt that a door admitted (GW-09).

The row is there before the executor starts and closed when it ends, so that an effect without a row is impossible, and
a row without an end says that nobody knows. Its organisation is the caller's claims'. No secret is ever in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from lasttick.model.trust import Admitted
from lasttick.ports import Clock
from lasttick.reference.gateway.database import Database, tool_call
from lasttick.reference.gateway.redaction import Redactor

OK = "OK"
INTERRUPTED = "INTERRUPTED"
"""The platform was stopped, or killed, while the executor ran."""
NAME_MAX = 200
INPUT_MAX = 2_000
PAGE_MAX = 10_000
REDACTORS_MAX = 256


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an admitted caller asked for. `secrets` are the organisation's, none of which may be in the row."""

    admitted: Admitted
    run_id: str
    tool_name: str
    action: str
    input: Mapping[str, Any]
    secrets: tuple[str, ...] = field(default=(), repr=False)


class Ledger:
    """The ToolCall rows. `secrets` are the platform's own. `write` False writes none."""

    def __init__(self, database: Database, clock: Clock, secrets: Sequence[str], *, write: bool = True) -> None:
        self._database = database
        self._clock = clock
        self._secrets = tuple(secrets)
        self._write = write
        self._redactors: dict[tuple[str, ...], Redactor] = {}

    def refused(self, attempt: Attempt, status: int, outcome: str) -> None:
        """An attempt that no executor saw."""
        now = self._now()
        self._insert(attempt, {"opened_at": now, "closed_at": now, "status": status, "outcome": outcome})

    def opened(self, attempt: Attempt) -> int | None:
        """Before the executor. What is returned is for `closed`."""
        return self._insert(attempt, {"opened_at": self._now(), "closed_at": None, "status": None, "outcome": None})

    def closed(self, seq: int | None, status: int | None, outcome: str) -> None:
        """After the executor, however it ended. Raises SQLAlchemyError, and is owed then."""
        if seq is not None:
            self._database.must(_CLOSE, {"row": seq, "closed": self._now(), "http": status, "came_of_it": outcome})

    def close_left_over(self) -> int:
        """Close what an earlier platform on this database left open; how many there were. An open row is a call that
        goes on, and none outlives its platform."""
        with self._database.begin() as connection:
            return connection.execute(_CLOSE_ALL, {"closed": self._now(), "came_of_it": INTERRUPTED}).rowcount

    def rows(self, org_id: str, after: int = 0) -> list[dict[str, Any]]:
        """An organisation's rows with a larger `seq`, oldest first, 10,000 at most."""
        wanted = sa.select(tool_call).where(tool_call.c.org_id == org_id, tool_call.c.seq > after)
        with self._database.begin() as connection:
            found = connection.execute(wanted.order_by(tool_call.c.seq).limit(PAGE_MAX))
            return [dict(row._mapping) for row in found]

    def _insert(self, attempt: Attempt, rest: dict[str, Any]) -> int | None:
        if not self._write:
            return None
        row = {**self._row(attempt), **rest}
        with self._database.begin() as connection:
            made = connection.execute(_INSERT, row).inserted_primary_key
            return None if made is None else int(made[0])

    def _row(self, attempt: Attempt) -> dict[str, Any]:
        redactor = self._redactor(attempt.secrets)
        return {
            "org_id": org_of(attempt),
            "door": attempt.admitted.door,
            "sub": redactor.text(attempt.admitted.claims.sub)[:NAME_MAX],
            "run_id": redactor.text(attempt.run_id)[:NAME_MAX],
            "tool_name": redactor.text(attempt.tool_name)[:NAME_MAX],
            "action": redactor.text(attempt.action)[:NAME_MAX],
            "input": redactor.json(attempt.input)[:INPUT_MAX],
        }

    def _redactor(self, secrets: tuple[str, ...]) -> Redactor:
        if secrets not in self._redactors:
            if len(self._redactors) >= REDACTORS_MAX:
                self._redactors.clear()
            self._redactors[secrets] = Redactor((*self._secrets, *secrets))
        return self._redactors[secrets]

    def _now(self) -> str:
        return self._clock.wall().isoformat()


_INSERT = tool_call.insert()
_CLOSE = (
    tool_call.update()
    .where(tool_call.c.seq == sa.bindparam("row"))
    .values(closed_at=sa.bindparam("closed"), status=sa.bindparam("http"), outcome=sa.bindparam("came_of_it"))
)
_CLOSE_ALL = (
    tool_call.update()
    .where(tool_call.c.closed_at.is_(None))
    .values(closed_at=sa.bindparam("closed"), outcome=sa.bindparam("came_of_it"))
)


def org_of(attempt: Attempt) -> str:
    """Whose ledger an attempt is in: the caller's, never that of the run it named (ruling 5)."""
    return attempt.admitted.claims.org_id
