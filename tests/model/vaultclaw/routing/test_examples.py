"""The contract's worked examples of routing, value by value; rulings 5 and 6 where they differ from the program."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.model.vaultclaw.routing.resolve import SearchNeeded, choose_hit, resolve_text
from lasttick.model.vaultclaw.routing.result import Resolution

A = "send email to a@example.com"
SEND = "google.gmail.send_email.v1"


def resolved(text: str, **facts: Any) -> dict[str, Any]:
    found = resolve_text(text, facts, allow_search=True)
    assert isinstance(found, Resolution)
    return found.as_json()


def test_weather_with_the_time_after_the_place() -> None:
    data = resolved(f"{A} about weather in boston tomorrow")
    assert (data["status"], data["confidence"]) == ("RESOLVED_MISSING_INPUTS", "HIGH")
    assert data["domain"] == "google.gmail"
    assert data["route"] == {
        "route_id": SEND,
        "cookbook_id": "google.workspace",
        "version": "1.3.0",
        "entry_id": "gmail_tpl_plan_send_email_v1",
        "entry_type": "template.plan.v1",
        "source": "registry",
    }
    assert data["execution"] == {"strategy": "TEMPLATE", "tool": "vaultclaw_template_render"}
    assert data["inputs"] == {"to": ["a@example.com"], "subject": "weather in boston tomorrow"}
    assert data["missing_inputs"] == ["text_plain"]
    [guidance] = data["missing_input_guidance"]
    asked = guidance["external_fact_request"]
    assert asked.pop("instructions")
    assert asked == {
        "input_key": "text_plain",
        "fact_key": "weather_summary",
        "fact_kind": "weather_forecast",
        "kind": "weather_forecast",
        "parallelizable": True,
        "batch_group": "gmail_compose_enrichment",
        "request_text": f"{A} about weather in boston tomorrow",
        "location": "boston",
        "timeframe": "tomorrow",
    }
    assert (guidance["input_key"], guidance["required_for_route"]) == ("text_plain", SEND)
    assert guidance["resolution_mode"] == "AUTO_RETRY_WITH_FACTS"
    hint = data["progress_hint"]
    assert hint.pop("message")
    assert hint == {
        "mode": "AUTO_ENRICH_AND_RETRY",
        "next_action": "RUN_FACT_TASKS_AND_RETRY_ROUTE_RESOLVE",
        "retry_recommended": True,
        "parallelizable": True,
        "fact_keys": ["weather_summary"],
        "batch_groups": ["gmail_compose_enrichment"],
    }
    assert data["needs_clarification"] is False


def test_weather_with_its_summary_is_executable() -> None:
    summary = "Tomorrow in Boston: 58F with morning showers."
    data = resolved(f"{A} about weather in boston tomorrow", weather_summary=summary)
    assert data["status"] == "RESOLVED_EXECUTABLE"
    assert data["inputs"]["text_plain"] == f"Weather for boston (tomorrow): {summary}"
    assert data["missing_inputs"] == []
    assert (data["missing_input_guidance"], data["progress_hint"]) == (None, None)
    assert [(one["input_key"], one["source"]) for one in data["autofilled_inputs"]] == [
        ("subject", "nl_heuristic"),
        ("text_plain", "external_facts"),
    ]


@pytest.mark.parametrize(
    ("rest", "subject", "place", "time"),
    [
        ("about tomorrow's weather in boston", "tomorrow", "boston", "tomorrow"),
        ("with tomorrow weather in new york", "Weather update for new york (tomorrow)", "new york", "tomorrow"),
        ("with weather in oslo this weekend", "Weather update for oslo", "oslo", "this weekend"),
        ("with weather in oslo, today and tomorrow", "Weather update for oslo", "oslo", "today"),
        ("with weather in tomorrow", "Weather update (tomorrow)", None, "tomorrow"),
        ("with weather forecast for rome", "Weather update for rome", "rome", "today"),
        ("with the weather", "Weather update", None, "today"),
        ("with weather in tomorrowland", "Weather update for tomorrowland", "tomorrowland", "today"),
    ],
)
def test_place_and_time_of_the_weather(rest: str, subject: str, place: str | None, time: str) -> None:
    data = resolved(f"{A} {rest}")
    assert data["inputs"]["subject"] == subject
    [guidance] = data["missing_input_guidance"]
    asked = guidance["external_fact_request"]
    assert (asked.get("location"), asked["timeframe"]) == (place, time)


def test_nothing_but_a_recipient() -> None:
    data = resolved(A)
    assert data["missing_inputs"] == ["subject", "text_plain"]
    assert data["progress_hint"]["fact_keys"] == ["email_body", "email_subject"]
    assert data["needs_clarification"] is False
    assert data["autofilled_inputs"] == []


def test_not_even_a_recipient() -> None:
    data = resolved("send an email")
    assert data["missing_inputs"] == ["subject", "text_plain", "to"]
    hint = data["progress_hint"]
    assert hint["mode"] == "PARTIAL_AUTO_ENRICH_THEN_ASK_USER"
    assert hint["next_action"] == "RUN_FACT_TASKS_THEN_ASK_USER_IF_STILL_MISSING"
    assert data["needs_clarification"] is True
    assert [one["resolution_mode"] for one in data["missing_input_guidance"]] == [
        "AUTO_RETRY_WITH_FACTS",
        "AUTO_RETRY_WITH_FACTS",
        "ASK_USER",
    ]
    assert set(data["missing_input_guidance"][2]) == {
        "input_key",
        "required_for_route",
        "resolution_mode",
        "question",
    }


def test_only_questions() -> None:
    data = resolved("get content of the gmail message, please read it")
    assert data["missing_inputs"] == ["message_id"]
    assert {**data["progress_hint"], "message": ""} == {
        "mode": "ASK_USER",
        "message": "",
        "next_action": "ASK_USER_FOR_MISSING_INPUTS",
    }


@pytest.mark.parametrize(
    ("rest", "subject", "body"),
    [
        ("with subject as Soup and body summary of the recipe", "as Soup", "summary of the recipe"),
        ("with subject Hello and message body Dinner at eight, ok", "Hello", "Dinner at eight"),
        ("about the old car saying 'all fine'", "the old car saying", "all fine"),
        ("about cars, saying it runs", "cars", "it runs"),
        ("about cars, saying ,", "cars", None),
        ("regarding cars", "cars", "Following up regarding cars."),
        ("about a summary of cars", "a summary of cars", None),
    ],
)
def test_subject_and_body(rest: str, subject: str, body: str | None) -> None:
    inputs = resolved(f"{A} {rest}")["inputs"]
    assert inputs["subject"] == subject
    assert inputs.get("text_plain") == body


@pytest.mark.parametrize(
    ("text", "subject", "body", "source"),
    [
        (
            "send my passport over email to a@b.com",
            "Document: Passport",
            "Attached is my passport.",
            "attachment_default",
        ),
        (
            "send my drivers license by email to a@b.com saying here it is",
            "Document: Drivers License",
            "here it is",
            "nl_heuristic",
        ),
        (
            "send my passport by email to a@b.com saying ,",
            "Document: Passport",
            "Attached is my passport.",
            "attachment_default",
        ),
    ],
)
def test_the_body_of_an_attachment(text: str, subject: str, body: str, source: str) -> None:
    data = resolved(text)
    assert data["status"] == "RESOLVED_EXECUTABLE"
    assert (data["inputs"]["subject"], data["inputs"]["text_plain"]) == (subject, body)
    assert data["autofilled_inputs"][-1]["source"] == source


def test_a_body_that_somebody_must_write_defers_both() -> None:
    """A summary to be written leaves the subject of a document's mail open too."""
    data = resolved("send my passport by email to a@b.com with a summary of it")
    assert data["missing_inputs"] == ["subject", "text_plain"]
    assert data["autofilled_inputs"] == []


