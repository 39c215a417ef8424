"""What holds for every sentence of the grammar, and for any text and facts. Source: VC-18."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.model.vaultclaw import json_text
from lasttick.model.vaultclaw.routing import text
from lasttick.model.vaultclaw.routing.request import has_value
from lasttick.model.vaultclaw.routing.resolve import resolve_text
from lasttick.model.vaultclaw.routing.result import Resolution
from lasttick.model.vaultclaw.routing.weather import weather_of

from .sentences import Forecast, Mail, any_texts, forecasts, mails, places, recipients, sayings, topics

SUMMARY = "Mild, with a breeze."
FACTS = {"email_subject": "A subject", "email_body": "A body", "weather_summary": SUMMARY, "url": "https://x.example"}

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
fact_names = st.sampled_from(["email_subject", "email_body", "weather_summary", "weather", "url", "to", "cc", "format"])
some_facts = st.dictionaries(fact_names | st.text(max_size=4), json_values, max_size=4)


def resolved(request: Mail | Forecast | str, facts: dict[str, Any] | None = None) -> dict[str, Any]:
    found = resolve_text(str(request), facts or {}, allow_search=False)
    assert isinstance(found, Resolution)
    return found.as_json()


@given(mail=mails)
def test_every_mail_of_the_grammar_finds_its_parts(mail: Mail) -> None:
    data = resolved(mail)
    assert data["route"]["route_id"] == "google.gmail.send_email.v1"
    assert data["inputs"]["to"] == [mail.recipient]
    assert data["inputs"].get("subject", "") == mail.topic
    body = mail.saying or (mail.topic and f"Following up regarding {mail.topic}.")
    assert data["inputs"].get("text_plain", "") == body
    assert (data["status"] == "RESOLVED_EXECUTABLE") == bool(mail.topic and body)


@given(forecast=forecasts)
def test_every_forecast_of_the_grammar_finds_place_and_time(forecast: Forecast) -> None:
    weather = weather_of(text.normal(str(forecast)))
    assert (weather.asked, weather.place, weather.time) == (True, forecast.place, forecast.time or "today")
    assert resolved(forecast)["missing_inputs"] == ["text_plain"]
    filled = resolved(forecast, {"weather_summary": SUMMARY})
    assert filled["inputs"]["text_plain"] == f"Weather for {forecast.place} ({forecast.time or 'today'}): {SUMMARY}"


@given(mail=mails, recipient=recipients, topic=topics, saying=sayings)
def test_renaming_one_part_of_a_mail_changes_only_it(mail: Mail, recipient: str, topic: str, saying: str) -> None:
    assume(mail.topic and mail.saying)
    before = resolved(mail)
    for renamed, key, value in (
        (replace(mail, recipient=recipient), "to", [recipient]),
        (replace(mail, topic=topic), "subject", topic),
        (replace(mail, saying=saying), "text_plain", saying),
    ):
        after = resolved(renamed)
        assert after["inputs"] == {**before["inputs"], key: value}
        assert without(after, "inputs", "autofilled_inputs") == without(before, "inputs", "autofilled_inputs")


@given(forecast=forecasts, place=places)
def test_renaming_the_place_changes_only_it(forecast: Forecast, place: str) -> None:
    before = resolved(forecast)
    after = resolved(replace(forecast, place=place))
    assert renamed_in(before, forecast.place, place) == after


@given(
    request=st.one_of(mails.map(str), forecasts.map(str), any_texts.map("send email {}".format)), again=st.booleans()
)
@example(request="send email to a@b.com", again=False)
@example(request="call the api endpoint", again=True)
def test_the_facts_that_were_asked_for_are_all_it_takes(request: str, again: bool) -> None:
    """A retry with them leaves nothing but questions to the user; one more retry changes nothing."""
    before = resolved(request)
    asked = [one["external_fact_request"] for one in before["missing_input_guidance"] or () if is_fact(one)]
    facts = {one["fact_key"]: FACTS[one["fact_key"]] for one in asked}
    after = resolved(request, facts)
    filled = {one["input_key"] for one in asked}
    assert [key for key in before["missing_inputs"] or () if key not in filled] == (after["missing_inputs"] or [])
    assert not any(is_fact(one) for one in after["missing_input_guidance"] or ())
    assert {key: after["inputs"][key] for key in before["inputs"]} == before["inputs"]
    if again:
        assert resolved(request, {**facts, **text_facts(after)}) == after


@given(request=any_texts, facts=some_facts)
def test_any_text_with_any_facts_gets_a_whole_answer(request: str, facts: dict[str, Any]) -> None:
    data = resolved(request, facts)
    assert json_text.parse(json_text.canonical(data)) == data
    missing, guidance = data["missing_inputs"], data["missing_input_guidance"]
    assert (
        (data["status"] == "RESOLVED_MISSING_INPUTS") == bool(missing) == bool(guidance) == bool(data["progress_hint"])
    )
    assert [one["input_key"] for one in guidance or ()] == (missing or [])
    assert not any(has_value(data["inputs"].get(key)) for key in missing or ())
    asks = any(one["resolution_mode"] == "ASK_USER" for one in guidance or ())
    assert data["needs_clarification"] == (asks or data["status"] == "AMBIGUOUS")
    named = resolved(request)["inputs"]
    from_text = {one["input_key"] for one in resolved(request)["autofilled_inputs"] or ()}
    assert all(data["inputs"][key] == value for key, value in named.items() if key not in from_text)


@given(value=st.text(max_size=90), bytes_max=st.integers(1, 70))
@example(value="a" * 69 + "é", bytes_max=70)
def test_cleaned_is_cut_to_bytes(value: str, bytes_max: int) -> None:
    clean = text.cleaned(value, bytes_max)
    assert len(clean.replace("\ufffd", "?").encode()) <= bytes_max
    assert clean == json_text.trim(clean)
    assert not clean or clean[0] not in " .,:;!?\"'"


def test_a_split_character_shows_byte_by_byte() -> None:
    assert text.cleaned("a" * 69 + "é", 70) == "a" * 69 + "\ufffd"
    assert text.cleaned("a" * 68 + "例", 70) == "a" * 68 + "\ufffd\ufffd"
    assert text.cleaned(" 'a  b', ", 70) == "a b"


def test_case_is_of_each_character_alone() -> None:
    assert text.normal("  ΟΔΟΣ\u3000İ\x1c\tX ") == "οδοσ i\x1c x"


def is_fact(guidance: dict[str, Any]) -> bool:
    return guidance["resolution_mode"] == "AUTO_RETRY_WITH_FACTS"


def text_facts(data: dict[str, Any]) -> dict[str, str]:
    """Facts that say what the inputs say already."""
    return {key: value for key, value in data["inputs"].items() if key in ("subject", "text_plain")}


def without(data: dict[str, Any], *names: str) -> dict[str, Any]:
    """Without those members, and without the request's own words in its guidance."""
    return {name: value for name, value in data.items() if name not in names}


def renamed_in(data: Any, old: str, new: str) -> Any:
    if isinstance(data, dict):
        return {name: renamed_in(value, old, new) for name, value in data.items()}
    if isinstance(data, list):
        return [renamed_in(one, old, new) for one in data]
    return data.replace(old, new) if isinstance(data, str) else data
