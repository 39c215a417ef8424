"""Wrong host agents: what the official MCP conformance suite checks, the fixtures it needs, and the door before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from lasttick.model import errors
from lasttick.mutants import Mutant, Seam
from lasttick.reference.conformance import documents, profile, tools
from lasttick.reference.conformance.asking import Asking
from lasttick.reference.conformance.state import SignedState
from lasttick.reference.conformance.tools import FixtureTools
from lasttick.reference.hostagent import agent, config, empty_lists, mcp_server
from lasttick.reference.hostagent.agent import HostAgent

Patch = Callable[[Seam], AbstractContextManager[None]]
Row = tuple[str, str, Patch, str]


def _replace(owner: Any, name: str, value: Any) -> Patch:
    return lambda seam: seam.replace(owner, name, value)


def _wrap(owner: Any, name: str, wrong: Callable[[Any], Any]) -> Patch:
    return lambda seam: seam.wrap(owner, name, wrong)


# -- the fixtures and the door


_FIXTURES = agent._fixtures


def _always(given: Any, entropy: Any) -> Any:
    return _FIXTURES(replace(given, conformance_fixtures=True), entropy)


def _fixtures_open_the_door(right: Any) -> Any:
    def init(self: HostAgent, given: Any, **parts: Any) -> None:
        right(self, replace(given, open_door=given.conformance_fixtures), **parts)

    return init


def _unchecked_door(right: Any) -> Any:
    def check(self: Any) -> None:
        object.__setattr__(self, "conformance_fixtures", self.conformance_fixtures or self.open_door)
        right(self)

    return check


def _modern_needs_session(right: Any) -> Any:
    """The rule of the device tools, applied to every tool."""

    async def call(self: FixtureTools, ctx: Any, params: Any) -> Any:
        if ctx.session._connection.session_id is None:
            mcp_server.refuse(errors.no_session("open one"))
        return await right(self, ctx, params)

    return call


# -- what is listed


def _without_descriptions(right: Any) -> Any:
    def add(self: FixtureTools, name: str, description: str, *rest: Any) -> None:
        right(self, name, "", *rest)

    return add


def _plain_schemas(right: Any) -> Any:
    """As a server does that rebuilds a schema from its parameters."""

    def add(self: FixtureTools, name: str, description: str, run: Any, schema: Any = None) -> None:
        kept = None if schema is None else {key: schema[key] for key in ("type", "properties") if key in schema}
        right(self, name, description, run, kept)

    return add


def _fit_nothing(server: Any) -> None:
    """Methods that list nothing are unknown."""


# -- what is answered


async def _found_empty(ctx: Any, params: Any) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[])


def _not_found_of_old(uri: str) -> MCPError:
    return MCPError(-32002, "Resource not found")


async def _error_as_protocol_error(self: FixtureTools, ctx: Any, params: Any) -> Any:
    raise MCPError(types.INTERNAL_ERROR, "This tool intentionally returns an error for testing")


async def _progress_at_the_end(self: FixtureTools, ctx: Any, params: Any) -> Any:
    await ctx.session.report_progress(100, 100)
    return tools.said("The tool has told its progress.")


async def _progress_elsewhere(self: FixtureTools, ctx: Any, params: Any) -> Any:
    """On the stream of the session, where the caller does not look."""
    token = ((ctx.params or {}).get("_meta") or {}).get("progressToken")
    for done in (0, 50, 100) if token is not None else ():
        await ctx.session.send_progress_notification(token, done, 100)
    return tools.said("The tool has told its progress.")


async def _log_unasked(ctx: Any, data: str) -> None:
    params = types.LoggingMessageNotificationParams(level="info", data=data)
    await ctx.session.send_notification(types.LoggingMessageNotification(params=params), ctx.request_id)


def _prompt_unfilled(right: Any) -> Any:
    return lambda name, arguments: right(name, {})


# -- what is asked


def _believed(right: Any) -> Any:
    """The signature is not looked at; nonsense is an empty state."""

    def opened(self: SignedState, sealed: str | None) -> dict[str, Any]:
        try:
            return dict(right(self, sealed))
        except MCPError:
            return {}

    return opened


def _asks_for_everything(right: Any) -> Any:
    async def capabilities(self: Asking, answers: Any, state: Any, can: Any) -> Any:
        every = types.ClientCapabilities(
            elicitation=types.ElicitationCapability(),
            sampling=types.SamplingCapability(),
            roots=types.RootsCapability(),
        )
        return await right(self, answers, state, every)

    return capabilities


async def _relies_on_sampling(self: FixtureTools, ctx: Any, params: Any) -> Any:
    return tools.said("The client can sample.")


async def _takes_any_answer(self: Asking, answers: Any, state: Any, can: Any) -> Any:
    if not answers:
        return tools.ask(user_name=tools.elicit("What is your name?", tools.form(name="string")))
    return tools.said("Hello, Ada!")


# -- what the SDK is told


def _any_name(port: int | None, extra_host: str | None) -> TransportSecuritySettings:
    return TransportSecuritySettings(enable_dns_rebinding_protection=False)


def _headers_mended(right: Any) -> Any:
    """A layer before the SDK that makes the headers of 2026-07-28 fit the body."""

    def init(self: Any, app: Any, *rest: Any, **options: Any) -> None:
        async def mended(scope: Any, receive: Any, send: Any) -> None:
            message = await receive()

            async def again() -> Any:
                nonlocal message
                if message is None:
                    return await receive()
                first, message = message, None
                return first

            await app(_fitting(scope, message), again, send)

        right(self, mended, *rest, **options)

    return init


def _fitting(scope: Any, message: Any) -> Any:
    parsed = mcp_server.in_flight.parse(message.get("body", b""))
    if scope["type"] != "http" or not isinstance(parsed, dict):
        return scope
    params = parsed.get("params") or {}
    wanted = {b"mcp-method": parsed.get("method"), b"mcp-name": params.get("name")}
    headers = [
        (key, str(wanted[key]).encode() if wanted.get(key) is not None else value) for key, value in scope["headers"]
    ]
    return {**scope, "headers": headers}


def _of(*rows: Row) -> Sequence[Mutant]:
    return [
        Mutant(f"hostagent/{id_}", "HA-21", text, f"hostagent/official/{by}", patch) for id_, text, patch, by in rows
    ]


LISTED = "what-the-suite-lists-is-described-and-whole[handshake]"
SAID = "the-fixture-tools-say-what-the-suite-expects[handshake]"
PROGRESS = "progress-comes-on-the-stream-of-its-call"
ROUNDS = "what-the-server-asks-for-is-answered-in-the-next-round"

MUTANTS = _of(
    (
        "fixtures-in-production",
        "The suite's fixtures are served without being asked for.",
        _replace(agent, "_fixtures", _always),
        "without-the-option-there-is-no-fixture[handshake]",
    ),
    (
        "fixtures-open-the-door",
        "With the fixtures nobody is asked for a token.",
        _wrap(HostAgent, "__init__", _fixtures_open_the_door),
        "fixtures-do-not-open-the-door[handshake]",
    ),
    (
        "door-open-without-fixtures",
        "The door can be opened outside a test build.",
        _wrap(config.HostAgentConfig, "check", _unchecked_door),
        "an-open-door-is-for-a-test-build-alone",
    ),
    (
        "every-tool-needs-a-session",
        "A tool that drives no device is refused without a session.",
        _wrap(FixtureTools, "call", _modern_needs_session),
        "fixtures-need-no-session-and-take-no-lease[modern]",
    ),
    (
        "fixture-without-description",
        "Tools are listed without descriptions.",
        _wrap(FixtureTools, "_add", _without_descriptions),
        LISTED,
    ),
    (
        "schema-keywords-lost",
        "A schema is rebuilt from its parameters, and its other keywords are lost.",
        _wrap(FixtureTools, "_add", _plain_schemas),
        LISTED,
    ),
    (
        "empty-lists-unknown",
        "A server without resources and prompts does not know their methods.",
        _replace(empty_lists, "fit", _fit_nothing),
        "without-the-option-there-is-no-fixture[handshake]",
    ),
    (
        "missing-resource-is-empty",
        "A resource that is not there is a result of nothing.",
        _replace(empty_lists, "read_resource", _found_empty),
        "a-resource-that-is-not-there-is-an-error[handshake-as-it-is]",
    ),
    (
        "missing-resource-of-old",
        "A resource that is not there is the older revisions' -32002, without its URI.",
        _replace(profile, "not_found", _not_found_of_old),
        "a-resource-that-is-not-there-is-an-error[handshake-fixtures]",
    ),
    (
        "failed-tool-is-protocol-error",
        "A tool that fails is a JSON-RPC error.",
        _replace(FixtureTools, "_error", _error_as_protocol_error),
        SAID,
    ),
    (
        "progress-only-at-the-end",
        "Progress is told once, at the end.",
        _replace(FixtureTools, "_progress", _progress_at_the_end),
        f"{PROGRESS}[handshake]",
    ),
    (
        "progress-on-another-stream",
        "Progress goes to the stream of the session, not to the call's.",
        _replace(FixtureTools, "_progress", _progress_elsewhere),
        f"{PROGRESS}[handshake]",
    ),
    (
        "logs-unasked",
        "In 2026-07-28 log lines come to who did not ask for them.",
        _replace(tools, "_log", _log_unasked),
        "log-lines-come-as-the-revision-has-it",
    ),
    (
        "prompt-not-filled-in",
        "A prompt's arguments are ignored.",
        _wrap(documents, "prompt", _prompt_unfilled),
        "resources-prompts-and-completions-are-read[handshake]",
    ),
    (
        "changed-state-believed",
        "The state that a client gives back is believed whatever it is.",
        _wrap(SignedState, "open", _believed),
        ROUNDS,
    ),
    (
        "asks-what-client-cannot",
        "A client is asked for what it did not say that it can.",
        _wrap(Asking, "_capabilities", _asks_for_everything),
        ROUNDS,
    ),
    (
        "capability-assumed",
        "A tool relies on a capability that the client did not declare.",
        _replace(FixtureTools, "_missing_capability", _relies_on_sampling),
        ROUNDS,
    ),
    (
        "any-answer-will-do",
        "An answer to another question is taken for the answer.",
        _replace(Asking, "_elicitation", _takes_any_answer),
        ROUNDS,
    ),
    (
        "foreign-names-served",
        "Host and Origin are not looked at.",
        _replace(mcp_server, "security", _any_name),
        "foreign-hosts-and-origins-are-refused[as-it-is]",
    ),
    (
        "headers-made-to-fit",
        "Headers that contradict the body of a request are corrected instead of refused.",
        _wrap(mcp_server.in_flight.InFlight, "__init__", _headers_mended),
        "headers-and-envelope-of-2026-07-28-are-checked",
    ),
)