def test_list_inbox_wins_by_one_point() -> None:
    data = resolved("list inbox messages in gmail")
    assert data["route"]["route_id"] == "google.gmail.list_inbox.v1"
    assert (data["status"], data["confidence"]) == ("RESOLVED_EXECUTABLE", "HIGH")
    assert data["inputs"] == {"label": "inbox"}
    assert data["missing_inputs"] is None
    assert data["autofilled_inputs"] == []
    assert data["execution"] == {"strategy": "RECIPE", "tool": "vaultclaw_recipe_get"}


def test_without_passport_details_is_a_plain_mail() -> None:
    data = resolved("email my passport without passport details to a@example.com")
    assert (data["route"]["route_id"], data["confidence"]) == (SEND, "MEDIUM")


@pytest.mark.parametrize(
    ("text", "confidence", "inputs"),
    [
        ("trash the gmail message 18f2a9c0d1e2", "HIGH", {"message_id": "18f2a9c0d1e2"}),
        ("untrash message", "LOW", {}),
    ],
)
def test_a_tie_is_ambiguous(text: str, confidence: str, inputs: dict[str, Any]) -> None:
    data = resolved(text)
    assert (data["status"], data["confidence"], data["inputs"]) == ("AMBIGUOUS", confidence, inputs)
    assert (data["domain"], data["route"], data["execution"]) == ("", {}, {"strategy": ""})
    assert data["needs_clarification"] is True
    assert data["missing_inputs"] is None
    assert data["autofilled_inputs"] is None
    assert (data["missing_input_guidance"], data["progress_hint"]) == (None, None)


