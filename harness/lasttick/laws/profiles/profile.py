"""The profile: how each verb reaches one target, who its callers are, and what policy it declares. Data, no code.

`load.py` reads it from TOML and says what is wrong with it, with file and line. Source: contract laws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

Outcome: TypeAlias = Literal["ok", "pending", "busy", "denied", "lost", "error"]
Condition: TypeAlias = dict[str, Any]
"""Pointers, all of which must match: a value, a list of values, {match = "regex"} or {exists = true|false}."""
Outcomes: TypeAlias = dict[Outcome, list[Condition]]


def _no_bool(value: Any) -> Any:
    """`true` is no number; pydantic would take it for 1."""
    if isinstance(value, bool):
        raise ValueError("a number, not true or false")
    return value


def _number_schema(kind: str, **limits: Any) -> WithJsonSchema:
    """For editors: a number, or a variable that becomes one when the file is loaded."""
    return WithJsonSchema({"anyOf": [{"type": kind, **limits}, {"type": "string", "pattern": r"^\$\{.+\}$"}]})


Seconds = Annotated[
    float,
    Field(gt=0, le=1e6, allow_inf_nan=False),
    BeforeValidator(_no_bool),
    _number_schema("number", exclusiveMinimum=0, maximum=1e6),
]
Count = Annotated[int, Field(ge=1), BeforeValidator(_no_bool), _number_schema("integer", minimum=1)]


class Part(BaseModel):
    """A table of the file. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, protected_namespaces=())


class Reach(Part):
    """How a message gets to the target: exactly one of `tool`, `http`, `run`, `python`, `same`, `absent`."""

    tool: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    meta: dict[str, Any] = Field(default_factory=dict)
    http: str | None = None
    query: dict[str, Any] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    json_: Any = Field(default=None, alias="json")
    form: dict[str, Any] | None = None
    run: list[str] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    stdin: str | None = None
    python: str | None = None
    same: str | None = None
    absent: str | None = None
    out: dict[str, str] = Field(default_factory=dict)
    outcomes: Outcomes = Field(default_factory=dict)
    timeout_s: Seconds | None = None


class Poll(Reach):
    """A reading that is repeated after the first answer, until a condition holds."""

    until: list[Condition] = Field(default_factory=list)
    every_s: Seconds = 0.2
    within_s: Seconds = 30.0


class Binding(Reach):
    """One verb on this target."""

    each: str | None = None
    say: dict[str, str] = Field(default_factory=dict)
    states: dict[str, list[Any]] = Field(default_factory=dict)
    poll: Poll | None = None
    lag_s: Seconds | None = None


class Target(Part):
    """Where the target is: a URL (an MCP endpoint, or the base of its HTTP API), or a command that speaks on stdio."""

    url: str | None = None
    command: list[str] | None = None
    env: dict[str, str] = Field(default_factory=dict)
    allow_hosts: list[str] = Field(default_factory=list)
    era: Literal["handshake", "modern"] = "handshake"
    timeout_s: Seconds = 10.0


class CallerSpec(Part):
    """Somebody who may speak to the target."""

    headers: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    vars: dict[str, Any] = Field(default_factory=dict)
    tenant: str | None = None
    id: str | None = None
    route: str | None = None
    may: list[str] = Field(default_factory=list)
    decides: bool = False


class Section(Part):
    """What every section of verbs has. `lag_s`: the longest time from a fact to its report or effect."""

    lag_s: Seconds | None = None

    def verbs(self) -> Iterator[tuple[str, Binding]]:
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Binding):
                yield name, value


class SessionVerbs(Section):
    """Session verbs. `of`: who may use a session, its opener or everybody of the opener's tenant. `vars`: names of vars
    that a session goes by which was opened elsewhere, such as the id of a run."""

    open: Binding | None = None
    end: Binding | None = None
    of: Literal["caller", "tenant"] = "caller"
    vars: tuple[str, ...] = ()


class ToolVerbs(Section):
    """Tool verbs. `volatile`: pointers into an answer to what differs from one answer to the next, whatever was asked;
    the law of `foreign` does not compare it."""

    list: Binding | None = None
    call: Binding | None = None
    foreign: Literal["hidden", "refused"] = "hidden"
    volatile: tuple[str, ...] = ()


class LeaseVerbs(Section):
    """Lease verbs, and the declared policy. `resources`: names of those a law may ask for, one subject each at a time;
    empty: those that `holder` lists, else the target chooses."""

    acquire: Binding | None = None
    use: Binding | None = None
    renew: Binding | None = None
    release: Binding | None = None
    holder: Binding | None = None
    resources: list[str] = Field(default_factory=list)
    ttl_s: Seconds | None = None
    busy: Literal["refuses", "queues", "provisions"] = "refuses"
    renewed_by: tuple[Literal["use", "renew", "acquire"], ...] | None = None
    in_flight: Literal["pins", "ends"] = "pins"
    session_end: Literal["frees", "keeps"] = "frees"
    capacity: Count = 1
    restart: Literal["keeps", "ends"] = "ends"
    tolerance_s: Seconds = 0.25


class ApprovalVerbs(Section):
    request: Binding | None = None
    pending: Binding | None = None
    decide: Binding | None = None
    resume: Binding | None = None
    outcome: Binding | None = None
    timeout_s: Seconds | None = None
    on_timeout: Literal["denied", "expired"] = "expired"
    restart: Literal["keeps", "ends"] = "ends"
    tolerance_s: Seconds = 0.25


