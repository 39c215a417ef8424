"""Steps of the stories of many tenants: each has two tokens in turn, and the vault's log says which it saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lasttick import World

DENIED = {"job": {"job_id": "shared", "status": "DENIED", "error": {"code": "PLAN_APPROVAL_DENIED"}}}
WAITING = {"job": {"job_id": "shared", "status": "PENDING", "error": {"code": "PLAN_APPROVAL_REQUIRED"}}}
JOBS, CONNECTORS = "/v0/jobs/", "/v0/connectors/"
NEVER_ENDING = 1_000_000


def token(tenant: str, number: int) -> str:
    """The first or second token of a tenant."""
    return f"vat{number}-{tenant}"


async def jobs_answer(vaultd: Any, body: Mapping[str, Any], *, times: int = NEVER_ENDING, skip: int = 0) -> None:
    """From now on (after `skip`) every job is as `body` says."""
    await vaultd.control("POST", "/control/answers", {"path": f"{JOBS}*", "times": times, "skip": skip, "body": body})


def begin_wait(world: World, client: Any, timeout_ms: int = 2000, interval_ms: int = 1000) -> Any:
    """A wait for the job that has the tenant's name, in the background."""
    handle = {"kind": "JOB", "job_id": client.tenant or "default"}
    return world.start(client.call("approval_wait", handle=handle, timeout_ms=timeout_ms, poll_interval_ms=interval_ms))


def seen(log: Iterable[Mapping[str, Any]], prefix: str) -> dict[str, list[str]]:
    """By the name at the end of the path: the tokens that came with these calls, in order."""
    tokens: dict[str, list[str]] = {}
    for entry in log:
        if entry["path"].startswith(prefix):
            name = entry["path"].removeprefix(prefix)
            tokens.setdefault(name, []).append(bearer(entry))
    return tokens


def bearer(entry: Mapping[str, Any]) -> str:
    """The token of one call in the log."""
    headers = {str(name).lower(): value for name, value in entry["headers"]}
    scheme, _, given = headers["authorization"].partition(" ")
    assert scheme == "Bearer", f"the call came with {scheme!r}"
    return str(given)