def test_a_request_of_plain_http() -> None:
    data = resolved("call the api endpoint")
    assert (data["route"], data["confidence"]) == (
        {"route_id": "generic.http.request.v1", "source": "registry"},
        "MEDIUM",
    )
    assert data["execution"] == {
        "strategy": "CONNECTOR_EXECUTE_JOB",
        "tool": "vaultclaw_connector_execute_job",
        "connector_id": "generic.http",
        "verb": "generic.http.request.v1",
        "orchestration": {"unbounded_profiles": True, "auto_create_profiles": True},
    }
    assert data["missing_inputs"] == ["url"]
    asked = data["missing_input_guidance"][0]["external_fact_request"]
    assert (asked["fact_key"], asked["kind"]) == ("url", "connector_input_generation")
    assert asked["batch_group"] == "generic_http_enrichment"
    filled = resolved("call the api endpoint", http_url="https://x.example", http_method="POST")
    assert filled["status"] == "RESOLVED_EXECUTABLE"
    assert filled["inputs"] == {"url": "https://x.example", "method": "POST"}
    assert [one["input_key"] for one in filled["autofilled_inputs"]] == ["method", "url"]


def test_what_time_is_it() -> None:
    needed = resolve_text("what time is it", {}, allow_search=True)
    assert isinstance(needed, SearchNeeded)
    assert (needed.query, needed.tags) == ("time", [])
    for found in (choose_hit(needed, []), resolve_text("what time is it", {}, allow_search=False)):
        assert isinstance(found, Resolution)
        data = found.as_json()
        assert (data["status"], data["confidence"]) == ("NOT_VAULT_ELIGIBLE", "LOW")
        assert (data["route"], data["execution"], data["missing_inputs"]) == ({}, {"strategy": ""}, None)
        assert data["needs_clarification"] is False
        assert data["reasons"]


@pytest.mark.parametrize(
    ("text", "status", "recipient"),
    [
        ("email the passport fields to a@b.com", "RESOLVED_EXECUTABLE", "a@b.com"),
        ("gmail my passport with details in the body to a@b.com", "RESOLVED_EXECUTABLE", "a@b.com"),
        ("email the passport details", "RESOLVED_MISSING_INPUTS", None),
        ("email the passport details to a@b.com and c@d.org", "AMBIGUOUS", None),
    ],
)
def test_passport_fields_in_a_mail(text: str, status: str, recipient: str | None) -> None:
    data = resolved(text)
    assert (data["status"], data["confidence"], data["domain"]) == (status, "HIGH", "google.gmail")
    assert data["route"] == {
        "route_id": "vaultclaw.passport_email_fields.v1",
        "entry_id": "vaultclaw_passport_email_workflow",
        "entry_type": "tool.workflow.v1",
        "source": "intent",
    }
    assert data["execution"] == {"strategy": "TOOL_INVOKE", "tool": "vaultclaw_passport_email_workflow"}
    assert data["inputs"].pop("recipient_email", None) == recipient
    assert data["inputs"] == {"request_text": text, "execute": True}
    assert data["missing_inputs"] == (["to"] if status == "RESOLVED_MISSING_INPUTS" else None)
    assert data["autofilled_inputs"] is None
    assert data["needs_clarification"] is (status != "RESOLVED_EXECUTABLE")


def test_passport_fields_with_a_subject() -> None:
    data = resolved("email passport fields to a@b.com with subject 'My papers'")
    assert data["inputs"]["subject"] == "My papers"


@pytest.mark.parametrize(
    "text", ["email no passport fields but a body with details", "email my passport to a@b.com", "show passport fields"]
)
def test_no_passport_fields_wanted(text: str) -> None:
    found = resolve_text(text, {}, allow_search=False)
    assert isinstance(found, Resolution)
    assert found.route.get("source") != "intent"
