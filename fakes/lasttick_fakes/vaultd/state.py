"""What does the vault remember? Everything, in one object that a restart hands on, in memory or as JSON.

A daemon that dies loses its log and its troubles, and nothing of this. Times are nanoseconds of the clock, so a dump is
of use to a daemon with the same clock: the same world, or another process of the same machine since it booted.
"""

from __future__ import annotations

import heapq
from dataclasses import asdict, dataclass, field
from typing import Any

from lasttick_fakes.vaultd.approval import Approval
from lasttick_fakes.vaultd.connectors import DEFAULT_CONNECTORS, Connector, Policy
from lasttick_fakes.vaultd.principals import DEFAULT_TOKENS, Principal

DOCUMENT_TYPES = (
    {"type_id": "identity.passport", "title": "Passport", "words": ["passport", "travel document", "id"]},
    {"type_id": "identity.driver_license", "title": "Driver's license", "words": ["driver", "license", "licence"]},
    {"type_id": "finance.invoice", "title": "Invoice", "words": ["invoice", "bill"]},
)
TERMINAL = ("SUCCEEDED", "FAILED", "DENIED", "CANCELLED", "EXPIRED")


@dataclass(slots=True)
class Work:
    """One job or one run of a plan, which is a job of the same id. Mutable: it belongs to the state.

    `script`: a work whose states are told, `[{at_s, status, error?}]`; nothing else moves it. `outcome` is the result
    of what runs until `until_ns`, or its error.
    """

    work_id: str
    kind: str
    tenant: str
    agent_id: str
    created_ns: int
    status: str = "RUNNING"
    code: str = ""
    message: str = ""
    challenge_id: str = ""
    connector_id: str = ""
    verb: str = ""
    plan: dict[str, Any] = field(default_factory=dict)
    plan_input: Any = None
    step_id: str = ""
    visited: list[str] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    until_ns: int | None = None
    outcome: dict[str, Any] = field(default_factory=dict)
    script: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Person:
    """A scripted approver: decides `after_s` after a request that matches; `times` None: as often as it comes."""

    decision: str
    after_s: float = 0.0
    name: str = "Pat"
    tenant: str | None = None
    verb: str | None = None
    times: int | None = None


@dataclass(slots=True)
class VaultState:
    """The daemon's memory. `due` is a heap of `[t_ns, n, what, id]`: what happens next without anybody's call."""

    tokens: dict[str, Principal] = field(default_factory=lambda: dict(DEFAULT_TOKENS))
    connectors: dict[str, Connector] = field(
        default_factory=lambda: {one.connector_id: one for one in DEFAULT_CONNECTORS}
    )
    policy: Policy = field(default_factory=Policy)
    persons: list[Person] = field(default_factory=list)
    profiles: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    bindings: list[dict[str, Any]] = field(default_factory=list)
    types: list[dict[str, Any]] = field(default_factory=lambda: [dict(one) for one in DOCUMENT_TYPES])
    documents: list[dict[str, Any]] = field(default_factory=list)
    identities: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    verbs: dict[str, dict[str, Any]] = field(default_factory=dict)
    works: dict[str, Work] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    effects: list[dict[str, Any]] = field(default_factory=list)
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    due: list[list[Any]] = field(default_factory=list)

    def next_id(self, kind: str) -> str:
        """`job_1`, `job_2`, ...: ids are counted, and secret to nobody."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}_{self.counts[kind]}"

    def remind(self, t_ns: int, what: str, ident: str) -> None:
        """Something happens to `ident` at that time."""
        self.counts["due"] = self.counts.get("due", 0) + 1
        heapq.heappush(self.due, [t_ns, self.counts["due"], what, ident])

    def person_for(self, tenant: str, verb: str) -> Person | None:
        """The first scripted person whom a new request meets; one who is used up is gone."""
        for index, person in enumerate(self.persons):
            if person.tenant in (None, tenant) and person.verb in (None, verb):
                if person.times is not None:
                    left = Person(**{**asdict(person), "times": person.times - 1})
                    self.persons[index : index + 1] = [left] if left.times else []
                return person
        return None

    def dump(self) -> dict[str, Any]:
        """All of it as JSON-able data; `load` is its inverse."""
        return asdict(self)


def load(dumped: dict[str, Any]) -> VaultState:
    """The state of a `dump` that went through JSON, or not."""
    whole = dict(dumped)
    whole["tokens"] = {
        key: Principal(**{**one, "scopes": tuple(one["scopes"])}) for key, one in whole["tokens"].items()
    }
    whole["connectors"] = {
        key: Connector(**{**one, "verbs": tuple(one["verbs"])}) for key, one in whole["connectors"].items()
    }
    whole["policy"] = Policy(**whole["policy"])
    whole["persons"] = [Person(**one) for one in whole["persons"]]
    whole["works"] = {key: Work(**one) for key, one in whole["works"].items()}
    whole["approvals"] = {key: Approval(**one) for key, one in whole["approvals"].items()}
    return VaultState(**whole)
