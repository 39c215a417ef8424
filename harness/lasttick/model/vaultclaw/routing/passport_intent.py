"""Does a request want passport fields in a mail? Then one tool does all of it. Source: contract vaultclaw 18.3."""

from __future__ import annotations

from typing import Any

from lasttick.model.vaultclaw.routing import missing
from lasttick.model.vaultclaw.routing.registry import GMAIL, Route
from lasttick.model.vaultclaw.routing.request import Request
from lasttick.model.vaultclaw.routing.result import AMBIGUOUS, EXECUTABLE, MISSING_INPUTS, Resolution, route_json
from lasttick.model.vaultclaw.routing.text import has_phrase

TOOL = "vaultclaw_passport_email_workflow"
ROUTE = Route(
    "vaultclaw.passport_email_fields.v1",
    GMAIL,
    "TOOL_INVOKE",
    keywords=(),
    tags=(),
    required=("to",),
    entry_id=TOOL,
    entry_type="tool.workflow.v1",
)
WANTED = ("passport fields", "passport details")
REFUSED = tuple(f"{no} {phrase}" for no in ("without", "no") for phrase in WANTED)


def wanted(request: Request) -> bool:
    tokens, normal = request.tokens, request.normal
    if "passport" not in tokens or not tokens & {"email", "gmail"}:
        return False
    if any(has_phrase(normal, phrase) for phrase in REFUSED):
        return False
    return any(has_phrase(normal, phrase) for phrase in WANTED) or (
        "body" in tokens and bool(tokens & {"fields", "details"})
    )


def resolve(request: Request) -> Resolution:
    """The answer to a request for which `wanted` holds. Only a single recipient makes it executable."""
    recipients = request.inputs.get("to", [])
    inputs: dict[str, Any] = {"request_text": request.text, "execute": True}
    if one := the_recipient(recipients):
        inputs["recipient_email"] = one
        if subject := request.inputs.get("subject"):
            inputs["subject"] = subject
        return _resolution(request, EXECUTABLE, inputs, "the request wants passport fields in the body of a mail")
    if recipients:
        return _resolution(request, AMBIGUOUS, inputs, "passport fields go to one recipient, not to several")
    return _resolution(
        request, MISSING_INPUTS, inputs, "passport fields go to one recipient, and there is none", ["to"]
    )


def the_recipient(recipients: list[str]) -> str:
    """ "" when there is none, and when there are several: nobody's passport goes to a guess."""
    return recipients[0] if len(recipients) == 1 else ""


def _resolution(
    request: Request, status: str, inputs: dict[str, Any], reason: str, lacking: list[str] | None = None
) -> Resolution:
    return Resolution(
        status,
        "HIGH",
        inputs,
        [reason],
        fallback_hint="" if status == EXECUTABLE else "Name exactly one e-mail address.",
        domain=GMAIL,
        route=route_json(ROUTE, "intent"),
        execution={"strategy": ROUTE.strategy, "tool": TOOL},
        missing=lacking,
        guidance=missing.guide(ROUTE, lacking or (), request),
        needs_clarification=status != EXECUTABLE,
    )
