"""Which runs are there, whose, and are they still active? A run's manifest is valid only while it is (ruling 12).

A run is active from `create_run` until its turn's answer is stored, or its turn failed. No turn survives its platform:
what an earlier process left active is ended at the start of the next.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from lasttick.model.tool_call import ACTIVE, FINISHED
from lasttick.ports import Clock, Entropy
from lasttick.reference.gateway.database import Database, agent_run, dumped

RUN_KIND = "conversation_draft"

_FIND = sa.select(agent_run).where(
    agent_run.c.id == sa.bindparam("run_id"), agent_run.c.org_id == sa.bindparam("claims_org_id")
)


@dataclass(frozen=True, slots=True)
class Run:
    """An AgentRun row."""

    id: str
    org_id: str
    run_kind: str
    state: str
    conversation_id: str
    metadata: Mapping[str, Any] = field(hash=False)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "orgId": self.org_id,
            "runKind": self.run_kind,
            "state": self.state,
            "conversationId": self.conversation_id,
            "metadata": dict(self.metadata),
        }


class Runs:
    """The run lifecycle."""

    def __init__(self, database: Database, *, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._clock = clock
        self._entropy = entropy

    def create_run(self, org_id: str, conversation_id: str, metadata: Mapping[str, Any]) -> Run:
        """Store a new, active run."""
        run = Run(new_id(self._entropy), org_id, RUN_KIND, ACTIVE, conversation_id, metadata)
        with self._database.begin() as connection:
            connection.execute(
                agent_run.insert(),
                {
                    "id": run.id,
                    "org_id": run.org_id,
                    "run_kind": run.run_kind,
                    "state": run.state,
                    "conversation_id": run.conversation_id,
                    "metadata": dumped(run.metadata),
                    "created_at": self._clock.wall().isoformat(),
                },
            )
        return run

    def find(self, run_id: str, org_id: str) -> Run | None:
        """By id **and** the claims' org (ruling 5): somebody else's run is as absent as one that never was."""
        with self._database.begin() as connection:
            row = connection.execute(_FIND, {"run_id": run_id, "claims_org_id": org_id}).first()
        return None if row is None else _run(row)

    def by_id(self, run_id: str) -> Run | None:
        """For the operator, who may see every organisation's."""
        with self._database.begin() as connection:
            row = connection.execute(sa.select(agent_run).where(agent_run.c.id == run_id)).first()
        return None if row is None else _run(row)

    def of_org(self, org_id: str) -> list[Run]:
        """An organisation's runs, oldest first."""
        oldest_first = sa.select(agent_run).where(agent_run.c.org_id == org_id).order_by(agent_run.c.seq)
        with self._database.begin() as connection:
            return [_run(row) for row in connection.execute(oldest_first)]

    def finish(self, run_id: str) -> None:
        """From here on no call of this run is executed, not even when the database does not take it now (ruling 12).
        Idempotent. Raises SQLAlchemyError."""
        self._database.must(finishing(self._clock).where(agent_run.c.id == run_id))

    def finish_left_over(self) -> int:
        """End what an earlier platform on this database left active; how many there were."""
        with self._database.begin() as connection:
            return connection.execute(finishing(self._clock)).rowcount

    def set_allowed_tools(self, run: Run, allowed_tools: Sequence[str]) -> None:
        """Replace a run's manifest; an empty one is none, as at `create_run`."""
        kept = {name: value for name, value in run.metadata.items() if name != "runtimeManifest"}
        if allowed_tools:
            kept["runtimeManifest"] = {"allowedTools": list(allowed_tools)}
        with self._database.begin() as connection:
            connection.execute(agent_run.update().where(agent_run.c.id == run.id).values(metadata=dumped(kept)))


def finishing(clock: Clock) -> sa.Update:
    """The statement that ends active runs; to be narrowed."""
    ended = {"state": FINISHED, "finished_at": clock.wall().isoformat()}
    return agent_run.update().where(agent_run.c.state == ACTIVE).values(ended)


def new_id(entropy: Entropy) -> str:
    """A version 4 UUID: 122 random bits."""
    return str(uuid.UUID(bytes=entropy.token_bytes(16), version=4))


def _run(row: Any) -> Run:
    return Run(row.id, row.org_id, row.run_kind, row.state, row.conversation_id, _metadata(row.metadata))


def _metadata(text: str) -> Mapping[str, Any]:
    """A row that somebody spoilt allows nothing."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
