"""How well does a route fit a request? Source: contract vaultclaw 18 (confidence), 18.4 (score)."""

from __future__ import annotations

from lasttick.model.vaultclaw.routing.registry import GMAIL, HTTP, ROUTES, Route
from lasttick.model.vaultclaw.routing.text import words

MATCH_FROM = 4
"""A best route below this is no match."""
MARKERS = {
    GMAIL: ("gmail", "inbox", "email", "mail", "message", "messages", "thread", "label", "labels", "draft"),
    HTTP: ("http", "url", "webhook", "endpoint", "api"),
}
"""Words of a domain: a request without any is none of the domain's."""


def confidence(score: int) -> str:
    return "HIGH" if score >= 10 else "MEDIUM" if score >= 6 else "LOW"


def score_of(route: Route, normal_text: str, tokens: frozenset[str]) -> int:
    markers = _among(MARKERS[route.domain], tokens)
    if not markers:
        return 0
    keywords = sum(2 * (keyword in normal_text) + (keyword in tokens) for keyword in route.keywords)
    named = _among(words(f"{route.route_id} {route.entry_id}"), tokens)
    return markers + keywords + _among(route.tags, tokens) + named


def best_routes(normal_text: str, tokens: frozenset[str]) -> tuple[int, list[Route]]:
    """The best score, and all routes that reach it; no route when it is below `MATCH_FROM`."""
    scores = [score_of(route, normal_text, tokens) for route in ROUTES]
    best = max(scores)
    if best < MATCH_FROM:
        return best, []
    return best, [route for route, score in zip(ROUTES, scores, strict=True) if score == best]


def _among(wanted: tuple[str, ...] | list[str], tokens: frozenset[str]) -> int:
    return sum(word in tokens for word in wanted)
