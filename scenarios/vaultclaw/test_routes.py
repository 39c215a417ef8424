"""From a sentence to a route: what it names is found, what it lacks is asked of the right one, and nothing is a guess.

Source: contract vaultclaw 18, 20, 21; rulings 5, 6, 10, 18.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.vaultclaw.routing.resolve import resolve_text
from lasttick.model.vaultclaw.routing.result import Resolution

from .steps_routes import (
    FACTS,
    SEND,
    SUMMARY,
    A,
    Forecast,
    Mail,
    fact_requests,
    forecasts,
    loose,
    mails,
    places,
    recipients,
    resolve,
    sayings,
    sentences,
    shelve,
    template,
    topics,
)


@scenario("VC-18")
async def test_weather_waits_for_its_summary(world: World) -> None:
    """The seed's example: the place ends where the time begins, and the fact that comes back is the mail's body."""
    client = (await world.vaultclaw()).client("acme")
    request = f"{A} about weather in boston tomorrow"
    before = await resolve(client, request)
    assert (before["status"], before["confidence"]) == ("RESOLVED_MISSING_INPUTS", "HIGH")
    assert (before["route"]["route_id"], before["domain"]) == (SEND, "google.gmail")
    assert before["missing_inputs"] == ["text_plain"]
    asked = fact_requests(before)["text_plain"]
    assert (asked["fact_key"], asked["location"], asked["timeframe"]) == ("weather_summary", "boston", "tomorrow")
    assert (asked["kind"], asked["batch_group"]) == ("weather_forecast", "gmail_compose_enrichment")
    assert before["progress_hint"]["next_action"] == "RUN_FACT_TASKS_AND_RETRY_ROUTE_RESOLVE"
    after = await resolve(client, request, {"weather_summary": SUMMARY})
    assert (after["status"], after["missing_inputs"]) == ("RESOLVED_EXECUTABLE", [])
    assert (after["missing_input_guidance"], after["progress_hint"]) == (None, None)
    assert after["inputs"] == {**before["inputs"], "text_plain": f"Weather for boston (tomorrow): {SUMMARY}"}


@scenario("VC-18")
@given(forecast=forecasts, place=places, recipient=recipients)
@example(
    forecast=Forecast("ada@example.com", "st johns", "this weekend"), place="new york", recipient="grace@corp.test"
)
@settings(max_examples=12)
async def test_a_place_ends_where_the_time_begins(world: World, forecast: Forecast, place: str, recipient: str) -> None:
    """Wherever the time word stands, it is the time and no part of the place; no word is today. Another place or
    recipient changes only itself."""
    client = (await world.vaultclaw()).client("acme")
    for said in (forecast, replace(forecast, place=place), replace(forecast, recipient=recipient)):
        data = await resolve(client, said)
        asked = fact_requests(data)["text_plain"]
        assert (asked["location"], asked["timeframe"]) == (said.place, said.time or "today")
        tomorrow = " (tomorrow)" if said.time == "tomorrow" else ""
        subject = f"Weather update for {said.place}{tomorrow}"
        assert data["inputs"] == {"to": [said.recipient], "subject": subject}


@scenario("VC-18")
@pytest.mark.parametrize(
    ("rest", "body", "source"),
    [
        ("", "Attached is my passport.", "attachment_default"),
        (" saying Here it is", "Here it is", "nl_heuristic"),
        (" saying ,", "Attached is my passport.", "attachment_default"),
        (" about papers", "Attached is my passport.", "attachment_default"),
    ],
    ids=["no words", "words", "words of nothing", "a subject"],
)
async def test_a_document_has_a_body_of_its_own(world: World, rest: str, body: str, source: str) -> None:
    """The seed's words for a document come before the follow-up; what the request says itself comes before both, and a
    fact before all."""
    client = (await world.vaultclaw()).client("acme")
    request = f"send my passport over email to a@b.com{rest}"
    data = await resolve(client, request)
    assert data["status"] == "RESOLVED_EXECUTABLE"
    assert data["inputs"]["document_attachments"] == [{"type_id": "identity.passport"}]
    assert data["inputs"]["subject"] == ("papers" if "papers" in rest else "Document: Passport")
    assert data["inputs"]["text_plain"] == body
    assert data["autofilled_inputs"][-1]["source"] == source
    with_fact = await resolve(client, request, {"email_body": "As promised."})
    assert with_fact["inputs"]["text_plain"] == "As promised."


@scenario("VC-18")
@pytest.mark.parametrize(
    "words", ["a summary of it", "weather in oslo", "an answer to his question"], ids=["summary", "weather", "answer"]
)
async def test_a_text_that_is_yet_to_be_written_is_not_made_up(world: World, words: str) -> None:
    """A mail that asks for a summary, an answer or the weather has no body before somebody wrote it: not the follow-up,
    not the words for its document. The fact that is asked for completes it."""
    client = (await world.vaultclaw()).client("acme")
    for request in (f"{A} about {words}", f"{A} with my passport and {words}"):
        data = await resolve(client, request)
        assert data["status"] == "RESOLVED_MISSING_INPUTS"
        assert "text_plain" in data["missing_inputs"]
        assert "text_plain" not in data["inputs"]
        facts = {one["fact_key"]: FACTS[one["fact_key"]] for one in fact_requests(data).values()}
        assert (await resolve(client, request, facts))["status"] == "RESOLVED_EXECUTABLE"


@scenario("VC-18")
@given(mail=mails, recipient=recipients, topic=topics, saying=sayings)
@example(
    mail=Mail("ada@example.com", "the garden", "all went well"),
    recipient="l.t+x@sub.example.org",
    topic="Quarterly figures",
    saying="Dinner at eight",
)
@settings(max_examples=12)
async def test_another_part_changes_only_itself(
    world: World, mail: Mail, recipient: str, topic: str, saying: str
) -> None:
    """Of two mails that differ in recipient, subject or body, the answers differ in that input and in nothing else."""
    client = (await world.vaultclaw()).client("acme")
    before = await resolve(client, mail)
    assert before["inputs"] == {"to": [mail.recipient], "subject": mail.topic, "text_plain": mail.saying}
    for renamed, key, value in (
        (replace(mail, recipient=recipient), "to", [recipient]),
        (replace(mail, topic=topic), "subject", topic),
        (replace(mail, saying=saying), "text_plain", saying),
    ):
        after = await resolve(client, renamed)
        assert after["inputs"] == {**before["inputs"], key: value}
        assert without(after, *VALUES) == without(before, *VALUES)


@scenario("VC-18")
@given(sentence=sentences)
@example(sentence="send an email")
@example(sentence="call the api endpoint")
@settings(max_examples=12)
async def test_the_facts_asked_for_are_all_it_takes(world: World, sentence: str) -> None:
    """With the facts that an answer asks for, nothing but questions to the user is left. What was resolved before stays
    as it was, whatever the facts say, and asking once more changes nothing."""
    client = (await world.vaultclaw()).client("acme")
    before = await resolve(client, sentence)
    asked = fact_requests(before)
    facts = {one["fact_key"]: FACTS[one["fact_key"]] for one in asked.values()}
    after = await resolve(client, sentence, facts)
    assert after["route"] == before["route"]
    assert (after["missing_inputs"] or []) == [key for key in before["missing_inputs"] or [] if key not in asked]
    assert fact_requests(after) == {}
    assert {key: after["inputs"].get(key) for key in before["inputs"]} == before["inputs"]
    assert await resolve(client, sentence, facts) == after


@scenario("VC-18")
async def test_a_fact_never_replaces_what_the_request_says(world: World) -> None:
    """Recipient, subject and body stand in the request: facts of the same names, from wherever they came, change none
    of them."""
    client = (await world.vaultclaw()).client("acme")
    request = "send email to a@example.com with subject Hello and message body Dinner at eight"
    said = {"to": ["a@example.com"], "subject": "Hello", "text_plain": "Dinner at eight"}
    facts = {"to": ["b@evil.test"], "subject": "x", "email_subject": "x", "text_plain": "x", "email_body": "x"}
    assert (await resolve(client, request))["inputs"] == said
    data = await resolve(client, request, {**facts, "cc": ["c@example.com"]})
    assert data["inputs"] == {**said, "cc": ["c@example.com"]}
    assert [one["input_key"] for one in data["autofilled_inputs"]] == ["cc"]


@scenario("VC-18")
async def test_who_is_asked_for_what(world: World) -> None:
    """Recipients and ids are asked of the user, texts and URLs of the agent's other tools; a route that requires
    nothing lacks null, one that lacks nothing lacks an empty list."""
    client = (await world.vaultclaw()).client("acme")
    nobody = await resolve(client, "send an email")
    assert nobody["missing_inputs"] == ["subject", "text_plain", "to"]
    assert list(fact_requests(nobody)) == ["subject", "text_plain"]
    assert nobody["progress_hint"]["mode"] == "PARTIAL_AUTO_ENRICH_THEN_ASK_USER"
    assert nobody["needs_clarification"] is True
    bare = await resolve(client, A)
    assert bare["progress_hint"]["fact_keys"] == ["email_body", "email_subject"]
    assert bare["needs_clarification"] is False
    http = await resolve(client, "call the api endpoint")
    assert (http["execution"]["strategy"], http["confidence"]) == ("CONNECTOR_EXECUTE_JOB", "MEDIUM")
    assert http["progress_hint"]["batch_groups"] == ["generic_http_enrichment"]
    message = await resolve(client, "read the gmail message content")
    assert (message["missing_inputs"], fact_requests(message)) == (["message_id"], {})
    assert message["progress_hint"]["mode"] == "ASK_USER"
    inbox = await resolve(client, "list inbox messages in gmail")
    assert (inbox["status"], inbox["missing_inputs"], inbox["autofilled_inputs"]) == ("RESOLVED_EXECUTABLE", None, [])
    assert inbox["inputs"] == {"label": "inbox"}


@scenario("VC-18")
@pytest.mark.parametrize(
    ("request_text", "confidence", "inputs"),
    [
        ("trash the gmail message 18f2a9c0d1e2", "HIGH", {"message_id": "18f2a9c0d1e2"}),
        ("untrash message", "LOW", {}),
    ],
    ids=["strong", "weak"],
)
async def test_a_tie_is_a_question(world: World, request_text: str, confidence: str, inputs: dict[str, Any]) -> None:
    """Two routes that fit equally well are no route: nothing says which one would be executed."""
    client = (await world.vaultclaw()).client("acme")
    data = await resolve(client, request_text)
    assert (data["status"], data["confidence"], data["inputs"]) == ("AMBIGUOUS", confidence, inputs)
    assert (data["domain"], data["route"], data["execution"]) == ("", {}, {"strategy": ""})
    assert data["needs_clarification"] is True
    assert (data["missing_inputs"], data["autofilled_inputs"]) == (None, None)


@scenario("VC-18")
async def test_passport_fields_go_to_one_recipient(world: World) -> None:
    """One recipient is executable; with none or several the user is asked, and no recipient is picked. Who refuses the
    fields gets a plain mail."""
    client = (await world.vaultclaw()).client("acme")
    for to, status in (
        ("to a@b.com", "RESOLVED_EXECUTABLE"),
        ("", "RESOLVED_MISSING_INPUTS"),
        ("to a@b.com and c@d.org", "AMBIGUOUS"),
    ):
        data = await resolve(client, f"email my passport details {to}")
        assert (data["status"], data["confidence"]) == (status, "HIGH")
        assert data["execution"] == {"strategy": "TOOL_INVOKE", "tool": "vaultclaw_passport_email_workflow"}
        assert data["inputs"].get("recipient_email") == ("a@b.com" if status == "RESOLVED_EXECUTABLE" else None)
        assert data["needs_clarification"] is (status != "RESOLVED_EXECUTABLE")
        assert data["autofilled_inputs"] is None
    plain = await resolve(client, "email my passport without passport details to a@example.com")
    assert (plain["route"]["route_id"], plain["confidence"]) == (SEND, "MEDIUM")


@scenario("VC-18")
async def test_a_template_found_by_search_asks_for_what_it_needs(world: World) -> None:
    """Inputs that are required and have no default: of a plain HTTP request as facts to find, of any other connector as
    questions to the user. Facts of their names complete it."""
    client = (await world.vaultclaw()).client("acme")
    inputs: list[dict[str, Any]] = [
        {"input_key": "zone"},
        {"input_key": "day", "required": True},
        {"input_key": "unit", "required": True, "default": "m"},
        {"input_key": "note", "required": False},
    ]
    await shelve(client, "tides", template("tpl_tides", "generic.http", inputs))
    await shelve(client, "moons", template("tpl_moons", "astronomy", inputs))
    tides = await resolve(client, "show the tides")
    assert tides["route"]["route_id"] == "search:tides:tpl_tides"
    assert (tides["route"]["source"], tides["route"]["version"]) == ("search", "1.0.0")
    assert tides["missing_inputs"] == ["day", "zone"]
    asked = fact_requests(tides)
    assert {key: one["fact_key"] for key, one in asked.items()} == {"day": "day", "zone": "zone"}
    assert {one["batch_group"] for one in asked.values()} == {"generic_http_enrichment"}
    assert tides["progress_hint"]["mode"] == "AUTO_ENRICH_AND_RETRY"
    assert tides["needs_clarification"] is False
    moons = await resolve(client, "show the moons")
    assert (moons["missing_inputs"], fact_requests(moons)) == (["day", "zone"], {})
    assert moons["needs_clarification"] is True
    for word in ("tides", "moons"):
        data = await resolve(client, f"show the {word}", {"day": "monday", "zone": 7, "unit": "ft"})
        assert (data["status"], data["inputs"]) == ("RESOLVED_EXECUTABLE", {"day": "monday", "zone": 7})


@scenario("VC-18")
async def test_two_entries_too_close_are_no_choice(world: World) -> None:
    """An entry found by search must be ahead by two points: with a lead of one, or with two versions of one cookbook,
    the answer is ambiguous, and there is nothing that the user could be asked."""
    client = (await world.vaultclaw()).client("acme")
    await shelve(client, "tides", template("tpl_tides", "sea", [], title="Tides"))
    assert (await resolve(client, "show the tides"))["route"]["version"] == "1.0.0"
    await shelve(client, "tides", template("tpl_tides", "sea", [], title="Tides"), version="1.1.0")
    await shelve(client, "moons", template("tpl_moons", "sky", [], title="Moons"), template("tpl_of_moons", "sky", []))
    for word in ("tides", "moons"):
        data = await resolve(client, f"show the {word}")
        assert (data["status"], data["needs_clarification"], data["route"]) == ("AMBIGUOUS", False, {})


@scenario("VC-18", "VC-02")
@pytest.mark.parametrize(
    "given",
    [{}, {"request_text": " \n"}, {"request_text": 7, "request": [], "text": None}],
    ids=["none", "blank", "odd"],
)
async def test_no_text_is_no_request(world: World, given: dict[str, Any]) -> None:
    """Without a text in any of its three names the call is refused, and no route is looked for."""
    client = (await world.vaultclaw()).client("acme")
    answer = await client.call("route_resolve", given)
    assert (answer.code, answer.category, answer.details) == ("MCP_VALIDATION_ERROR", "validation", {})
    assert "resolver" not in answer.meta
    for name in ("request", "text"):
        taken = await client.call("route_resolve", {**given, name: "list inbox messages in gmail"})
        assert taken.data["route"]["route_id"] == "google.gmail.list_inbox.v1"


@scenario("VC-18")
async def test_no_search_without_leave(world: World) -> None:
    """With the search switched off, or without a hit, the request is none of the vault's; its inputs are told."""
    client = (await world.vaultclaw()).client("acme")
    await shelve(client, "tides", template("tpl_tides", "sea", []))
    for request, options in (("tides for a@b.com", {"allow_search_fallback": False}), ("what time is it", {})):
        data = await resolve(client, request, options=options)
        assert (data["status"], data["confidence"]) == ("NOT_VAULT_ELIGIBLE", "LOW")
        assert data["inputs"] == ({"to": ["a@b.com"]} if "@" in request else {})
        assert (data["route"], data["missing_inputs"], data["autofilled_inputs"]) == ({}, None, None)


