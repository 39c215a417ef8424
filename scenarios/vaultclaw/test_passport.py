"""A passport goes out by mail: one plan, shown before it is sent, and a clear next step from wherever it stops.

Source: contract vaultclaw 19; rulings 4, 11.
"""

from __future__ import annotations

from typing import Any

from lasttick import World, scenario

from .steps_approvals import EXECUTE_PLAN, asks_people, begin, called, decide, handed_off, says, sent, take_next_action

LATEST = "/v0/docs/types/latest"
LABELS = {
    "given_name": "First Name",
    "family_name": "Last Name",
    "passport_number": "Passport Number",
    "passport_expiry_date": "Expiry Date",
    "passport_issuing_country": "Issuing Country",
}
SLOTS = list(LABELS)
IN_TEXT = [*SLOTS[:3], "passport_issuing_country", "passport_expiry_date"]
VALUES = {
    "given_name": "Ada",
    "family_name": "Lovelace",
    "passport_number": "X123",
    "passport_expiry_date": "2031-01-01",
    "passport_issuing_country": "GB",
}
TO = "ada@example.com"
DRAFT, SEND = "google.gmail.drafts.create", "google.gmail.drafts.send"
READ, EXTRACT = "identity.profile.read.v1", "identity.extraction.run.v1"
ASK = {"recipient_email": TO, "body_style": "concise"}


def text_of(step_id: str) -> str:
    """A concise mail: one line for each field, to be filled in by the vault."""
    return "\n".join(f"{LABELS[slot]}: {{{{step_output:{step_id}:/values/{slot}}}}}" for slot in IN_TEXT)


def bound(**paths: str) -> list[dict[str, Any]]:
    return [{"path": f"/{to}", "ref": {"source": "plan_input", "path": path}} for to, path in paths.items()]


def a_step(step_id: str, connector_id: str, verb: str, base: Any, bindings: Any, then: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"step_id": step_id, "connector_id": connector_id, "verb": verb, "policy_version": "1"}
    made |= {"request_base": base, "request_bindings": bindings}
    return {**made, "default_success_next_step_id": then} if then else made


def mail_steps(read: str, draft: str, send: str) -> list[dict[str, Any]]:
    """A draft with the values that `read` found, and its sending."""
    email = bound(**{name: f"/email/{name}" for name in ("to", "subject", "document_attachments")})
    base = {"user_id": "me", "to": [], "subject": "", "text_plain": text_of(read), "document_attachments": []}
    output = [{"path": "/draft_id", "ref": {"source": "step_output", "step_id": draft, "path": "/draft_id"}}]
    draft_id = {"user_id": "me", "draft_id": "draft_placeholder"}
    return [a_step(draft, "google", DRAFT, base, email, send), a_step(send, "google", SEND, draft_id, output)]


def the_plan(**manual: str) -> dict[str, Any]:
    """The seven steps of the contract."""
    first, extract, second = "read_existing_profile", "extract_passport_fields", "read_after_extract_profile"
    identity = {"subject_ref": "self", "profile_kind": "KYC", "slots": []}
    extraction = {
        **identity,
        "provider": "aws.textract.v1",
        "mode": "ANALYZE_AND_SAVE",
        "document_id": "passport_doc_placeholder",
        "extracted_fields": manual,
    }
    slots = bound(slots="/passport/slots")
    document = bound(document_id="/passport/document_id", slots="/passport/slots")
    outputs = [{"source": "step_output", "step_id": first, "path": f"/values/{slot}"} for slot in SLOTS]
    complete = {"op": "and", "args": [{"op": "exists", "ref": one} for one in outputs]}
    branches = [{"when": complete, "next_step_id": "create_draft_from_existing"}]
    steps = [
        {**a_step(first, "identity", READ, identity, slots, extract), "success_branches": branches},
        a_step(extract, "identity", EXTRACT, extraction, document, second),
        a_step(second, "identity", READ, identity, slots, "create_draft_after_extract"),
        *mail_steps(first, "create_draft_from_existing", "send_draft_from_existing"),
        *mail_steps(second, "create_draft_after_extract", "send_draft_after_extract"),
    ]
    return {"type": "connector.execution.plan.v1", "start_step_id": first, "steps": steps}


