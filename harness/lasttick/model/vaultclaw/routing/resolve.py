"""What does a request in words lead to? To one route with its inputs, to a question, or to nothing here.

Pure: the catalog is searched by the caller. `resolve_text` answers, or says what to search for; `choose_hit` answers,
or says whose entry is needed; `resolve_hit` answers. Nothing is ever executed. Source: contract vaultclaw 18; VC-18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.routing import compose, missing, passport_intent, score, search
from lasttick.model.vaultclaw.routing.registry import Route
from lasttick.model.vaultclaw.routing.request import Inputs, Request
from lasttick.model.vaultclaw.routing.result import (
    AMBIGUOUS,
    EXECUTABLE,
    MISSING_INPUTS,
    NOT_ELIGIBLE,
    Resolution,
    execution_json,
    route_json,
)
from lasttick.model.vaultclaw.routing.search import Hit


@dataclass(frozen=True, slots=True)
class SearchNeeded:
    """No known route fits: search the catalog for `query` among entries that have all `tags`."""

    request: Request
    query: str
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class EntryNeeded:
    """One hit is ahead of all others: `resolve_hit` wants its entry if it is a template."""

    request: Request
    hit: Hit
    score: int


def resolve_text(request_text: str, facts: Mapping[str, Any], allow_search: bool) -> Resolution | SearchNeeded:
    request = Request.read(request_text, facts)
    if passport_intent.wanted(request):
        return passport_intent.resolve(request)
    points, routes = score.best_routes(request.normal, request.tokens)
    if len(routes) > 1:
        return Resolution(
            AMBIGUOUS,
            score.confidence(points),
            request.inputs,
            [f"{len(routes)} routes fit equally well: " + ", ".join(route.route_id for route in routes)],
            "Name one action: send, draft, reply, list or read.",
            needs_clarification=True,
        )
    if routes:
        return _resolved(routes[0], points, request, "registry")
    if not allow_search:
        return nothing_fits(request)
    return SearchNeeded(request, search.query_of(request.normal, request.tokens), search.tags_of(request.tokens))


def choose_hit(needed: SearchNeeded, hits: Sequence[Hit]) -> Resolution | EntryNeeded:
    """The hit that is clearly ahead, as what recipes_search answered to `query` and `tags`."""
    request = needed.request
    ranked = search.ranked(hits, request.normal, request.tokens)
    if not ranked or ranked[0][0] < search.MATCH_FROM:
        return nothing_fits(request)
    best, hit = ranked[0]
    if len(ranked) > 1 and best - ranked[1][0] < search.LEAD:
        return Resolution(
            AMBIGUOUS,
            score.confidence(best),
            request.inputs,
            ["several entries of the catalog fit equally well"],
            "Name the connector and the action, or take an entry from vaultclaw_recipes_search.",
        )
    return EntryNeeded(request, hit, best)


def resolve_hit(needed: EntryNeeded, entry: Mapping[str, Any]) -> Resolution:
    """`entry`: the chosen hit's, as the catalog has it; that of a recipe is not looked at."""
    return _resolved(search.route_of(needed.hit, entry), needed.score, needed.request, "search")


def nothing_fits(request: Request) -> Resolution:
    return Resolution(
        NOT_ELIGIBLE,
        score.confidence(0),
        request.inputs,
        ["the request fits no known route and no entry of the catalog"],
        "Do it without the vault, or say which mail or HTTP action is meant.",
    )


def _resolved(route: Route, points: int, request: Request, source: str) -> Resolution:
    inputs = Inputs(request)
    if route.composes:
        compose.compose(request, inputs)
    inputs.fill_by_name((*route.required, *route.optional), request.facts)
    lacking = inputs.missing(route.required)
    guidance = missing.guide(route, lacking, request)
    return Resolution(
        MISSING_INPUTS if lacking else EXECUTABLE,
        score.confidence(points),
        inputs.values,
        [f"{route.route_id} fits best, with {points} points"],
        domain=route.domain,
        route=route_json(route, source),
        execution=execution_json(route),
        missing=lacking if route.required else None,
        autofilled=inputs.autofilled,
        guidance=guidance,
        needs_clarification=any(one.asks for one in guidance),
    )
