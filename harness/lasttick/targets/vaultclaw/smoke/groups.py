"""What does each group of the smoke suite do? In this order; each leaves the session as it found it.

| group | calls | scopes |
|---|---|---|
| Session | session_configure, _status, _clear, and a call without a session | none |
| Discovery | connectors_list, connector_get | connectors.list.v1, .get.v1 |
| Execute | connector_validate, connector_execute, and one that is not valid | connectors.execute.v1 |
| ExecuteJob | connector_execute_job, job_get | connectors.execute_job.v1 |
| Plan | plan_validate, plan_execute, plan_run_get | connectors.plans.execute.v1, .plans.read.v1 |
| Approvals | approvals_pending_list, _get, and a wait without a handle | connectors.approvals.pending.read.v1 |
| ManualApprovalResume_Deny | plan_execute, a person's no, approval_wait | connectors.plans.execute.v1, .plans.read.v1 |

What is executed is a GET of a page; whether this vault does it, asks a person or refuses it by its policy is its own
affair, and each is right as long as it is told as what it is. Source: requirements of system VC, VC-22.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from lasttick.targets.vaultclaw.answer import ToolAnswer
from lasttick.targets.vaultclaw.smoke.talk import Talk, failed, told

CONNECTOR, VERB = "generic.http", "generic.http.request.v1"
PAGE = {"method": "GET", "url": "https://example.com/"}
REQUEST = {"connector_id": CONNECTOR, "verb": VERB, "request": PAGE}
INVALID = {"connector_id": CONNECTOR, "verb": "generic.http.no-such-verb.v1", "request": PAGE}
PLAN_TYPE = "connector.execution.plan.v1"
PLAN = {
    "type": PLAN_TYPE,
    "start_step_id": "get",
    "steps": [{"step_id": "get", "connector_id": CONNECTOR, "verb": VERB, "request_base": PAGE}],
}
MAIL = {"to": ["smoke@example.invalid"], "subject": "Smoke test: please deny", "text_plain": "Please deny this."}
PLAN_TO_DENY = {
    "type": PLAN_TYPE,
    "start_step_id": "send",
    "steps": [
        {"step_id": "send", "connector_id": "google", "verb": "google.gmail.messages.send", "request_base": MAIL}
    ],
}
"""To an address that cannot exist: nobody gets a mail, also when the person says yes by mistake."""
NO_ID = "lasttick-smoke-none"
OWN_AFFAIR = ("approval", "policy", "secrets")
"""Categories of a refusal that is the vault's decision, and no fault of the way to it."""
OUTCOMES = ("PENDING", "ALLOW", "DENY", "UNKNOWN")


@dataclass(frozen=True, slots=True)
class Group:
    """`play` returns a remark, or "". `manual`: only where a person is at hand."""

    name: str
    play: Callable[[Talk], Awaitable[str]]
    manual: bool = False


async def session(talk: Talk) -> str:
    given = {"token": talk.settings.token, "base_url": talk.settings.base_url}
    shown = await talk.done("session_configure", given)
    if (shown.get("configured"), shown.get("base_url")) != (True, talk.settings.base_url):
        failed(f"session_configure shows {shown}", "configured true and the base_url that was given")
    status = await talk.done("session_status")
    if status != shown:
        failed(f"session_status shows {status}", f"what session_configure showed: {shown}")
    await talk.done("session_clear")
    status = await talk.done("session_status")
    if status != {"configured": False}:
        failed(f"after session_clear session_status shows {status}", "only configured false")
    await talk.refused("connectors_list", "MCP_SESSION_NOT_CONFIGURED")
    await talk.done("session_configure", given)
    return ""


async def discovery(talk: Talk) -> str:
    listed = await talk.done("connectors_list")
    if not isinstance(listed, dict) or not listed:
        failed(f"connectors_list gave {listed}", "an object with the vault's connectors")
    connector = await talk.done("connector_get", {"connector_id": CONNECTOR})
    if not isinstance(connector, dict) or not connector:
        failed(f"connector_get of {CONNECTOR} gave {connector}", "an object that tells of it")
    return ""


async def execute(talk: Talk) -> str:
    validated = await talk.done("connector_validate", {"request": REQUEST})
    if validated["request"] != REQUEST:
        failed(f"connector_validate sent {validated['request']}", f"what it was given: {REQUEST}")
    answer = await talk.call("connector_execute", {"request": INVALID})
    if answer.ok:
        failed(f"connector_execute of {INVALID['verb']} succeeded", "a refusal: there is no such verb")
    answer = await talk.call("connector_execute", {"request": REQUEST})
    return "" if answer.ok else decided("connector_execute", answer)