async def desk(world: World, *verbs: str, **fields: str) -> tuple[Any, Any]:
    """A vault with a passport of these fields, in which these verbs need a person."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, *verbs)
    document = {"tenant": "acme", "type_id": "identity.passport", "fields": fields}
    await vaultd.control("PUT", "/control/documents/doc_1", document)
    return vaultd, client


async def ran(vaultd: Any) -> list[str]:
    """The steps that had their effect, in order."""
    return [effect["step_id"] for effect in await vaultd.effects()]


@scenario("VC-19")
async def test_the_plan_that_is_shown(world: World) -> None:
    """Without leave to execute everything is shown, value by value, and nothing runs. A manual field is in the plan and
    never in the text; what is no slot, or no text, is left out."""
    vaultd, client = await desk(world)
    given = {"given_name": " Ada ", "passport_number": 7, "shoe_size": "38", "family_name": ""}
    data = (await client.call("passport_email_workflow", ASK, manual_fields=given, execute=False)).data
    assert data["plan"] == the_plan(given_name="Ada")
    assert data["plan_input"] == {
        "passport": {
            "subject_ref": "self",
            "document_id": "doc_1",
            "slots": SLOTS,
            "manual_fields": {"given_name": "Ada"},
        },
        "email": {
            "to": [TO],
            "subject": "Passport Copy and Details",
            "document_attachments": [{"type_id": "identity.passport"}],
        },
    }
    assert data["composed_text"] == text_of("read_existing_profile")
    assert data["composed_text_alt"] == text_of("read_after_extract_profile")
    assert data["resolved_fields"] == {**dict.fromkeys(SLOTS, ""), "given_name": "Ada"}
    assert (data["status"], data["document_type_id"]) == ("READY_TO_SEND", "identity.passport")
    assert (data["document_subject"], data["required_slot_set"]) == ("self", SLOTS)
    summary = data["pre_send_summary"]
    assert (summary["recipient"], summary["attachment"]) == (TO, {"type_id": "identity.passport"})
    fields = [{"slot": s, "label": LABELS[s], "value": "Ada" if s == "given_name" else ""} for s in SLOTS]
    assert summary["fields"] == fields
    assert await vaultd.calls() == [f"GET {LATEST}?subject_id=self&type_id=identity.passport"]
    named = (await client.call("passport_email_workflow", ASK, passport_document_id="doc_9", execute=False)).data
    assert named["plan_input"]["passport"]["document_id"] == "doc_9"
    assert (named["resolved_fields"], len(await vaultd.calls())) == ({}, 1)
    assert await vaultd.effects() == []


@scenario("VC-19")
async def test_what_a_request_says_of_the_mail(world: World) -> None:
    """Recipient, subject and style are read from the arguments, else from the text. Nobody to send it to is said
    before the session is asked for."""
    await world.vaultd()
    client = (await world.vaultclaw()).client("acme")
    for nobody in ({}, {"request_text": "send my passport"}, {"recipient_email": "ada", "text": ""}):
        answer = await client.call("passport_email_workflow", nobody)
        assert (answer.code, answer.category) == ("MCP_RECIPIENT_REQUIRED", "validation")
        assert answer.details == {"next_action": "ASK_USER_FOR_RECIPIENT_EMAIL"}
    assert (await client.call("passport_email_workflow", ASK)).code == "MCP_SESSION_NOT_CONFIGURED"
    await client.configure()
    rows = [
        ({"request_text": f"Mail it to {TO}, not to b@example.com"}, TO, "Passport Copy and Details", False),
        ({"text": f'To {TO}, subject: "My papers", brief'}, TO, "My papers", True),
        ({"request": f"To {TO}; subject 'My papers'; formal"}, TO, "My papers", False),
        ({"request_text": "to a@b.com subject Papers, concise", "recipient_email": TO}, TO, "Papers", True),
        ({**ASK, "subject": "Mine", "request_text": "subject is 'Yours', formal"}, TO, "Mine", True),
    ]
    for arguments, recipient, subject, concise in rows:
        data = (await client.call("passport_email_workflow", arguments, passport_document_id="d", execute=False)).data
        assert data["plan_input"]["email"]["to"] == [data["pre_send_summary"]["recipient"]] == [recipient]
        assert data["plan_input"]["email"]["subject"] == data["pre_send_summary"]["subject"] == subject, arguments
        lines = text_of("read_existing_profile")
        if concise:
            assert data["composed_text"] == lines
        else:
            intro, _, rest = data["composed_text"].partition("\n\n")
            assert intro
            assert rest == lines


@scenario("VC-19")
async def test_the_mail_goes_by_either_branch(world: World) -> None:
    """With a complete profile it goes at once; with none it goes after the document was read. The vault writes the
    values into the mail; they pass through no answer."""
    vaultd, client = await desk(world, **VALUES)
    data = (await client.call("passport_email_workflow", ASK)).data
    assert data["status"] == "SENT"
    assert data["execution"]["plan"] == data["plan"] == the_plan()
    assert data["execution"]["preflight"]["orchestrated"] is False
    assert await sent(vaultd, EXECUTE_PLAN) == [{"plan": data["plan"], "plan_input": data["plan_input"]}]
    after_extract = [
        "read_existing_profile",
        "extract_passport_fields",
        "read_after_extract_profile",
        "create_draft_after_extract",
        "send_draft_after_extract",
    ]
    assert await ran(vaultd) == after_extract
    assert (await client.call("passport_email_workflow", ASK)).data["status"] == "SENT"
    from_existing = ["read_existing_profile", "create_draft_from_existing", "send_draft_from_existing"]
    assert await ran(vaultd) == after_extract + from_existing
    drafts = [effect["arguments"] for effect in await vaultd.effects() if effect["verb"] == DRAFT]
    text = "\n".join(f"{LABELS[slot]}: {VALUES[slot]}" for slot in IN_TEXT)
    for draft in drafts:
        assert (draft["text_plain"], draft["to"]) == (text, [TO])
        assert draft["document_attachments"] == [{"type_id": "identity.passport"}]
    assert len(drafts) == 2


@scenario("VC-19", "VC-11")
async def test_the_mail_waits_for_a_person(world: World) -> None:
    """Sending needs a decision: the hand-off shows what would go, and only after a yes it goes, once."""
    vaultd, client = await desk(world, SEND, **VALUES)
    answer = await client.call("passport_email_workflow", ASK, manual_fields={"given_name": "Ada"})
    approval = handed_off(answer)
    assert approval["kind"] == "PLAN_RUN"
    assert answer.details["pre_send_summary"]["recipient"] == TO
    assert answer.details["pre_send_summary"]["fields"][0]["value"] == "Ada"
    assert "send_draft_after_extract" not in await ran(vaultd)
    wait = world.start(take_next_action(client, approval, poll_interval_ms=250))
    await world.advance(world.tick_s)
    await decide(world, vaultd, approval, "approve")
    assert (await wait).data["decision_outcome"] == "ALLOW"
    assert (await ran(vaultd)).count("send_draft_after_extract") == 1


@scenario("VC-19")
async def test_a_passport_that_is_not_there(world: World) -> None:
    """Without a document the user is asked to upload one, with what the same call needs again; a look-up that fails
    otherwise says why. In neither case anything is executed."""
    vaultd, client = await begin(world)
    gone = {"error": {"code": "DOCUMENT_SLOT_UNRESOLVED", "message": "none"}}
    rows: list[tuple[int, Any, str]] = [
        (404, gone, "DOCUMENT_SLOT_UNRESOLVED"),
        (200, {}, ""),
        (200, {"document_id": " ", "item": {"document_id": None}}, ""),
        (200, {"item": ["doc_1"]}, ""),
    ]
    for status, body, vault_code in rows:
        await says(vaultd, LATEST, body, status=status)
        answer = await client.call("passport_email_workflow", ASK, subject="Mine")
        assert (answer.code, answer.error["vault_code"]) == ("MCP_DOCUMENT_UPLOAD_REQUIRED", vault_code), body
        action = answer.details["action"]
        assert action["type"] == "UPLOAD_DOCUMENT"
        assert action["document_requirement"] == {"type_id": "identity.passport", "subject_id": "self"}
        resume = {"recipient_email": TO, "subject": "Mine", "body_style": "concise"}
        assert action["resume_arguments"] == resume
    for status, body, upstream in (
        (403, {"error": {"code": "INSUFFICIENT_SCOPE", "message": "no scope"}}, "INSUFFICIENT_SCOPE: no scope"),
        (500, {}, "HTTP_ERROR: Internal Server Error"),
    ):
        await says(vaultd, LATEST, body, status=status)
        answer = await client.call("passport_email_workflow", ASK)
        assert (answer.code, answer.error["vault_code"]) == ("MCP_DOCUMENT_RESOLUTION_FAILED", "")
        assert answer.details == {"upstream_error": upstream}
    assert set(await called(vaultd)) == {f"GET {LATEST}"}
    document = {"tenant": "acme", "type_id": "identity.passport", "fields": VALUES}
    await asks_people(vaultd)
    await vaultd.control("PUT", "/control/documents/doc_1", document)
    assert (await client.call("passport_email_workflow", resume)).data["status"] == "SENT"


@scenario("VC-19")
async def test_what_the_user_must_fill_in(world: World) -> None:
    """The document lacks two fields, of which one is given by hand: just the other one is asked for. With both the mail
    goes."""
    known = {slot: value for slot, value in VALUES.items() if slot not in ("given_name", "passport_expiry_date")}
    vaultd, client = await desk(world, **known)
    answer = await client.call("passport_email_workflow", ASK, manual_fields={"given_name": "Ada"})
    assert (answer.code, answer.category) == ("MCP_MANUAL_FIELDS_REQUIRED", "validation")
    assert answer.details["missing_fields"] == ["passport_expiry_date"]
    assert answer.details["pre_send_summary"]["recipient"] == TO
    assert DRAFT not in [effect["verb"] for effect in await vaultd.effects()]
    given = {"given_name": "Ada", "passport_expiry_date": "2031-01-01"}
    assert (await client.call("passport_email_workflow", ASK, manual_fields=given)).data["status"] == "SENT"


def failed(step_id: Any, **details: Any) -> dict[str, Any]:
    return {"error": {"code": "PLAN_STEP_INVALID", "message": "no", "details": {"step_id": step_id, **details}}}


MISSING = ["passport_number", "shoe_size", "family_name", "given_name"]
SEND_FAILED = "MCP_GMAIL_DRAFT_SEND_FAILED"
FAILURES: list[tuple[int, Any, str, list[str] | None]] = [
    (422, failed("extract_passport_fields"), "MCP_PASSPORT_EXTRACTION_FAILED", None),
    (500, failed("extract_passport_fields", missing_slots=MISSING), "MCP_PASSPORT_EXTRACTION_FAILED", None),
    (422, failed("read_existing_profile"), "MCP_PASSPORT_PROFILE_READ_FAILED", None),
    (403, failed("read_after_extract_profile"), "MCP_PASSPORT_PROFILE_READ_FAILED", None),
    (
        422,
        failed("read_existing_profile", missing_slots=MISSING),
        "MCP_MANUAL_FIELDS_REQUIRED",
        ["family_name", "passport_number"],
    ),
    (
        422,
        failed("read_after_extract_profile", missing_slots=SLOTS[::-1]),
        "MCP_MANUAL_FIELDS_REQUIRED",
        SLOTS[1:],
    ),
    (422, failed("create_draft_from_existing", missing_slots=MISSING), SEND_FAILED, None),
    (422, failed("send_draft_after_extract"), SEND_FAILED, None),
    (422, failed("extract"), SEND_FAILED, None),
    (422, failed(["extract_passport_fields"]), SEND_FAILED, None),
    (500, {}, SEND_FAILED, None),
    (403, {"error": {"code": "CONNECTOR_APPROVAL_RULE_DENIED", "message": "no"}}, SEND_FAILED, None),
    (200, {}, SEND_FAILED, None),
    (200, {"run": {"run_id": "run_1", "state": "SENT"}}, SEND_FAILED, None),
    (200, {"run": {"state": "PENDING_APPROVAL"}}, SEND_FAILED, None),
    (200, {"run": {"run_id": "run_1", "state": "FAILED"}}, SEND_FAILED, None),
    (200, {"run": {"run_id": "run_1", "state": "denied", "last_error_code": "PLAN_POLICY_DRIFT"}}, SEND_FAILED, None),
]
"""What plan-execute answers, what that is called, and the fields to ask for (ruling 11)."""


@scenario("VC-19")
async def test_where_the_plan_failed_says_what_to_do(world: World) -> None:
    """A failure is named by the step that the vault says failed; the whole of it is kept, with what would have gone. No
    answer that says nothing counts as sent."""
    vaultd, client = await desk(world)
    for status, body, code, missing in FAILURES:
        await says(vaultd, EXECUTE_PLAN, body, status=status)
        answer = await client.call("passport_email_workflow", ASK, manual_fields={"given_name": "Ada"})
        assert (answer.code, answer.category) == (code, "validation"), body
        assert answer.details.get("missing_fields") == missing, body
        assert answer.details["pre_send_summary"]["fields"][0]["value"] == "Ada"
        upstream = answer.details["upstream_error"]
        assert set(upstream) == {"code", "category", "message", "retryable", "vault_code", "details"}
        assert upstream["details"]["vault_http_status"] == status
        if status >= 400:
            assert upstream["vault_code"] == body.get("error", {}).get("code", "HTTP_ERROR")
    assert await vaultd.effects() == []


@scenario("VC-19")
async def test_every_verb_that_fails_is_told_apart(world: World) -> None:
    """The daemon itself fails at each verb of the plan in turn; then it works again, and so does the same call."""
    vaultd, client = await desk(world, **VALUES)
    for verb, code in (
        (READ, "MCP_PASSPORT_PROFILE_READ_FAILED"),
        (EXTRACT, "MCP_PASSPORT_EXTRACTION_FAILED"),
        (DRAFT, SEND_FAILED),
        (SEND, SEND_FAILED),
    ):
        await vaultd.control("PUT", f"/control/verbs/{verb}", {"error": {"code": "VERB_FAILED", "message": "no"}})
        answer = await client.call("passport_email_workflow", ASK)
        assert answer.code == code, verb
        assert answer.details["upstream_error"]["vault_code"] == "VERB_FAILED"
        await vaultd.control("PUT", f"/control/verbs/{verb}", {})
    assert SEND not in [effect["verb"] for effect in await vaultd.effects()]
    assert (await client.call("passport_email_workflow", ASK)).data["status"] == "SENT"
