"""The tool route_resolve: its arguments, when it reads the catalog and what it asks of it; it has no vault at all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.reference.vaultclaw.tool import ToolCall
from lasttick.reference.vaultclaw.tools.routes import TOOLS

[TOOL] = TOOLS
HIT = {
    "cookbook_id": "team.calendar",
    "version": "2.0.0",
    "entry_id": "tpl_create_event",
    "entry_type": "template.verb.v1",
    "title": "Create event",
    "connector_id": "generic.http",
}
ENTRY = {**HIT, "bindings": [{"target_path": "/request/start", "input_key": "start"}]}
SEARCHES = "create a calendar event"


@dataclass
class Shelf:
    """A catalog of these hits; notes what it is asked. Without `entry` it fails as an entry that was just deleted."""

    hits: list[dict[str, Any]] = field(default_factory=list)
    entry: dict[str, Any] | None = None
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    async def search(self, query: str, tags: list[str]) -> list[dict[str, Any]]:
        self.asked.append(("search", query, tags))
        return self.hits

    async def recipe(self, cookbook_id: str, entry_id: str, version: str) -> dict[str, Any]:
        self.asked.append(("recipe", cookbook_id, entry_id, version))
        if self.entry is None:
            raise ToolFailure("MCP_CATALOG_NOT_FOUND", "deleted")
        return self.entry


@dataclass
class OnlyACatalog:
    """The parts of a server that has nothing else: touching another one, or the vault, is an AttributeError."""

    catalog: Shelf


def call(shelf: Shelf, **arguments: Any) -> Success:
    parts: Any = OnlyACatalog(shelf)
    return asyncio.run(TOOL.run(ToolCall(Arguments(arguments), "default", parts)))


def test_how_it_is_advertised() -> None:
    listed = TOOL.as_json()
    assert listed["name"] == "vaultclaw_route_resolve"
    assert listed["inputSchema"] == {
        "type": "object",
        "properties": {
            "request_text": {"type": "string"},
            "options": {"type": "object"},
            "context": {"type": "object", "properties": {"facts": {"type": "object"}}},
        },
        "required": ["request_text"],
    }


@pytest.mark.parametrize("arguments", [{}, {"request_text": " "}, {"request_text": 7, "request": None, "text": "\n"}])
def test_no_text_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolFailure) as failed:
        call(Shelf(), **arguments)
    assert (failed.value.code, failed.value.retryable) == ("MCP_VALIDATION_ERROR", False)


@pytest.mark.parametrize("name", ["request_text", "request", "text"])
def test_a_known_route_is_resolved_without_the_catalog(name: str) -> None:
    shelf = Shelf()
    answer = call(shelf, **{name: " list inbox messages in gmail "})
    assert answer.data["route"]["route_id"] == "google.gmail.list_inbox.v1"
    assert answer.meta.as_json() == {
        "request_id": "",
        "vault_http_status": 0,
        "vault_code": "",
        "resolver": "registry+search.v1",
    }
    assert shelf.asked == []


def test_facts_come_in_the_context() -> None:
    facts = {"email_subject": "S", "email_body": "B"}
    answer = call(Shelf(), request_text="send email to a@b.com", context={"facts": facts})
    assert answer.data["inputs"] == {"to": ["a@b.com"], "subject": "S", "text_plain": "B"}
    for odd in (None, [], "x", {"facts": None}, {"facts": ["email_body"]}):
        assert call(Shelf(), request_text="send email to a@b.com", context=odd).data["missing_inputs"]


def test_a_search_takes_one_look_and_the_chosen_template() -> None:
    shelf = Shelf([HIT], ENTRY)
    answer = call(shelf, request_text=SEARCHES, context={"facts": {"start": "10:00"}})
    assert shelf.asked == [
        ("search", "calendar", []),
        ("recipe", "team.calendar", "tpl_create_event", "2.0.0"),
    ]
    assert answer.data["status"] == "RESOLVED_EXECUTABLE"
    assert answer.data["inputs"] == {"start": "10:00"}
    assert answer.meta.more == {"resolver": "registry+search.v1"}


def test_a_recipe_is_not_read() -> None:
    shelf = Shelf([{**HIT, "entry_type": "recipe.verb.v1", "tags": ["calendar"]}])
    assert call(shelf, request_text=SEARCHES).data["status"] == "RESOLVED_EXECUTABLE"
    assert shelf.asked == [("search", "calendar", [])]


def test_nothing_found() -> None:
    assert call(Shelf(), request_text=SEARCHES).data["status"] == "NOT_VAULT_ELIGIBLE"


@pytest.mark.parametrize(
    ("options", "searches"),
    [({"allow_search_fallback": False}, False), ({"allow_search_fallback": "no"}, True), (None, True), ([], True)],
)
def test_a_search_can_be_forbidden(options: Any, searches: bool) -> None:
    shelf = Shelf()
    assert call(shelf, request_text=SEARCHES, options=options).data["status"] == "NOT_VAULT_ELIGIBLE"
    assert bool(shelf.asked) == searches


def test_a_template_that_can_not_be_read_is_never_executable() -> None:
    with pytest.raises(ToolFailure) as failed:
        call(Shelf([HIT]), request_text=SEARCHES)
    assert failed.value.code == "MCP_CATALOG_NOT_FOUND"
