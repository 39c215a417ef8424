"""Which entry of the catalog is found, when none is, and what it needs. Source: contract vaultclaw 18.7; 20 item 4."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.model.vaultclaw.routing import search
from lasttick.model.vaultclaw.routing.registry import http_policy
from lasttick.model.vaultclaw.routing.resolve import EntryNeeded, SearchNeeded, choose_hit, resolve_hit, resolve_text
from lasttick.model.vaultclaw.routing.result import Resolution
from lasttick.model.vaultclaw.routing.search import Hit
from lasttick.model.vaultclaw.routing.text import tokens

EVENT = Hit(
    "team.calendar", "2.0.0", "tpl_create_event", "template.verb.v1", "Create event", "calendar", tags=("calendar",)
)
WEATHER = Hit("open.data", "1.0.0", "rec_stations", "recipe.verb.v1", "Stations", "generic.http", "generic.http.get.v1")
REQUEST = "create a calendar event"


def needed(text: str, **facts: Any) -> SearchNeeded:
    found = resolve_text(text, facts, allow_search=True)
    assert isinstance(found, SearchNeeded)
    return found


def found(text: str, hit: Hit, entry: dict[str, Any], **facts: Any) -> dict[str, Any]:
    chosen = choose_hit(needed(text, **facts), [hit])
    assert isinstance(chosen, EntryNeeded)
    return resolve_hit(chosen, entry).as_json()


def bindings(*rows: tuple[str, bool | None, Any]) -> dict[str, Any]:
    """A template's entry whose bindings are (input_key, required, default)."""
    entry: dict[str, Any] = {"bindings": []}
    for key, required, default in rows:
        binding = {"target_path": f"/request/{key}", "input_key": key}
        binding |= {} if required is None else {"required": required}
        entry["bindings"].append(binding | ({} if default is None else {"default": default}))
    return entry


@pytest.mark.parametrize(
    ("text", "query", "tags"),
    [
        ("the calendar of gmail", "gmail", ["gmail"]),
        ("a webhook over http", "http", ["http"]),
        ("webhook", "webhook", ["http"]),
        ("some words of equal length: beta alfa", "length", []),
        ("beta alfa gama", "alfa", []),
        ("a bc DEF", "a bc def", []),
    ],
)
def test_what_is_searched(text: str, query: str, tags: list[str]) -> None:
    assert (search.query_of(text.lower(), tokens(text)), search.tags_of(tokens(text))) == (query, tags)


def test_a_template_found_by_search() -> None:
    entry = bindings(("start", True, None), ("end", None, None), ("title", True, "Event"), ("note", False, None))
    data = found(REQUEST, EVENT, entry, start="10:00", note="not asked for")
    assert data["status"] == "RESOLVED_MISSING_INPUTS"
    assert data["confidence"] == "MEDIUM"
    assert data["route"] == {
        "route_id": "search:team.calendar:tpl_create_event",
        "cookbook_id": "team.calendar",
        "version": "2.0.0",
        "entry_id": "tpl_create_event",
        "entry_type": "template.verb.v1",
        "source": "search",
    }
    assert data["execution"] == {
        "strategy": "TEMPLATE",
        "tool": "vaultclaw_template_render",
        "connector_id": "calendar",
    }
    assert data["domain"] == ""
    assert data["inputs"] == {"start": "10:00"}
    assert [(one["input_key"], one["source"]) for one in data["autofilled_inputs"]] == [("start", "external_facts")]
    assert data["missing_inputs"] == ["end"]
    assert data["missing_input_guidance"][0]["resolution_mode"] == "ASK_USER"
    assert data["needs_clarification"] is True


