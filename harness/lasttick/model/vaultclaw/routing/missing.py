"""How does the caller get an input that is missing: is it a fact to find, or a question to the user?

Source: contract vaultclaw 18.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lasttick.model.vaultclaw.routing.registry import FORECAST, Policy, Route
from lasttick.model.vaultclaw.routing.request import Request
from lasttick.model.vaultclaw.routing.result import Guidance

QUESTIONS = {
    "to": "To which e-mail address does this mail go?",
    "subject": "What is the subject of this mail?",
    "text_plain": "What does the body of this mail say?",
    "thread_id": "Which thread (thread_id) is answered?",
    "message_id": "Which message (message_id) is meant?",
    "url": "Which URL is requested?",
}


def guide(route: Route, missing: Iterable[str], request: Request) -> list[Guidance]:
    """One guidance for each of them, in their order."""
    return [_guidance(route, key, request) for key in missing]


def policy_for(route: Route, input_key: str, request: Request) -> Policy | None:
    """None: the user is asked."""
    policy = route.policies.get(input_key)
    if policy and policy.for_weather and request.weather.asked and not request.weather_summary:
        return policy.for_weather
    return policy


def _guidance(route: Route, key: str, request: Request) -> Guidance:
    policy = policy_for(route, key, request)
    if policy is None:
        return Guidance(key, route.route_id, QUESTIONS.get(key, f"What is the value of {key}?"))
    retry = f"then call vaultclaw_route_resolve again with it in context.facts.{policy.fact_key}"
    fact_request: dict[str, Any] = {
        "input_key": key,
        "fact_key": policy.fact_key,
        "fact_kind": policy.fact_kind,
        "kind": policy.fact_kind,
        "parallelizable": True,
        "batch_group": policy.batch_group,
        "request_text": request.text,
        "instructions": f"Find {policy.fact_key} for this request, {retry}.",
    }
    if policy is FORECAST:
        if request.weather.place:
            fact_request["location"] = request.weather.place
        fact_request["timeframe"] = request.weather.time
    return Guidance(key, route.route_id, f"Find {key} by your other tools, {retry}.", fact_request)