@scenario("VC-18", "VC-16")
async def test_a_route_needs_neither_vault_nor_cookbook(world: World) -> None:
    """With a session, and with the bundled cookbook deleted, known routes are what they were; no call reaches the
    vault."""
    vaultd = await world.vaultd()
    client = (await world.vaultclaw()).client("acme")
    await client.configure()
    seen = len(await vaultd.log())
    requests = ("list inbox messages in gmail", "send my passport over email to a@b.com", "what time is it")
    before = [await resolve(client, request) for request in requests]
    listed = await client.call("cookbooks_list")
    for item in listed.data["items"]:
        gone = await client.call("cookbook_delete", cookbook_id=item["cookbook_id"], version=item["version"])
        assert gone.data["deleted"] is True
    assert [await resolve(client, request) for request in requests] == before
    assert (await vaultd.log())[seen:] == []


@scenario("VC-18")
@given(sentence=loose, facts=st.sampled_from([{}, FACTS, {"weather": {"summary": SUMMARY}, "to": [], "cc": "x"}]))
@example(sentence="with subject Hi and body Yo\nsaying ho, about cars", facts=FACTS)
@settings(max_examples=12)
async def test_any_sentence_is_answered_as_the_rules_say(world: World, sentence: str, facts: dict[str, Any]) -> None:
    """Over the wire comes what the pure rules give, member by member, but for the wording of sentences to people."""
    client = (await world.vaultclaw()).client("acme")
    text = f"email {sentence}"
    expected = resolve_text(text, facts, allow_search=False)
    assert isinstance(expected, Resolution)
    data = await resolve(client, text, facts, options={"allow_search_fallback": False})
    assert without(data, *FREE) == without(expected.as_json(), *FREE)


VALUES = ("inputs", "value")
"""Where the values of inputs stand."""
FREE = ("reasons", "reason", "fallback_hint", "question", "instructions", "message")
"""Members whose text is free."""


def without(value: Any, *names: str) -> Any:
    """Without the members of those names, at any depth."""
    if isinstance(value, dict):
        return {name: without(one, *names) for name, one in value.items() if name not in names}
    return [without(one, *names) for one in value] if isinstance(value, list) else value
