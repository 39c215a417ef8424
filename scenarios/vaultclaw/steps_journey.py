"""Steps of the journey: an agent that sends a document by mail, one tool after the other, and stops where one fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .steps_calls import GOOGLE, SHORT

SEND = "gmail_tpl_plan_send_email_v1"
RECIPIENT = "ada@example.com"
TYPES = ("finance.invoice", "identity.passport")
"""The document types that the words of the request lead to."""
STEPS = ("suggest", "search", "render", "validate", "latest", "execute", "hand-off", "wait")
VAULT_PATHS = {
    "suggest": "/v0/docs/types/suggest",
    "validate": "/v0/connectors/plans/validate",
    "latest": "/v0/docs/types/latest*",
    "execute": "/v0/connectors/plans/execute",
}
EXECUTING = ("/v0/connectors/execute", "/v0/connectors/execute-job", "/v0/connectors/plans/execute")


@dataclass
class Journey:
    """How far it came. `stopped`: the step that failed, "" when none did; `why`: the code, or what was missing."""

    done: list[str] = field(default_factory=list)
    stopped: str = ""
    why: str = ""
    versions: list[str] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    approval: dict[str, Any] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)

    def stop(self, step: str, why: str) -> Journey:
        self.stopped, self.why = step, why
        return self


async def travel(agent: Any, inputs: dict[str, Any]) -> Journey:
    """From the words to the decision. `inputs`: of the template, besides the attachments."""
    journey = Journey()
    suggested = await agent.call("document_types_suggest", query="my passport and the invoice")
    if not suggested.ok:
        return journey.stop("suggest", suggested.code)
    types = [one["type_id"] for one in suggested.data["items"]]
    journey.done.append("suggest")

    found = await agent.call("recipes_search", query="send_email", tags=["gmail"], entry_type="template.plan.v1")
    hits = [one for one in found.data["items"] if one["entry_id"] == SEND]
    journey.versions = [one["version"] for one in hits]
    if not hits:
        return journey.stop("search", "nothing found")
    journey.done.append("search")

    template = {"cookbook_id": hits[0]["cookbook_id"], "version": hits[0]["version"], "template_id": SEND}
    attachments = [{"type_id": type_id} for type_id in types]
    rendered = await agent.call("template_render", template, inputs={**inputs, "document_attachments": attachments})
    if not rendered.ok:
        return journey.stop("render", rendered.code)
    journey.plan = rendered.data["rendered"]
    journey.done.append("render")

    valid = await agent.call("plan_validate", plan=journey.plan)
    if not valid.ok or valid.data["valid"] is not True:
        return journey.stop("validate", valid.code or "not valid")
    journey.done.append("validate")

    for type_id in types:
        latest = await agent.call("document_types_latest", type_id=type_id)
        if not latest.ok or not latest.data["document_id"]:
            return journey.stop("latest", latest.code)
    journey.done.append("latest")

    executed = await agent.call("plan_execute", plan=journey.plan)
    if executed.code != "MCP_APPROVAL_REQUIRED":
        return journey.stop("execute", executed.code or "nobody was asked")
    journey.done += ["execute", "hand-off"]
    journey.approval = executed.details["approval"]
    action = journey.approval["next_action"]
    assert action["tool"] == "vaultclaw_approval_wait"

    waited = await agent.call("approval_wait", {**action["arguments"], **SHORT})
    if not waited.ok:
        return journey.stop("wait", waited.code)
    journey.ended = waited.data
    journey.done.append("wait")
    return journey


async def documents(vaultd: Any, *types: str) -> None:
    """The tenant has a document of each type."""
    for number, type_id in enumerate(types, start=1):
        await vaultd.control("PUT", f"/control/documents/doc-{number}", {"tenant": "acme", "type_id": type_id})


async def approver(vaultd: Any, decision: str, after_s: float) -> None:
    """A person who decides so long after being asked."""
    person = {"decision": decision, "after_s": after_s, "name": "Pat"}
    await vaultd.control("PUT", "/control/persons", {"persons": [person]})


async def forget_the_send_template(agent: Any) -> None:
    """No cookbook of the catalog has it any more."""
    listed = await agent.call("cookbooks_list", filter={"cookbook_id": GOOGLE["cookbook_id"]})
    for one in listed.data["items"]:
        deleted = await agent.call("cookbook_delete", cookbook_id=one["cookbook_id"], version=one["version"])
        assert deleted.data["deleted"], deleted.envelope
