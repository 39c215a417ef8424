"""What happens to a request before it may be executed? Its module_hash is put in, and the vault validates it.

The object that `checked` returns is the very one that was validated: send that one, unchanged.
Source: contract vaultclaw 10 and 11, ruling 7; VC-06, VC-07.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import module_hash, validation
from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.tool import ToolCall
from lasttick.reference.vaultclaw.vault import VaultAnswer


@dataclass(frozen=True, slots=True)
class Prepared:
    """An outer request with its module_hash, and the report object of how it came by it."""

    request: dict[str, Any]
    module_hash_report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checked:
    """A request that the vault found valid."""

    request: dict[str, Any]
    module_hash_report: dict[str, Any]
    validation_answer: VaultAnswer


async def prepared(call: ToolCall, request: Mapping[str, Any]) -> Prepared:
    """Put the policy hash in where one is needed. Raises ToolFailure: none to be had, no session, a failing call."""
    filled = module_hash.with_default_query(request)
    need = module_hash.need_of(filled)
    if not need.needed:
        return Prepared(filled, module_hash.report(need))
    answer = await call.vault.policy(need.connector_id)
    policy_hash = string(answer.member("policy_hash"))
    if not policy_hash:
        raise ToolFailure(
            "MCP_MODULE_HASH_REQUIRED",
            f"connector {need.connector_id!r} has no policy_hash; expected one, which this request needs as its "
            "module_hash; give a module_hash, or have the connector's policy put in place",
            {
                "connector_id": need.connector_id,
                "request_id": answer.request_id,
                "vault_http_status": answer.status,
            },
        )
    return Prepared({**filled, "module_hash": policy_hash}, module_hash.report(need, policy_hash))


async def checked(call: ToolCall, request: Mapping[str, Any]) -> Checked:
    """Prepare and validate. Raises ToolFailure: as `prepared`, and MCP_VALIDATION_ERROR when the vault says no."""
    ready = await prepared(call, request)
    answer = await call.vault.validate(ready.request)
    if validation.says_no(answer.body):
        raise ToolFailure(
            "MCP_VALIDATION_ERROR",
            "the vault finds this request not valid; expected one that passes its validation before it is executed; "
            "correct what details.validation says",
            {"request_id": answer.request_id, "vault_http_status": answer.status, "validation": answer.body},
        )
    return Checked(ready.request, ready.module_hash_report, answer)