@pytest.mark.parametrize(
    ("hit", "entry"),
    [
        (Hit("a", "1", "tpl_create_event", "template.verb.v1", connector_id="generic.http"), {}),
        (
            Hit("a", "1", "tpl_create_event", "template.verb.v1"),
            {"base_request": {"connector_id": "generic.http"}},
        ),
        (Hit("a", "1", "tpl_create_event", "template.plan.v1"), {"connector_id": "generic.http"}),
    ],
)
def test_inputs_of_plain_http_are_facts_to_find(hit: Hit, entry: dict[str, Any]) -> None:
    data = found(REQUEST, hit, {**bindings(("url", True, None), ("city", True, None)), **entry})
    assert data["missing_inputs"] == ["city", "url"]
    asked = [one["external_fact_request"] for one in data["missing_input_guidance"]]
    assert [one["fact_key"] for one in asked] == ["city", "url"]
    assert {one["batch_group"] for one in asked} == {"generic_http_enrichment"}
    assert data["progress_hint"]["mode"] == "AUTO_ENRICH_AND_RETRY"
    assert data["needs_clarification"] is False
    filled = found(
        REQUEST, hit, {**bindings(("url", True, None), ("city", True, None)), **entry}, city="oslo", http_url="u"
    )
    assert (filled["status"], filled["missing_inputs"]) == ("RESOLVED_EXECUTABLE", [])
    assert filled["inputs"] == {"city": "oslo", "url": "u"}


def test_only_plain_http_has_policies() -> None:
    assert search.policies_of("generic.http", ["a"]) == {"a": http_policy("a")}
    assert search.policies_of("google", ["a"]) == {}


def test_a_recipe_found_by_search_requires_nothing() -> None:
    data = found("the weather stations", WEATHER, {})
    assert data["status"] == "RESOLVED_EXECUTABLE"
    assert data["confidence"] == "LOW"
    assert data["execution"] == {
        "strategy": "RECIPE",
        "tool": "vaultclaw_recipe_get",
        "connector_id": "generic.http",
        "verb": "generic.http.get.v1",
    }
    assert data["domain"] == "generic.http"
    assert (data["missing_inputs"], data["autofilled_inputs"]) == (None, [])


def test_hits_too_close_to_each_other_are_ambiguous_without_a_question() -> None:
    older = Hit("team.calendar", "1.0.0", "tpl_create_event", "template.verb.v1", "Create event", "calendar")
    answer = choose_hit(needed(REQUEST), [EVENT, older])
    assert isinstance(answer, Resolution)
    data = answer.as_json()
    assert (data["status"], data["confidence"]) == ("AMBIGUOUS", "MEDIUM")
    assert data["needs_clarification"] is False
    assert (data["route"], data["missing_inputs"], data["autofilled_inputs"]) == ({}, None, None)


def test_a_lead_of_two_is_enough() -> None:
    second = Hit("z", "1", "tpl_create_event", "template.verb.v1", "Create")
    request = needed(REQUEST)
    points = [score for score, _ in search.ranked([second, EVENT], request.request.normal, request.request.tokens)]
    assert points[0] - points[1] >= search.LEAD
    chosen = choose_hit(request, [second, EVENT])
    assert isinstance(chosen, EntryNeeded)
    assert (chosen.hit, chosen.score) == (EVENT, points[0])


def test_a_weak_hit_is_none() -> None:
    weak = Hit("a", "1", "rec_other", "recipe.verb.v1", "Event")
    answer = choose_hit(needed(REQUEST), [weak])
    assert isinstance(answer, Resolution)
    assert answer.status == "NOT_VAULT_ELIGIBLE"


@pytest.mark.parametrize(
    ("hit", "domain"),
    [
        (Hit("a", "1", "e", "t", verb="google.gmail.x", tags=("http",)), "google.gmail"),
        (Hit("a", "1", "e", "t", verb="generic.http.x", tags=("gmail",)), "generic.http"),
        (Hit("a", "1", "e", "t", verb="google.gmailx", tags=("my http", "gmail")), "google.gmail"),
        (Hit("a", "1", "e", "t", tags=("https",)), "generic.http"),
        (Hit("a", "1", "e", "t"), ""),
    ],
)
def test_the_domain_of_a_hit(hit: Hit, domain: str) -> None:
    assert search.domain_of(hit) == domain


def test_score_of_a_hit() -> None:
    hit = Hit("a", "1", "tpl_url", "template.verb.v1", "Url url", "google.x", "generic.http.v1", ("url",))
    # url four times, template +2, google with gmail +2, http with url +2
    assert search.score_of(hit, "gmail url", tokens("gmail url")) == 10
    assert search.score_of(Hit("a", "1", " ", "template.verb.v1", "Url"), "url", tokens("url")) == 0