async def execute_job(talk: Talk) -> str:
    answer = await talk.call("connector_execute_job", {"request": REQUEST})
    if answer.ok:
        job_id = _text(answer.data, "response", "job", "job_id")
    elif "approval" in answer.details:
        job_id = handed_off("connector_execute_job", answer, "JOB")["job_id"]
    else:
        return decided("connector_execute_job", answer)
    job = await talk.done("job_get", {"job_id": job_id})
    if job["job"].get("job_id") != job_id or job["decision_outcome"] not in OUTCOMES:
        failed(f"job_get of {job_id} gave {job}", "that job, and what was decided about it")
    return "" if answer.ok else f"job {job_id} waits for a person"


async def plan(talk: Talk) -> str:
    await talk.done("plan_validate", {"plan": PLAN})
    answer = await talk.call("plan_execute", {"plan": PLAN})
    if answer.ok:
        run_id = _text(answer.data, "response", "run_id") or _text(answer.data, "response", "run", "run_id")
    elif "approval" in answer.details:
        run_id = handed_off("plan_execute", answer, "PLAN_RUN")["run_id"]
    else:
        return decided("plan_execute", answer)
    run = await talk.done("plan_run_get", {"run_id": run_id})
    if _text(run, "run", "run_id") != run_id or run.get("decision_outcome") not in OUTCOMES:
        failed(f"plan_run_get of {run_id} gave {run}", "that run, and what was decided about it")
    return "" if answer.ok else f"run {run_id} waits for a person"


async def approvals(talk: Talk) -> str:
    listed = await talk.done("approvals_pending_list", {"limit": 5})
    if not all(item["decision_outcome"] in OUTCOMES for item in listed["items"]):
        failed(f"approvals_pending_list gave {listed}", f"a decision_outcome in each item, one of {OUTCOMES}")
    unknown = {"challenge_id": NO_ID, "pending_id": NO_ID}
    await talk.refused("approvals_pending_get", "MCP_APPROVAL_PENDING_NOT_FOUND", unknown)
    await talk.refused("approval_wait", "MCP_VALIDATION_ERROR")
    return ""


async def manual_deny(talk: Talk) -> str:
    settings = talk.settings
    answer = await talk.refused("plan_execute", "MCP_APPROVAL_REQUIRED", {"plan": PLAN_TO_DENY})
    if "approval" not in answer.details:
        failed("plan_execute answered MCP_APPROVAL_REQUIRED without details.approval", "the hand-off of a pending run")
    approval = handed_off("plan_execute", answer, "PLAN_RUN")
    for name in ("challenge_id", "pending_id", "run_id"):
        talk.say(f"{name}: {approval[name]}")
    talk.say(f"Deny this at the vault within {settings.wait_timeout_ms / 1000:g} s.")
    limits = {"timeout_ms": settings.wait_timeout_ms, "poll_interval_ms": settings.poll_interval_ms}
    ended = await talk.done("approval_wait", {**approval["next_action"]["arguments"], **limits})
    seen = (ended["terminal_status"], ended["decision_outcome"])
    if seen != ("DENIED", "DENY"):
        failed(f"the wait ended {seen[0]}/{seen[1]}", "DENIED/DENY, after a person's no")
    return ""


def decided(tool: str, answer: ToolAnswer) -> str:
    """The remark for a refusal that is the vault's own decision. Raises Failed for any other."""
    if answer.category not in OWN_AFFAIR:
        failed(f"{tool} answered {told(answer)}", f"success, or a refusal of category {', '.join(OWN_AFFAIR)}")
    return f"the vault decided {answer.code} ({answer.error['vault_code']})"


def handed_off(tool: str, answer: ToolAnswer, kind: str) -> dict[str, Any]:
    """`details.approval`, whose next action can be called as it is. Raises Failed."""
    approval = answer.details["approval"]
    action = approval["next_action"]
    handle = action["arguments"]["handle"]
    wanted = "job_id" if kind == "JOB" else "run_id"
    if (action["tool"], handle["kind"]) != ("vaultclaw_approval_wait", kind) or not handle[wanted]:
        failed(f"{tool} handed off {action}", f"a call of vaultclaw_approval_wait, kind {kind} with its {wanted}")
    return dict(approval)


def _text(value: Any, *path: str) -> str:
    """The text at that place; "" when there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


GROUPS = (
    Group("Session", session),
    Group("Discovery", discovery),
    Group("Execute", execute),
    Group("ExecuteJob", execute_job),
    Group("Plan", plan),
    Group("Approvals", approvals),
    Group("ManualApprovalResume_Deny", manual_deny, manual=True),
)
