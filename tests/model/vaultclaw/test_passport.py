"""What the passport workflow reads and writes. Source: contract vaultclaw 19; ruling VC-11; VC-19."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.passport import (
    SLOTS,
    Request,
    composed_text,
    document_id_in,
    first_address,
    pre_send_summary,
    read,
    style_in,
    subject_in,
)
from lasttick.model.vaultclaw.passport_plan import classify, data_of, failure_of

REQUEST = Request("a@b.com", "S", "", "doc_1", dict.fromkeys(SLOTS, "") | {"given_name": "Ada"}, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("send it to a@b.com and c@d.org", "a@b.com"),
        ("Ada <ada.l+x%y_z-1@mail.example.co.uk>.", "ada.l+x%y_z-1@mail.example.co.uk"),
        ("@b.com a@b c@d.e x@y.zz", "x@y.zz"),
        ("a@b@c.com", "b@c.com"),
        ("no address", ""),
        ("", ""),
    ],
)
def test_the_first_address(text: str, expected: str) -> None:
    assert first_address(text) == expected


def test_an_address_is_found_in_a_megabyte_of_what_is_nearly_one() -> None:
    assert first_address("a" * 500_000 + "@" + "b." * 250_000 + " x@y.org") == "x@y.org"
    assert first_address("a@" * 500_000) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with subject is 'My papers' to a@b.com", "My papers"),
        ('SUBJECT="Papers, and more"', "Papers, and more"),
        ("subject 'Papers'", "Papers"),
        ("subject Papers for you, please", "Papers for you"),
        ("subject 'First' and subject: \"Second\"", "Second"),  # the first pattern goes before the second
        ("subject ?", ""),
        ("subject", ""),
        ("resubject Papers", ""),
        ("subject Papers\nfor you. Bye", "Papers\nfor you"),
    ],
)
def test_the_subject_in_the_text(text: str, expected: str) -> None:
    assert subject_in(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("make it FORMAL and brief", "formal"),
        ("casual", "casual"),
        ("be concise", "concise"),
        ("in brief", "concise"),
        ("passport details", "detailed"),
        ("passport", ""),
    ],
)
def test_the_style_in_the_text(text: str, expected: str) -> None:
    assert style_in(text) == expected


def test_arguments_go_before_the_text_and_aliases_count() -> None:
    text = "formal mail to x@y.org with subject Hello"
    assert read(Arguments({"text": text})) == Request("x@y.org", "Hello", "formal", "", None, True)
    given_all = {
        "request_text": text,
        "recipient_email": "a@b.com",
        "subject": " S ",
        "body_style": "CASUAL",
        "passport_document_id": " d ",
        "manual_fields": {"given_name": " Ada ", "family_name": 7, "shoe_size": "39"},
        "execute": False,
    }
    manual = dict.fromkeys(SLOTS, "") | {"given_name": "Ada"}
    assert read(Arguments(given_all)) == Request("a@b.com", "S", "casual", "d", manual, False)
    assert read(Arguments({"request": "a@b.com"})).subject == "Passport Copy and Details"


@pytest.mark.parametrize(
    "arguments", [{}, {"text": "send my passport"}, {"recipient_email": "nobody", "text": "a@b.com"}]
)
def test_no_address_no_mail(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolFailure) as raised:
        read(Arguments(arguments))
    assert raised.value.code == "MCP_RECIPIENT_REQUIRED"
    assert raised.value.details == {"next_action": "ASK_USER_FOR_RECIPIENT_EMAIL"}


LINES = [
    "First Name: {{step_output:s:/values/given_name}}",
    "Last Name: {{step_output:s:/values/family_name}}",
    "Passport Number: {{step_output:s:/values/passport_number}}",
    "Issuing Country: {{step_output:s:/values/passport_issuing_country}}",
    "Expiry Date: {{step_output:s:/values/passport_expiry_date}}",
]


@pytest.mark.parametrize("style", ["", "formal", "casual", "detailed", "concise", "other"])
def test_the_text_has_an_intro_unless_it_is_concise(style: str) -> None:
    lines = composed_text(style, "s").split("\n")
    assert lines[-5:] == LINES
    assert len(lines) == (5 if style == "concise" else 7)
    if style != "concise":
        assert lines[0]
        assert lines[1] == ""


def read_step(step_id: str, **more: Any) -> dict[str, Any]:
    return {
        "step_id": step_id,
        "connector_id": "identity",
        "verb": "identity.profile.read.v1",
        "policy_version": "1",
        "request_base": {"subject_ref": "self", "profile_kind": "KYC", "slots": []},
        "request_bindings": [{"path": "/slots", "ref": {"source": "plan_input", "path": "/passport/slots"}}],
        **more,
    }


def draft_steps(suffix: str, text: str) -> list[dict[str, Any]]:
    return [
        {
            "step_id": f"create_draft_{suffix}",
            "connector_id": "google",
            "verb": "google.gmail.drafts.create",
            "policy_version": "1",
            "request_base": {"user_id": "me", "to": [], "subject": "", "text_plain": text, "document_attachments": []},
            "request_bindings": [
                {"path": "/to", "ref": {"source": "plan_input", "path": "/email/to"}},
                {"path": "/subject", "ref": {"source": "plan_input", "path": "/email/subject"}},
                {
                    "path": "/document_attachments",
                    "ref": {"source": "plan_input", "path": "/email/document_attachments"},
                },
            ],
            "default_success_next_step_id": f"send_draft_{suffix}",
        },
        {
            "step_id": f"send_draft_{suffix}",
            "connector_id": "google",
            "verb": "google.gmail.drafts.send",
            "policy_version": "1",
            "request_base": {"user_id": "me", "draft_id": "draft_placeholder"},
            "request_bindings": [
                {
                    "path": "/draft_id",
                    "ref": {"source": "step_output", "step_id": f"create_draft_{suffix}", "path": "/draft_id"},
                }
            ],
        },
    ]


def test_the_whole_plan_and_its_input() -> None:
    data = data_of(REQUEST)
    exists = [
        {
            "op": "exists",
            "ref": {"source": "step_output", "step_id": "read_existing_profile", "path": f"/values/{slot}"},
        }
        for slot in SLOTS
    ]
    branch = {"when": {"op": "and", "args": exists}, "next_step_id": "create_draft_from_existing"}
    assert data["plan"] == {
        "type": "connector.execution.plan.v1",
        "start_step_id": "read_existing_profile",
        "steps": [
            read_step(
                "read_existing_profile",
                success_branches=[branch],
                default_success_next_step_id="extract_passport_fields",
            ),
            {
                "step_id": "extract_passport_fields",
                "connector_id": "identity",
                "verb": "identity.extraction.run.v1",
                "policy_version": "1",
                "request_base": {
                    "subject_ref": "self",
                    "profile_kind": "KYC",
                    "slots": [],
                    "provider": "aws.textract.v1",
                    "mode": "ANALYZE_AND_SAVE",
                    "document_id": "passport_doc_placeholder",
                    "extracted_fields": {"given_name": "Ada"},
                },
                "request_bindings": [
                    {"path": "/document_id", "ref": {"source": "plan_input", "path": "/passport/document_id"}},
                    {"path": "/slots", "ref": {"source": "plan_input", "path": "/passport/slots"}},
                ],
                "default_success_next_step_id": "read_after_extract_profile",
            },
            read_step("read_after_extract_profile", default_success_next_step_id="create_draft_after_extract"),
            *draft_steps("from_existing", data["composed_text"]),
            *draft_steps("after_extract", data["composed_text_alt"]),
        ],
    }
    assert data["plan_input"] == {
        "passport": {
            "subject_ref": "self",
            "document_id": "doc_1",
            "slots": [
                "given_name",
                "family_name",
                "passport_number",
                "passport_expiry_date",
                "passport_issuing_country",
            ],
            "manual_fields": {"given_name": "Ada"},
        },
        "email": {"to": ["a@b.com"], "subject": "S", "document_attachments": [{"type_id": "identity.passport"}]},
    }
    assert "read_existing_profile:/values" in data["composed_text"]
    assert "read_after_extract_profile:/values" in data["composed_text_alt"]
    assert "Ada" not in data["composed_text"] + data["composed_text_alt"]
    assert data["resolved_fields"] == REQUEST.manual
    assert data["required_slot_set"] == list(SLOTS)
    assert (data["document_type_id"], data["document_subject"]) == ("identity.passport", "self")


def test_the_summary_and_no_manual_fields() -> None:
    summary = pre_send_summary(REQUEST)
    assert summary["fields"][0] == {"slot": "given_name", "label": "First Name", "value": "Ada"}
    assert [field["label"] for field in summary["fields"]] == [
        "First Name",
        "Last Name",
        "Passport Number",
        "Expiry Date",
        "Issuing Country",
    ]
    assert (summary["recipient"], summary["subject"], summary["attachment"]) == (
        "a@b.com",
        "S",
        {"type_id": "identity.passport"},
    )
    assert data_of(Request("a@b.com", "S", "", "d", None, True))["resolved_fields"] == {}


def plan_error(**details: Any) -> ToolFailure:
    return ToolFailure("MCP_INTERNAL", "no", {"vault_error": {"code": "X", "message": "no", "details": details}})


@pytest.mark.parametrize(
    ("details", "code", "more"),
    [
        ({"step_id": "extract_passport_fields"}, "MCP_PASSPORT_EXTRACTION_FAILED", {}),
        ({"step_id": "extract_passport_fields", "missing_slots": ["given_name"]}, "MCP_PASSPORT_EXTRACTION_FAILED", {}),
        (
            {
                "step_id": "read_after_extract_profile",
                "missing_slots": ["passport_number", "given_name", "family_name", "shoe_size"],
            },
            "MCP_MANUAL_FIELDS_REQUIRED",
            {"missing_fields": ["family_name", "passport_number"]},
        ),
        ({"step_id": "read_existing_profile"}, "MCP_PASSPORT_PROFILE_READ_FAILED", {}),
        ({"step_id": "read_existing_profile", "missing_slots": []}, "MCP_PASSPORT_PROFILE_READ_FAILED", {}),
        ({"step_id": "read_existing_profile", "missing_slots": "x"}, "MCP_PASSPORT_PROFILE_READ_FAILED", {}),
        ({"step_id": "send_draft_from_existing"}, "MCP_GMAIL_DRAFT_SEND_FAILED", {}),
        ({}, "MCP_GMAIL_DRAFT_SEND_FAILED", {}),
    ],
)
def test_a_failed_plan_is_named_after_the_step_that_failed(details: dict[str, Any], code: str, more: Any) -> None:
    error = plan_error(**details)
    failure = failure_of(error, REQUEST, {"recipient": "a@b.com"})
    assert (failure.code, failure.retryable) == (code, False)
    assert failure.details == {"pre_send_summary": {"recipient": "a@b.com"}, "upstream_error": error.error(), **more}


def test_an_approval_keeps_its_hand_off() -> None:
    error = ToolFailure("MCP_APPROVAL_REQUIRED", "ask", {"approval": {"kind": "PLAN_RUN"}}, vault_code="V")
    failure = failure_of(error, REQUEST, {"recipient": "a@b.com"})
    assert failure.error() == {
        **error.error(),
        "details": {"approval": {"kind": "PLAN_RUN"}, "pre_send_summary": {"recipient": "a@b.com"}},
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["details", "step_id", "x"]), inner),
)


@given(JSON)
def test_whatever_a_vault_error_holds_the_failure_is_classified(vault_error: Any) -> None:
    code, _ = classify(ToolFailure("MCP_INTERNAL", "no", {"vault_error": vault_error}), REQUEST)
    assert code == "MCP_GMAIL_DRAFT_SEND_FAILED"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"document_id": " d "}, "d"),
        ({"item": {"document_id": "e"}}, "e"),
        ({"document_id": "", "item": {"document_id": "e"}}, "e"),
        ({"item": "e"}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_document_id_of_an_answer(body: Any, expected: str) -> None:
    assert document_id_in(body) == expected
