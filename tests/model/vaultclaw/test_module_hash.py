"""The pure decisions around module_hash. Source: contract vaultclaw 10; VC-07."""

from typing import Any

import pytest

from lasttick.model.vaultclaw.module_hash import need_of, normalise_steps, report, with_default_query

INBOX = {"pred": {"field": "label", "op": "eq", "value": {"kind": "enum", "enum": "inbox"}}}
GMAIL = {"connector_id": "google", "verb": "google.gmail.messages.get"}


@pytest.mark.parametrize("verb", ["google.gmail.messages.list", "Google.Gmail.Messages.LIST.v1"])
@pytest.mark.parametrize("query", [None, {}, {"pred": {}}, {"bool": []}, {"pred": "x", "bool": {}}, "text", []])
def test_a_list_that_asks_for_nothing_asks_for_the_inbox_even_with_a_hash(verb: str, query: Any) -> None:
    given = {"verb": verb, "query_ast_v1": query, "module_hash": "h"}
    assert with_default_query(given) == {"verb": verb, "query_ast_v1": INBOX, "module_hash": "h"}
    assert given["query_ast_v1"] == query  # the caller's object is its own


@pytest.mark.parametrize(
    "given",
    [
        {"verb": "google.gmail.messages.list", "query_ast_v1": {"pred": {"field": "from"}}},
        {"verb": "google.gmail.messages.list", "query_ast_v1": {"bool": {"and": []}}},
        {"verb": "google.gmail.messages.list.v2"},
        {},
    ],
)
def test_other_requests_keep_their_query(given: dict[str, Any]) -> None:
    assert with_default_query(given) == given


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (GMAIL, "google_gmail_bounded"),
        ({"connector_id": " GOOGLE ", "verb": "Google.Gmail.x"}, "google_gmail_bounded"),
        ({**GMAIL, "module_hash": "  "}, "google_gmail_bounded"),
        ({**GMAIL, "module_hash": 7}, "google_gmail_bounded"),
        ({"connector_id": "any", "verb": "v", "request": {"token_secret_id": "s"}}, "legacy_secret_binding_fields"),
        (
            {"connector_id": "any", "verb": "v", "request": {"required_secret_ids": [1, " ", "s"]}},
            "legacy_secret_binding_fields",
        ),
    ],
)
def test_what_needs_a_hash(given: dict[str, Any], reason: str) -> None:
    need = need_of(given)
    assert need.needed
    assert report(need, "abc") == {
        "applied": True,
        "reason": reason,
        "connector_id": str(given["connector_id"]).strip(),
        "verb": given["verb"],
        "module_hash": "abc",
    }


@pytest.mark.parametrize(
    "given",
    [
        {**GMAIL, "module_hash": "h"},
        {"verb": "google.gmail.x"},
        {"connector_id": "google", "verb": " "},
        {"connector_id": "google", "verb": "google.gmail"},
        {"connector_id": "google.gmail", "verb": "google.gmail.x"},
        {"connector_id": "any", "verb": "v", "request": {"token_secret_id": " ", "required_secret_ids": ["", None]}},
        {"connector_id": "any", "verb": "v", "request": {"required_secret_ids": "s"}},
        {"connector_id": "any", "verb": "v", "token_secret_id": "s", "request": []},
    ],
)
def test_what_needs_none(given: dict[str, Any]) -> None:
    answer = report(need_of(given))
    assert answer["applied"] is False
    assert answer["reason"]
    assert set(answer) == {"applied", "reason"}


def test_steps_get_a_base_and_the_inbox_but_never_a_hash() -> None:
    plan = {
        "name": "p",
        "steps": [
            {**GMAIL, "verb": "google.gmail.messages.list", "request_base": None},
            {**GMAIL, "request_base": {"a": 1}},
            {"connector_id": "google", "verb": " "},
            "no step",
        ],
    }
    sent, answer = normalise_steps(plan)
    assert sent == {
        "name": "p",
        "steps": [
            {**GMAIL, "verb": "google.gmail.messages.list", "request_base": {}, "query_ast_base": INBOX},
            {**GMAIL, "request_base": {"a": 1}},
            {"connector_id": "google", "verb": " "},
            "no step",
        ],
    }
    assert (answer["applied_count"], answer["applied"], bool(answer["note"])) == (0, [], True)


@pytest.mark.parametrize("steps", [None, [], {}, "x"])
def test_without_steps_there_is_no_note(steps: Any) -> None:
    assert normalise_steps({"steps": steps}) == ({"steps": steps}, {"applied_count": 0, "applied": []})
