"""What does a resolution look like? Every member is always there; what is null and what is empty has a meaning.

Source: contract vaultclaw 18 (data), 18.6 (guidance, progress_hint).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lasttick.model.vaultclaw.routing.registry import TOOLS, Route
from lasttick.model.vaultclaw.routing.request import Autofilled

EXECUTABLE = "RESOLVED_EXECUTABLE"
MISSING_INPUTS = "RESOLVED_MISSING_INPUTS"
AMBIGUOUS = "AMBIGUOUS"
NOT_ELIGIBLE = "NOT_VAULT_ELIGIBLE"

AUTO = "AUTO_RETRY_WITH_FACTS"
ASK = "ASK_USER"


@dataclass(frozen=True, slots=True)
class Guidance:
    """How one missing input is got: from the user, or by the agent as `fact_request` says."""

    input_key: str
    route_id: str
    question: str
    fact_request: Mapping[str, Any] | None = None

    @property
    def asks(self) -> bool:
        return self.fact_request is None

    def as_json(self) -> dict[str, Any]:
        said = {
            "input_key": self.input_key,
            "required_for_route": self.route_id,
            "resolution_mode": ASK if self.asks else AUTO,
            "question": self.question,
        }
        return said if self.fact_request is None else {**said, "external_fact_request": dict(self.fact_request)}


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer. `missing` None: the route requires nothing, or there is no route; `autofilled` None: nothing could be
    filled, since there is no route or it is the passport workflow."""

    status: str
    confidence: str
    inputs: Mapping[str, Any]
    reasons: Sequence[str]
    fallback_hint: str = ""
    domain: str = ""
    route: Mapping[str, str] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=lambda: {"strategy": ""})
    missing: Sequence[str] | None = None
    autofilled: Sequence[Autofilled] | None = None
    guidance: Sequence[Guidance] = ()
    needs_clarification: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "confidence": self.confidence,
            "domain": self.domain,
            "route": {name: value for name, value in self.route.items() if value},
            "execution": execution_of(self.execution),
            "inputs": dict(self.inputs),
            "missing_inputs": None if self.missing is None else list(self.missing),
            "autofilled_inputs": None if self.autofilled is None else [one.as_json() for one in self.autofilled],
            "missing_input_guidance": [one.as_json() for one in self.guidance] or None,
            "progress_hint": progress(self.guidance),
            "needs_clarification": self.needs_clarification,
            "reasons": list(self.reasons),
            "fallback_hint": self.fallback_hint,
        }


def route_json(route: Route, source: str) -> dict[str, str]:
    return {
        "route_id": route.route_id,
        "cookbook_id": route.cookbook_id,
        "version": route.version,
        "entry_id": route.entry_id,
        "entry_type": route.entry_type,
        "source": source,
    }


def execution_json(route: Route) -> dict[str, Any]:
    return {
        "strategy": route.strategy,
        "tool": TOOLS[route.strategy],
        "connector_id": route.connector_id,
        "verb": route.verb,
        "orchestration": dict(route.orchestration),
    }


def execution_of(execution: Mapping[str, Any]) -> dict[str, Any]:
    """Only `strategy` stays when it is empty."""
    return {name: value for name, value in execution.items() if value or name == "strategy"}


def progress(guidance: Sequence[Guidance]) -> dict[str, Any] | None:
    """What the caller does next, all guidance together. None when nothing is missing."""
    if not guidance:
        return None
    requests = [one.fact_request for one in guidance if one.fact_request is not None]
    if not requests:
        return {
            "mode": ASK,
            "message": "Nothing but an answer of the user gives the missing inputs.",
            "next_action": "ASK_USER_FOR_MISSING_INPUTS",
        }
    only_facts = len(requests) == len(guidance)
    return {
        "mode": "AUTO_ENRICH_AND_RETRY" if only_facts else "PARTIAL_AUTO_ENRICH_THEN_ASK_USER",
        "message": "Find the facts, then call vaultclaw_route_resolve again with them in context.facts"
        + ("." if only_facts else "; ask the user for what is still missing."),
        "next_action": "RUN_FACT_TASKS_AND_RETRY_ROUTE_RESOLVE"
        if only_facts
        else "RUN_FACT_TASKS_THEN_ASK_USER_IF_STILL_MISSING",
        "retry_recommended": True,
        "parallelizable": True,
        "fact_keys": sorted({request["fact_key"] for request in requests}),
        "batch_groups": sorted({request["batch_group"] for request in requests}),
    }
