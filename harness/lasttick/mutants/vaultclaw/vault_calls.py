"""Wrong versions of what is sent to the vault, and of what its answers mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.model.vaultclaw import module_hash, validation, vault_errors
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import sender, vault
from lasttick.reference.vaultclaw.tools import connectors, documents
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer

ERRORS = "vaultclaw/errors/"
VALIDATION = "vaultclaw/validation/"
HASHES = "vaultclaw/module-hash/"
DOCUMENTS = "vaultclaw/documents/"


def as_written(vault_code: str, status: int) -> str:
    """A code in another case is unknown."""
    return vault_errors.MCP_CODES.get(vault_code) or ("MCP_NETWORK_ERROR" if status >= 500 else "MCP_INTERNAL")


def from_500_on(status: int) -> bool:
    return status >= 500


def of_the_network(right: Any) -> Callable[..., ToolFailure]:
    """What one would expect of a connection that failed."""

    def network_failure(message: str, request_id: str) -> ToolFailure:
        failure: ToolFailure = right(message, request_id)
        failure.code = "MCP_NETWORK_ERROR"
        return failure

    return network_failure


def unescaped(value: str, name: str) -> str:
    return value


def never_no(body: Mapping[str, Any] | None) -> bool:
    return False


def truthy_is_yes(body: Mapping[str, Any] | None) -> bool:
    if body is None:
        return False
    return not body["valid"] if "valid" in body else bool(body.get("errors"))


def as_asked(right: Any) -> Callable[..., Any]:
    """What is executed is the caller's request, and not the one that was validated."""

    async def checked(call: Any, request: Mapping[str, Any]) -> Any:
        return replace(await right(call, request), request=dict(request))

    return checked


def from_before(right: Any) -> Callable[..., Any]:
    """A policy hash is looked up once for all calls."""
    known: dict[str, VaultAnswer] = {}

    async def policy(self: Vault, connector_id: str) -> VaultAnswer:
        if connector_id not in known:
            known[connector_id] = await right(self, connector_id)
        return known[connector_id]

    return policy


def not_the_old_way(inner: Any) -> bool:
    return False


def unless_hashed(right: Any) -> Callable[..., Any]:
    """A request that brings its hash gets no query."""

    def with_default_query(holder: Mapping[str, Any], key: str = module_hash.QUERY) -> dict[str, Any]:
        return dict(holder) if holder.get("module_hash") else right(holder, key)

    return with_default_query


def at_most_fifty(right: Any) -> Callable[..., Any]:
    def suggest_types(self: Vault, query: str, top_k: int) -> Any:
        return right(self, query, min(top_k, 50))

    return suggest_types


def without_details(right: Any) -> Callable[..., ToolFailure]:
    """Of what the vault said, its details are lost."""

    def failure_of(status: int, body: Any, request_id: str) -> ToolFailure:
        failure: ToolFailure = right(status, body, request_id)
        failure.details["vault_error"] = {**failure.details["vault_error"], "details": None}
        return failure

    return failure_of


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/code-in-another-case-is-unknown",
        breaks="VC-05",
        text="a vault code is compared as it is written",
        killed_by=ERRORS + "a-code-is-read-in-any-case-and-kept-in-its-own",
        patch=lambda seam: seam.replace(vault_errors, "mcp_code", as_written),
    ),
    Mutant(
        "vaultclaw/too-many-requests-is-final",
        breaks="VC-05",
        text="status 429 is not retryable",
        killed_by=ERRORS + "every-code-has-its-meaning",
        patch=lambda seam: seam.replace(vault_errors, "is_retryable", from_500_on),
    ),
    Mutant(
        "vaultclaw/unreached-is-network-error",
        breaks="VC-05",
        text="a failed connection is MCP_NETWORK_ERROR",
        killed_by=ERRORS + "no-answer-is-internal-and-worth-another-try[nobody there]",
        patch=lambda seam: seam.wrap(sender, "network_failure", of_the_network),
    ),
    Mutant(
        "vaultclaw/unescaped-path-parameter",
        breaks="VC-05",
        ruling=9,
        text="an id is put into the path as it is",
        killed_by=ERRORS + "an-id-stays-one-segment-of-its-path",
        patch=lambda seam: seam.replace(vault, "segment", unescaped),
    ),
    Mutant(
        "vaultclaw/executes-invalid-request",
        breaks="VC-06",
        ruling=7,
        text="a request that the vault finds not valid is executed",
        killed_by=VALIDATION + "only-a-yes-is-executed",
        patch=lambda seam: seam.replace(validation, "says_no", never_no),
    ),
    Mutant(
        "vaultclaw/any-true-value-is-valid",
        breaks="VC-06",
        text="`valid` with a text or a number counts as a yes",
        killed_by=VALIDATION + "only-a-yes-is-executed",
        patch=lambda seam: seam.replace(validation, "says_no", truthy_is_yes),
    ),
    Mutant(
        "vaultclaw/executes-what-was-not-validated",
        breaks="VC-06",
        text="what is executed lacks what was put in before the validation",
        killed_by=VALIDATION + "what-is-filled-in-is-validated-too",
        patch=lambda seam: seam.wrap(connectors, "checked", as_asked),
    ),
    Mutant(
        "vaultclaw/policy-hash-of-before",
        breaks="VC-07",
        text="the policy hash of an earlier call is sent again",
        killed_by=HASHES + "one-look-up-in-a-call-and-a-new-one-in-the-next[connector_execute]",
        patch=lambda seam: seam.wrap(Vault, "policy", from_before),
    ),
    Mutant(
        "vaultclaw/old-bindings-without-hash",
        breaks="VC-07",
        text="a request that binds secrets the old way gets no module_hash",
        killed_by=HASHES + "who-needs-a-hash-gets-one",
        patch=lambda seam: seam.replace(module_hash, "_binds_secrets_the_old_way", not_the_old_way),
    ),
    Mutant(
        "vaultclaw/hash-keeps-the-query-away",
        breaks="VC-07",
        text="a listing that brings its module_hash gets no default query",
        killed_by=HASHES + "a-listing-that-asks-for-nothing-asks-for-the-inbox",
        patch=lambda seam: seam.wrap(module_hash, "with_default_query", unless_hashed),
    ),
    Mutant(
        "vaultclaw/suggestions-capped",
        breaks="VC-08",
        text="more than ten suggestions are never asked of the vault",
        killed_by=DOCUMENTS + "words-lead-to-types",
        patch=lambda seam: seam.wrap(Vault, "suggest_types", at_most_fifty),
    ),
    Mutant(
        "vaultclaw/subject-stays-empty",
        breaks="VC-08",
        text="without a subject_id the vault is asked for nobody's document",
        killed_by=DOCUMENTS + "the-latest-document-of-a-subject",
        patch=lambda seam: seam.replace(documents, "SELF", ""),
    ),
    Mutant(
        "vaultclaw/vault-details-dropped",
        breaks="VC-08",
        text="the details of the vault's error do not reach the caller",
        killed_by=DOCUMENTS + "the-vaults-code-and-details-survive",
        patch=lambda seam: seam.wrap(sender, "failure_of", without_details),
    ),
]
