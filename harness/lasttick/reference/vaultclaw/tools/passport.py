"""Send a passport by e-mail: find the document, build the plan, run it, and say what to do when it cannot run.

Source: contract vaultclaw 19; ruling VC-11; VC-19.
"""

from __future__ import annotations

from typing import Any

from lasttick.model.vaultclaw import outcome, passport, passport_plan
from lasttick.model.vaultclaw.arguments import as_object
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.model.vaultclaw.passport import Request
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.tools.plans import execute_plan
from lasttick.reference.vaultclaw.vault import Vault


async def passport_email_workflow(call: ToolCall) -> Success:
    request = passport.read(call.arguments)
    vault = call.vault
    if not request.document_id:
        request = request.with_document(await find_document(vault, request))
    data = passport_plan.data_of(request)
    if not request.execute:
        return Success({"status": "READY_TO_SEND", **data})
    try:
        sent = await execute_plan(vault, data["plan"], {"plan_input": data["plan_input"]}, {"orchestrated": False})
        refuse_unsent(sent)
    except ToolFailure as failure:
        raise passport_plan.failure_of(failure, request, data["pre_send_summary"]) from failure
    return Success({"status": "SENT", **data, "execution": sent.data}, sent.meta)


def refuse_unsent(ran: Success) -> None:
    """A run that has ended in any other way than well sent nothing. Raises ToolFailure (ruling VC-4)."""
    response = ran.data["response"]
    run, job = (as_object(response.get(name)) for name in ("run", "job"))
    state = outcome.run_state(run or {})
    if state not in outcome.TERMINAL or state == outcome.SUCCEEDED:
        return
    code = outcome.run_code(run or {}, job)
    raise ToolFailure(
        "MCP_INTERNAL",
        f"the run ended {state}{f' ({code})' if code else ''}",
        {"request_id": ran.meta.request_id, "vault_http_status": ran.meta.vault_http_status, "response": response},
        vault_code=code,
    )


async def find_document(vault: Vault, request: Request) -> str:
    """The id of the latest passport. Raises ToolFailure: there is none, or nobody can say."""
    try:
        answer = await vault.latest_document(passport.TYPE_ID, passport.SUBJECT_REF)
    except ToolFailure as failure:
        if failure.vault_code.upper() == "DOCUMENT_SLOT_UNRESOLVED":
            raise upload_required(request, failure.vault_code) from failure
        raise ToolFailure(
            "MCP_DOCUMENT_RESOLUTION_FAILED",
            f"the passport could not be looked up: {failure.message}; expected the vault to name the latest document "
            f"of type {passport.TYPE_ID}; correct that, or give passport_document_id",
            {"upstream_error": f"{failure.vault_code or failure.code}: {failure.message}"},
        ) from failure
    document_id = passport.document_id_in(answer.body)
    if not document_id:
        raise upload_required(request, "")
    return document_id


def upload_required(request: Request, vault_code: str) -> ToolFailure:
    requirement = {"type_id": passport.TYPE_ID, "subject_id": passport.SUBJECT_REF}
    action: dict[str, Any] = {
        "type": "UPLOAD_DOCUMENT",
        "title": "A passport is needed",
        "message": "Upload a copy of your passport to the vault, then make the same call again.",
        "document_requirement": requirement,
        "resume_arguments": passport.resume_arguments(request),
    }
    return ToolFailure(
        "MCP_DOCUMENT_UPLOAD_REQUIRED",
        f"the vault holds no document of type {passport.TYPE_ID}; expected one for {passport.SUBJECT_REF!r}; ask the "
        "user to upload it, then call again with details.action.resume_arguments",
        {"action": action},
        vault_code=vault_code,
    )


TOOLS = (
    Tool(
        "vaultclaw_passport_email_workflow",
        "Send a copy of the user's passport with its details by e-mail. With execute false it only shows what would be "
        "sent. Whatever is missing is named in the answer.",
        properties_of(
            recipient_email="s",
            request_text="s",
            subject="s",
            body_style="s",
            passport_document_id="s",
            manual_fields="o",
            execute="b",
        ),
        passport_email_workflow,
    ),
)
