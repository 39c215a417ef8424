"""Which messages does a conversation have? Texts in, answers out, each with the run that made it.

A conversation belongs to the organisation whose token opened it: the same id at another organisation is another one.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from lasttick.ports import Clock
from lasttick.reference.gateway.database import Database, agent_run, message
from lasttick.reference.gateway.runs import finishing

INBOUND = "user"
ANSWER = "assistant"


class Conversations:
    """The messages of all conversations."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def add_inbound(self, org_id: str | None, conversation_id: str, text: str) -> None:
        with self._database.begin() as connection:
            connection.execute(message.insert(), self._row(org_id, conversation_id, INBOUND, text, None))

    def add_answer(self, org_id: str | None, conversation_id: str, text: str, run_id: str | None) -> None:
        """Store the answer and end its run, both or neither: the run is over when its answer can be read."""
        with self._database.begin() as connection:
            connection.execute(message.insert(), self._row(org_id, conversation_id, ANSWER, text, run_id))
            if run_id is not None:
                connection.execute(finishing(self._clock).where(agent_run.c.id == run_id))

    def messages(self, org_id: str | None, conversation_id: str) -> list[dict[str, Any]]:
        """Oldest first: `{role, text, run_id}`."""
        found = sa.select(message.c.role, message.c.text, message.c.run_id).where(
            message.c.org_id.is_(None) if org_id is None else message.c.org_id == org_id,
            message.c.conversation_id == conversation_id,
        )
        with self._database.begin() as connection:
            return [dict(row._mapping) for row in connection.execute(found.order_by(message.c.seq))]

    def _row(
        self, org_id: str | None, conversation_id: str, role: str, text: str, run_id: str | None
    ) -> dict[str, Any]:
        return {
            "org_id": org_id,
            "conversation_id": conversation_id,
            "role": role,
            "text": text,
            "run_id": run_id,
            "created_at": self._clock.wall().isoformat(),
        }
