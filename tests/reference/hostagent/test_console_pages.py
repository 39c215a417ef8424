"""The pages themselves: hostile names stay text, and all that a page needs is in the package."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from lasttick.reference.hostagent import console_pages
from lasttick.reference.hostagent.console_pages import FOLDER, PARTS, dashboard, login_page, part, problem_page

HOSTILE = "\"'><script>alert(1)</script><img src=//evil.example onerror=alert(1)>{{summary}}&amp;\ud800"
SHOWN: dict[str, Any] = {
    "host_id": HOSTILE,
    "ttl_s": 60.0,
    "devices": [
        {"device_id": HOSTILE, "platform": HOSTILE, "width_px": 1, "height_px": 2, "status": "busy", "owner": "mcp"},
        {"device_id": "p", "platform": "ios", "width_px": 1, "height_px": 2, "status": "idle", "owner": None},
    ],
    "mcp_busy_devices": [
        {"device_id": HOSTILE, "session": "<b>12345", "held_s": 1.5, "ttl_left_s": 58.4, "in_flight": 0},
        {"device_id": "p", "session": "12345678", "held_s": 1.5, "ttl_left_s": 60.0, "in_flight": 1},
    ],
    "tasks": [
        {"assignment_id": HOSTILE, "device_id": HOSTILE, "status": HOSTILE, "reason": HOSTILE, "began_s_ago": 3.0}
    ],
}
EMPTY: dict[str, Any] = {"host_id": "h", "ttl_s": 60.0, "devices": [], "mcp_busy_devices": [], "tasks": []}


class Elements(HTMLParser):
    def __init__(self, page: bytes | memoryview) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(bytes(page).decode())

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_adds_no_element_and_no_attribute() -> None:
    allowed = {tag for tag, _ in Elements(dashboard(EMPTY).body).found} | {"code", "progress", "span"}
    page = Elements(dashboard(SHOWN).body)
    assert {tag for tag, _ in page.found} == allowed
    assert [attrs for tag, attrs in page.found if tag == "script"] == [{"src": "/console.js", "defer": None}]
    assert not [name for _, attrs in page.found for name in attrs if name.startswith("on") or name == "style"]
    assert page.text.count("{{summary}}") == 8, "what a value holds is not filled in again"


def test_who_holds_what_is_told_without_scripts() -> None:
    text = Elements(dashboard(SHOWN).body).text
    for said in ("2 of 2 devices held", "held 2 s", "58 s left", "1 call in flight", "busy · MCP", "iOS · 1 × 2 px"):
        assert said in text
    nothing = Elements(dashboard(EMPTY).body).text
    for said in ("No device is held over MCP.", "drives no device", "No cloud task"):
        assert said in nothing


@pytest.mark.parametrize(
    "page",
    [login_page(), login_page(401, "no"), problem_page(403, "a", "b"), dashboard(SHOWN)],
    ids=["login", "login-refused", "problem", "dashboard"],
)
def test_a_page_can_be_read_by_everybody(page: Any) -> None:
    """Language, one heading, labels, a width that follows the screen, and nothing from anywhere else."""
    elements = Elements(page.body).found
    tags = [tag for tag, _ in elements]
    assert ("html", {"lang": "en"}) in elements
    assert (tags.count("h1"), tags.count("main"), tags.count("title")) == (1, 1, 1)
    assert any(attrs.get("name") == "viewport" for _, attrs in elements)
    labelled = {attrs["for"] for tag, attrs in elements if tag == "label"}
    assert {attrs["id"] for tag, attrs in elements if tag == "input"} == labelled
    for _, attrs in elements:
        for name in ("src", "href", "action"):
            address = attrs.get(name)
            assert address is None or re.fullmatch(r"/[a-z.]*|#[a-z]+", address), f"{name}={address}"
            assert address is None or not address.endswith((".css", ".js", ".svg")) or address in PARTS
    assert all(tag != "img" or attrs.get("alt") is not None for tag, attrs in elements)


def test_a_mistake_is_said_and_tied_to_its_field() -> None:
    (field,) = [attrs for tag, attrs in Elements(login_page(401, "<no>").body).found if tag == "input"]
    assert field["aria-describedby"] == "problem"
    assert field["aria-invalid"] == "true"
    assert b"&lt;no&gt;" in login_page(401, "<no>").body
    (field,) = [attrs for tag, attrs in Elements(login_page().body).found if tag == "input"]
    assert "aria-describedby" not in field


@pytest.mark.parametrize("path", PARTS)
def test_the_parts_are_there_and_are_what_they_say(path: str) -> None:
    answer = part(path)
    assert answer.headers["content-type"] == PARTS[path]
    assert answer.body


def test_the_script_makes_text_and_nothing_else_of_what_it_is_told() -> None:
    script = (FOLDER / "console.js").read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "setAttribute(on"):
        assert word not in script
    sheet = (FOLDER / "console.css").read_text()
    for word in ("url(", "@import", "http"):
        assert word not in sheet


def test_the_policy_lets_in_what_the_pages_need_and_no_more() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in console_pages.POLICY.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) == {"'self'", "'none'"}
    assert {name for name, value in rules.items() if value == "'none'"} == {"base-uri", "frame-ancestors"}