class SourceVerbs(Section):
    """Verbs of what the target fetches from a place that it was told of. `credential`: what it shows there; `index`:
    what a document of such a place looks like that leads to `{url}`."""

    add: Binding | None = None
    read: Binding | None = None
    follow: Binding | None = None
    remove: Binding | None = None
    credential: str | None = None
    index: Any = None


class ClockVerbs(Section):
    advance: Binding | None = None
    step: Binding | None = None


class SystemVerbs(Section):
    restart: Binding | None = None


class Verbs(Part):
    """The sections of one way to the target: the file's own, or those of a route."""

    session: SessionVerbs = Field(default_factory=SessionVerbs)
    tools: ToolVerbs = Field(default_factory=ToolVerbs)
    lease: LeaseVerbs = Field(default_factory=LeaseVerbs)
    approval: ApprovalVerbs = Field(default_factory=ApprovalVerbs)
    source: SourceVerbs = Field(default_factory=SourceVerbs)
    clock: ClockVerbs = Field(default_factory=ClockVerbs)
    system: SystemVerbs = Field(default_factory=SystemVerbs)
    effects: Binding | None = None
    log: Binding | None = None
    """Where the target's own log can be read, for tools/no-secret-out."""

    def binding(self, verb: str) -> Binding | None:
        """The binding of `lease.acquire` or `effects`; None when there is none. Raises KeyError for no verb at all."""
        section, _, name = verb.partition(".")
        if verb not in VERBS:
            raise KeyError(verb)
        return getattr(getattr(self, section), name) if name else getattr(self, section)

    def bound_verbs(self) -> Mapping[str, Binding]:
        """Every verb that is bound here, `absent` ones included."""
        return {verb: binding for verb in VERBS if (binding := self.binding(verb)) is not None}


class Profile(Verbs):
    """A whole file. `vars` are names for templates; `profile` names the system
    whose dialect the target speaks: `lasttick run` plays that, a check not yet."""

    version: Annotated[Literal[1], BeforeValidator(_no_bool)]
    profile: Literal["none", "seed-hostagent", "seed-gateway", "seed-vaultclaw", "seed-lineup"] = "none"
    target: Target = Field(default_factory=Target)
    callers: dict[str, CallerSpec] = Field(default_factory=dict)
    vars: dict[str, Any] = Field(default_factory=dict)
    outcomes: Outcomes = Field(default_factory=dict)
    routes: dict[str, Verbs] = Field(default_factory=dict)
    lag_s: Seconds = 1.0

    def bound(self, verb: str, route: str | None = None) -> Binding | None:
        """What is written for a verb on a route, else in the file's own sections. Raises KeyError for no verb."""
        binding = self.routes[route].binding(verb) if route in self.routes else None
        return self.binding(verb) if binding is None else binding

    def reach(self, verb: str, route: str | None = None) -> Binding | None:
        """The binding of a verb on a route, else the file's own; `same` is followed. None: absent, or not bound.

        A target that speaks MCP tools has sessions and a list of tools of itself: those are an empty Binding.
        Raises KeyError for an unknown verb.
        """
        binding = self.bound(verb, route)
        if binding is None:
            return Binding() if self.implied(verb, route) else None
        if binding.same is not None:
            other = self.reach(binding.same, route)
            if other is None:
                return None
            # What the verb itself says wins over what it borrows.
            said = {name: getattr(binding, name) for name in binding.model_fields_set - {"same"}}
            binding = other.model_copy(update=said)
        return None if binding.absent is not None else binding

    def stands_for(self, verb: str, route: str | None = None) -> str:
        """The verb at the end of `same`: a `lease.release` that is only the session's end is `session.end`."""
        while (binding := self.bound(verb, route)) is not None and binding.same is not None:
            verb = binding.same
        return verb

    def implied(self, verb: str, route: str | None = None) -> bool:
        """Whether kind `tool` has this verb of itself: nothing is written for it, and the target speaks MCP."""
        return verb in IMPLIED and self.bound(verb, route) is None and self.speaks_mcp()

    def speaks_mcp(self) -> bool:
        """Whether any verb is a tool's call, or the target is a command."""
        if self.target.command is not None:
            return True
        bindings = [binding for verbs in (self, *self.routes.values()) for binding in verbs.bound_verbs().values()]
        return any(part is not None and part.tool is not None for one in bindings for part in (one, one.poll))

    def lag_of(self, verb: str) -> float:
        """Seconds from a fact to its report through this verb: the binding's, its section's, else the file's."""
        for part in (self.binding(verb), getattr(self, verb.partition(".")[0], None)):
            if part is not None and part.lag_s is not None:
                return float(part.lag_s)
        return self.lag_s


READING = ("tools.list", "lease.holder", "approval.pending", "approval.outcome", "effects", "log")
"""Verbs that may be repeated."""
IMPLIED = ("session.open", "session.end", "tools.list")
"""Verbs that kind `tool` has of itself, without a binding: initialize, DELETE, tools/list."""
MARKED = ("tools.call", "lease.use", "approval.request")
"""Verbs whose binding must place {mark} (or {mark_number}), unless `effects` is absent."""
VERBS = (
    "session.open",
    "session.end",
    "tools.list",
    "tools.call",
    "lease.acquire",
    "lease.use",
    "lease.renew",
    "lease.release",
    "lease.holder",
    "approval.request",
    "approval.pending",
    "approval.decide",
    "approval.resume",
    "approval.outcome",
    "source.add",
    "source.read",
    "source.follow",
    "source.remove",
    "effects",
    "log",
    "clock.advance",
    "clock.step",
    "system.restart",
)
