"""May this call be made, and what does it give? The ToolGatewayService behind the guard.

All that is asked is asked now, not when the run began: what was reclassified, withdrawn or switched off in between
counts (GW-08). The order of the checks is the model's. Source: contract gateway, "Parts", rulings 2, 5, 12.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from starlette.responses import Response

from lasttick.model import tool_call, tool_names, tool_registry
from lasttick.model.manifest import in_manifest
from lasttick.model.tool_call import CallFacts
from lasttick.model.trust import Admitted, Door
from lasttick.reference.gateway import documents, http_json, ledger
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.database import reason
from lasttick.reference.gateway.documents import Org, Tools
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.http_json import Refused
from lasttick.reference.gateway.in_flight import InFlight
from lasttick.reference.gateway.ledger import Attempt, Ledger
from lasttick.reference.gateway.runs import Run, Runs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One readable request. `body_org_id` is whatever JSON stood there; `org_id` is the tenant."""

    org_id: str
    body_org_id: Any
    run_id: str
    tool_name: str
    action: str
    input: dict[str, Any]


class ToolGatewayService:
    """Decides, calls the third party, and keeps the ledger."""

    def __init__(
        self, *, runs: Runs, catalogue: Catalogue, ledger: Ledger, executors: Executors, in_flight: InFlight
    ) -> None:
        self._runs = runs
        self._catalogue = catalogue
        self._ledger = ledger
        self._executors = executors
        self._in_flight = in_flight

    async def execute(self, admitted: Admitted, body: Mapping[str, Any]) -> Response:
        """200 `{"ok": true, "result"}`. Raises Refused, with a row in the ledger unless the body is not readable."""
        call = read_call(admitted, body)
        organisation, tools = self._catalogue.now(call.org_id)
        attempt = Attempt(admitted, call.run_id, call.tool_name, call.action, call.input, organisation.secrets)
        run = self._runs.find(call.run_id, call.org_id)
        refusal = tool_call.first_refusal(facts(admitted, call, run, organisation, tools))
        if refusal is not None:
            self._ledger.refused(attempt, refusal.status, refusal.code)
            raise Refused(refusal)
        return http_json.json_answer(200, {"ok": True, "result": await self._run(call, attempt, organisation, tools)})

    async def _run(self, call: ToolCall, attempt: Attempt, organisation: Org, tools: Tools) -> dict[str, Any]:
        row = self._ledger.opened(attempt)
        status, outcome = None, ledger.INTERRUPTED
        try:
            result = await self._in_flight.wait(
                self._executors.run(
                    tools.entries[call.tool_name],
                    call.tool_name,
                    call.action,
                    call.input,
                    credentials=organisation.credentials.get(call.tool_name, {}),
                    run_id=call.run_id,
                )
            )
            status, outcome = 200, ledger.OK
            return result
        except Refused as refused:
            status, outcome = refused.refusal.status, refused.refusal.code
            raise
        finally:
            self._close(row, status, outcome)

    def _close(self, row: int | None, status: int | None, outcome: str) -> None:
        """What was done is done: a row that can not be closed now is closed later, and the caller gets its result."""
        try:
            self._ledger.closed(row, status, outcome)
        except sa.exc.SQLAlchemyError as error:
            logger.error("ToolCall row %s stays open for now: %s", row, reason(error))


def read_call(admitted: Admitted, body: Mapping[str, Any]) -> ToolCall:
    """Raises Refused (400). Of `orgId` any JSON is readable: what is not the caller's own is answered as absent."""
    for name in ("runId", "toolName", "action"):
        if not isinstance(body.get(name), str):
            raise http_json.bad_request(f"`{name}` is no text", "orgId, runId, toolName, action and input")
    if not isinstance(body.get("input"), dict):
        raise http_json.bad_request("`input` is no object", "orgId, runId, toolName, action and input")
    return ToolCall(
        org_id=tenant_of(admitted, body),
        body_org_id=body.get("orgId"),
        run_id=body["runId"],
        tool_name=body["toolName"],
        action=body["action"],
        input=body["input"],
    )


def tenant_of(admitted: Admitted, body: Mapping[str, Any]) -> str:
    """The claims decide, whatever the body says (ruling 5)."""
    return admitted.claims.org_id


def door_of(admitted: Admitted) -> Door:
    """As the guard recorded it; `sub` is the token's own text (ruling 2)."""
    return admitted.door


def facts(admitted: Admitted, call: ToolCall, run: Run | None, organisation: Org, tools: Tools) -> CallFacts:
    """What the model's checks are asked on."""
    pair = tool_names.joined(call.tool_name, call.action)
    if run is None or not tool_call.run_visible(run.org_id, call.org_id, call.body_org_id):
        return CallFacts(door=door_of(admitted), run_found=False)
    return CallFacts(
        door=door_of(admitted),
        run_found=True,
        run_active=tool_call.is_active(run.state),
        in_manifest=in_manifest(run.metadata, pair),
        access=tool_registry.call_access(
            call.tool_name, call.action, organisation.bindings, call.org_id, tools.registry
        ),
        policy_allows=tool_call.policy_allows(organisation.policies, pair),
        flag_on=tool_call.flag_on(organisation.flags),
        credentials_complete=documents.credentials_complete(tools, organisation, call.tool_name),
    )
