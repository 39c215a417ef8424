"""Steps of the stories about profiles, plans, hand-offs and waits: a client with a vault, what the vault says, and what
it was asked."""

from __future__ import annotations

import json
from typing import Any

from lasttick import World

EXECUTE_JOB = "/v0/connectors/execute-job"
EXECUTE_PLAN = "/v0/connectors/plans/execute"
PENDING = "/v0/connectors/approvals/pending"
PROFILE_LIST = "/v0/connectors/unbounded/profiles/list"
PROFILE_GET = "/v0/connectors/unbounded/profiles/get"
PROFILE_UPSERT = "/v0/connectors/unbounded/profiles/upsert"
VALIDATE = "/v0/connectors/validate"
EXECUTING = (EXECUTE_JOB, EXECUTE_PLAN, "/v0/connectors/execute")

HTTP = {"connector_id": "generic.http", "verb": "generic.http.request.v1"}
API = "https://api.example.com"
SEND = "google.gmail.messages.send"
MAIL = {
    "connector_id": "google",
    "verb": SEND,
    "request": {"user_id": "me", "to": ["a@example.com"], "subject": "Soup", "text_plain": "Dinner at eight."},
}


def attachment(slot: str = "api_key", mode: str = "read", target: str = API, **more: Any) -> dict[str, Any]:
    return {"slot": slot, "mode": mode, "target": target, **more}


A = attachment(intent="http.auth", expected_secret_types=["api-key"])
"""The one attachment of the worked example A (contract vaultclaw 21)."""
A_ID = "mcp.auto.8042d5b7fd92"
A_KEY = "mcp-unbounded-profile-8042d5b7fd92"


def http_request(*attached: Any, **inner: Any) -> dict[str, Any]:
    """An outer request of the generic HTTP connector."""
    return {**HTTP, "request": {"method": "GET", "url": f"{API}/v1", "secret_attachments": list(attached), **inner}}


async def begin(world: World, tenant: str = "acme", **session: Any) -> tuple[Any, Any]:
    """The world's vault daemon, and a client of a new server, with a session."""
    vaultd = await world.vaultd()
    client = (await world.vaultclaw()).client(tenant)
    await client.configure(**session)
    return vaultd, client


async def says(vaultd: Any, path: str, *bodies: Any, status: int = 200, times: int | None = 1) -> None:
    """The next calls of `path` are answered with these bodies, one after the other. `times` None: from now on."""
    for body in bodies:
        await vaultd.control("POST", "/control/answers", {"path": path, "status": status, "body": body, "times": times})


async def asks_people(vaultd: Any, *verbs: str, effect: str = "ask", **policy: Any) -> None:
    """These verbs, and no others, need a person's decision."""
    await vaultd.control("PUT", "/control/policies", {"verbs": dict.fromkeys(verbs, effect), **policy})


async def work(vaultd: Any, kind: str, *states: dict[str, Any], tenant: str = "acme") -> dict[str, str]:
    """A job or a plan run whose states are told; its handle for a wait. `kind`: JOB or PLAN_RUN."""
    name = "job" if kind == "JOB" else "run"
    made = await vaultd.control("POST", f"/control/{name}s", {"tenant": tenant, "states": list(states)})
    return {"kind": kind, f"{name}_id": made[f"{name}_id"]}


async def decide(world: World, vaultd: Any, approval: dict[str, Any], decision: str, tenant: str = "acme") -> None:
    """A person of the tenant says approve or deny to what a hand-off names."""
    import httpx

    token = await vaultd.token(tenant=tenant, approver="Pat")
    body = {"challenge_id": approval["challenge_id"], "pending_id": approval["pending_id"], "decision": decision}
    async with httpx.AsyncClient(transport=world.transport(), trust_env=False) as http:
        url = f"{vaultd.url}/v0/connectors/approvals/decide"
        answer = await http.post(url, json=body, headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text


async def called(vaultd: Any, after: int = 0) -> list[str]:
    """What was asked of the vault, as METHOD /path without the query."""
    return [line.partition("?")[0] for line in await vaultd.calls(after)]


async def executed(vaultd: Any, after: int = 0) -> int:
    """How many executing calls arrived."""
    return sum(line.removeprefix("POST ") in EXECUTING for line in await called(vaultd, after))


async def sent(vaultd: Any, path: str, after: int = 0) -> list[dict[str, Any]]:
    """The bodies that arrived at `path`."""
    return [json.loads(seen["body"]) for seen in await vaultd.log(after) if seen["path"] == path]


def header(seen: dict[str, Any], name: str) -> str | None:
    """A header of a line of the vault's log."""
    found = seen["headers"]
    pairs = found.items() if isinstance(found, dict) else found
    return next((value for key, value in pairs if key.lower() == name.lower()), None)


def handed_off(answer: Any) -> dict[str, Any]:
    """`details.approval` of a hand-off, whose next action is complete."""
    assert (answer.code, answer.category) == ("MCP_APPROVAL_REQUIRED", "approval"), answer.envelope
    assert (answer.error["retryable"], answer.error["vault_code"]) == (False, "")
    approval: dict[str, Any] = answer.details["approval"]
    assert (approval["status"], approval["decision_outcome"]) == ("PENDING_APPROVAL", "PENDING")
    assert approval["next_action"]["tool"] == "vaultclaw_approval_wait"
    handle = approval["next_action"]["arguments"]["handle"]
    assert handle == {name: approval[name] for name in ("kind", "job_id", "run_id", "challenge_id", "pending_id")}
    assert approval["pending_id_resolved"] == bool(approval["pending_id"])
    return approval


async def take_next_action(client: Any, approval: dict[str, Any], **more: Any) -> Any:
    """Call what a hand-off names, with its arguments as they stand."""
    action = approval["next_action"]
    return await client.call(action["tool"].removeprefix("vaultclaw_"), **action["arguments"], **more)
