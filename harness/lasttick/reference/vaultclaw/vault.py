"""How does one tool call reach the vault? The seventeen calls of its HTTP API, each by its name.

A `Vault` belongs to one tool call and to the session that call began with: a session that is changed or cleared in the
meantime changes nothing for it (VC-20). Nothing is retried here. Every failure is a `ToolFailure`, mapped as contract
vaultclaw 9 says. Source: contract vaultclaw 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from lasttick.model.vaultclaw.envelope import Meta, ToolFailure

UPSERT = "/v0/connectors/unbounded/profiles/upsert"
RANDOM = "random"
"""For `idempotency_key`: 32 fresh hex digits."""


@dataclass(frozen=True, slots=True)
class VaultSession:
    """Whom the vault sees, and where it is. `timeout_ms` bounds one whole call."""

    token: str = field(repr=False)
    base_url: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class VaultAnswer:
    """An answer with status below 400. `body` is None when it is no JSON object; `request_id` is what was sent."""

    status: int
    request_id: str
    body: dict[str, Any] | None

    @property
    def meta(self) -> Meta:
        return Meta(self.request_id, self.status)

    def member(self, name: str) -> Any:
        """A member of the body; None when there is none."""
        return None if self.body is None else self.body.get(name)


class Sender(Protocol):
    """How a request gets to the vault."""

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> VaultAnswer:
        """`query` is sent sorted and form-encoded; `timeout_s` may shorten the session's. Raises ToolFailure."""
        ...


class Vault:
    """The vault as one tool call sees it."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._policy_hashes: dict[str, VaultAnswer] = {}

    async def connectors(self) -> VaultAnswer:
        return await self._get("/v0/connectors")

    async def connector(self, connector_id: str) -> VaultAnswer:
        return await self._get(f"/v0/connectors/{segment(connector_id, 'connector_id')}")

    async def policy(self, connector_id: str) -> VaultAnswer:
        """The connector for its `policy_hash`: asked once in a tool call (VC-07)."""
        if connector_id not in self._policy_hashes:
            self._policy_hashes[connector_id] = await self.connector(connector_id)
        return self._policy_hashes[connector_id]

    async def validate(self, request: Mapping[str, Any]) -> VaultAnswer:
        return await self._post("/v0/connectors/validate", request, None)

    async def execute(self, request: Mapping[str, Any]) -> VaultAnswer:
        return await self._post("/v0/connectors/execute", request)

    async def execute_job(self, request: Mapping[str, Any]) -> VaultAnswer:
        return await self._post("/v0/connectors/execute-job", request)

    async def plan_validate(self, plan: Mapping[str, Any]) -> VaultAnswer:
        return await self._post("/v0/connectors/plans/validate", {"plan": plan})

    async def plan_execute(self, body: Mapping[str, Any]) -> VaultAnswer:
        """`body`: `plan`, and as given `plan_input`, `analysis`, `analysis_api_key_secret_id`, `analysis_model`."""
        return await self._post("/v0/connectors/plans/execute", body)

    async def plan_run(self, run_id: str, timeout_s: float | None = None) -> VaultAnswer:
        return await self._get(f"/v0/connectors/plans/runs/{segment(run_id, 'run_id')}", timeout_s=timeout_s)

    async def job(self, job_id: str, timeout_s: float | None = None) -> VaultAnswer:
        return await self._get(f"/v0/jobs/{segment(job_id, 'job_id')}", timeout_s=timeout_s)

    async def pending_approvals(self, query: Mapping[str, str]) -> VaultAnswer:
        return await self._get("/v0/connectors/approvals/pending", query)

    async def slot_bindings(self, query: Mapping[str, str]) -> VaultAnswer:
        return await self._get("/v0/connectors/secrets/slots/bindings", query)

    async def slot_bind(self, binding: Mapping[str, str]) -> VaultAnswer:
        return await self._post("/v0/connectors/secrets/slots/bind", binding)

    async def profiles(self, query: Mapping[str, str]) -> VaultAnswer:
        return await self._get("/v0/connectors/unbounded/profiles/list", query)

    async def profile(self, profile_id: str) -> VaultAnswer:
        return await self._get("/v0/connectors/unbounded/profiles/get", {"profile_id": profile_id})

    async def upsert_profile(self, profile: Mapping[str, Any], idempotency_key: str = RANDOM) -> VaultAnswer:
        return await self._post(UPSERT, {"profile": profile}, idempotency_key)

    async def suggest_types(self, query: str, top_k: int) -> VaultAnswer:
        return await self._post("/v0/docs/types/suggest", {"query": query, "top_k": top_k}, None)

    async def latest_document(self, type_id: str, subject_id: str) -> VaultAnswer:
        return await self._get("/v0/docs/types/latest", {"type_id": type_id, "subject_id": subject_id})

    async def _get(
        self, path: str, query: Mapping[str, str] | None = None, timeout_s: float | None = None
    ) -> VaultAnswer:
        return await self._sender.send("GET", path, query=query, timeout_s=timeout_s)

    async def _post(self, path: str, body: Any, idempotency_key: str | None = RANDOM) -> VaultAnswer:
        return await self._sender.send("POST", path, body=body, idempotency_key=idempotency_key)


def segment(value: str, name: str) -> str:
    """An id as one segment of a path, percent-encoded. Raises ToolFailure for `.` and `..` (ruling VC-9)."""
    if value in (".", ".."):
        raise ToolFailure(
            "MCP_VALIDATION_ERROR",
            f"{name} is {value!r}; expected an id, which is one segment of a path; give the id that the vault lists",
        )
    return quote(value, safe="")
