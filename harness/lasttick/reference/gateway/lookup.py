"""What is true about one tool call right now? Its run, its organisation and the registry, in one statement.

One, because they must be of one moment, and because asking is most of what a call costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from lasttick.reference.gateway.catalogue import REGISTRY, Catalogue
from lasttick.reference.gateway.database import Database, agent_run, org, setting
from lasttick.reference.gateway.documents import Org, Tools
from lasttick.reference.gateway.runs import Run, run_of

_ORG_ID = sa.bindparam("claims_org_id", type_=agent_run.c.org_id.type)
_ANYHOW = sa.select(sa.literal(1).label("one")).subquery()
"""One row, whether or not there is a run."""

FIND = sa.select(
    agent_run,
    sa.select(org.c.document).where(org.c.org_id == _ORG_ID).scalar_subquery().label("document"),
    sa.select(setting.c.value).where(setting.c.name == REGISTRY).scalar_subquery().label("registry"),
).select_from(
    _ANYHOW.outerjoin(agent_run, sa.and_(agent_run.c.id == sa.bindparam("run_id"), agent_run.c.org_id == _ORG_ID))
)
"""The run by id **and** the claims' org (ruling 5): somebody else's is as absent as one that never was."""


@dataclass(frozen=True, slots=True)
class Found:
    """`run` None: the organisation has no such run."""

    run: Run | None
    organisation: Org
    tools: Tools


class Lookup:
    """Asks the rows, at every call."""

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._catalogue = catalogue

    def find(self, run_id: str, org_id: str) -> Found:
        """`org_id` is the claims'."""
        with self._database.begin() as connection:
            row = connection.execute(FIND, {"run_id": run_id, "claims_org_id": org_id}).one()
        return Found(
            run=None if row.id is None else run_of(row),
            organisation=self._catalogue.org_of(org_id, row.document),
            tools=self._catalogue.tools_of(row.registry),
        )
