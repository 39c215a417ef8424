"""Which connectors does the vault have, and what does its policy say of each verb?

A verb is `allow`ed, `deny` (refused by a rule), `ask` (a person decides), or `grant` (a person must grant it first,
which is the same wait under another code). The `policy_hash` of a connector follows from what its policy says: change
the policy and the hash is another, so that an approval asked before is drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lasttick.model.vaultclaw.json_text import canonical, sha256_hex
from lasttick_fakes.http_json import Refused, shown

EFFECTS = ("allow", "ask", "grant", "deny")
EXPIRY_STATES = ("DENIED", "EXPIRED")
SECONDS_MAX = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Connector:
    """A service that the vault acts on. `verbs` in byte order, without a trailing version where none is named."""

    connector_id: str
    title: str
    verbs: tuple[str, ...]

    def has(self, verb: str) -> bool:
        return verb in self.verbs or verb.removesuffix(".v1") in self.verbs


@dataclass(frozen=True, slots=True)
class Policy:
    """`verbs`: the effect by verb; others are `allow`. `approval_ttl_s`: how long a person has. `run_s`: how long an
    approved piece of work runs. `on_expiry`: what a job becomes when nobody decided. `bindings_required`: a secret slot
    without a binding is refused."""

    verbs: Mapping[str, str] = field(
        default_factory=lambda: {"google.gmail.drafts.send": "ask", "google.gmail.messages.send": "ask"}
    )
    approval_ttl_s: float = 900.0
    run_s: float = 0.0
    on_expiry: str = "DENIED"
    bindings_required: bool = False

    def effect(self, verb: str) -> str:
        return self.verbs.get(verb) or self.verbs.get(verb.removesuffix(".v1")) or "allow"


DEFAULT_CONNECTORS = (
    Connector("generic.http", "Any HTTP API", ("generic.http.request.v1",)),
    Connector(
        "google",
        "Google Workspace",
        (
            "google.gmail.drafts.create",
            "google.gmail.drafts.send",
            "google.gmail.labels.list",
            "google.gmail.messages.get",
            "google.gmail.messages.get_content",
            "google.gmail.messages.list",
            "google.gmail.messages.modify",
            "google.gmail.messages.send",
            "google.gmail.messages.trash",
            "google.gmail.messages.untrash",
        ),
    ),
    Connector("identity", "Identity", ("identity.extraction.run.v1", "identity.profile.read.v1")),
)


def policy_hash(connector: Connector, policy: Policy) -> str:
    """64 hex digits that change with what the policy says of this connector's verbs."""
    return sha256_hex(canonical([connector.connector_id, [[verb, policy.effect(verb)] for verb in connector.verbs]]))


def as_json(connector: Connector, policy: Policy) -> dict[str, Any]:
    return {
        "connector_id": connector.connector_id,
        "title": connector.title,
        "verbs": list(connector.verbs),
        "policy_hash": policy_hash(connector, policy),
    }


def parse_policy(body: Mapping[str, Any]) -> Policy:
    """The members of Policy; those absent have their defaults. Raises Refused (400)."""
    known = tuple(Policy.__slots__)
    if odd := sorted(set(body) - set(known)):
        raise Refused(400, f"unknown member {shown(odd[0])}; expected only {', '.join(known)}; leave it out")
    verbs = body.get("verbs", {})
    if not isinstance(verbs, dict) or any(effect not in EFFECTS for effect in verbs.values()):
        raise Refused(400, f"verbs is {shown(verbs)}; expected {{verb: {' or '.join(EFFECTS)}}}; correct it")
    for name in ("approval_ttl_s", "run_s"):
        seconds(body.get(name, 0), name)
    if body.get("on_expiry", "DENIED") not in EXPIRY_STATES:
        raise Refused(400, f"on_expiry is {shown(body['on_expiry'])}; known are {', '.join(EXPIRY_STATES)}; use one")
    if not isinstance(body.get("bindings_required", False), bool):
        raise Refused(
            400, f"bindings_required is {shown(body['bindings_required'])}; expected true or false; correct it"
        )
    return Policy(**body)


def seconds(value: Any, name: str) -> float:
    """A number of seconds of the control surface. Raises Refused (400)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= SECONDS_MAX:
        raise Refused(400, f"{name} is {shown(value)}; expected seconds from 0 to {SECONDS_MAX:.0f}; correct it")
    return float(value)
