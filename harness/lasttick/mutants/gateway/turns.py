"""Wrong versions of how a run's list travels, and of what stays as it was without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import mcp_types as types

from lasttick.model import manifest, secret_fence
from lasttick.mutants import Mutant, Seam
from lasttick.reference.gateway import config_merge, humanwork
from lasttick.reference.gateway.dispatch import Dispatch

SAME_LIST = "gateway/lists/every-place-says-the-same-list"
AS_BEFORE = "gateway/flag-off/without-tools-nothing-is-different"


def dots(right: Any) -> Callable[..., Any]:
    """The manifest has `slug.action`, everything else `slug:action`."""
    return lambda role, channel, pairs: right(role, channel, [pair.replace(":", ".") for pair in pairs])


def bare_regen(right: Any) -> Callable[..., Any]:
    """The second dispatch site was forgotten: its runs have no tools."""

    async def regen(self: Dispatch, message: Any) -> Any:
        return await self._turn(message, manifest.Resolved())

    return regen


def regen_metadata(right: Any) -> Callable[..., Any]:
    """The second dispatch site makes its run without a manifest, and sends the list all the same."""

    async def regen(self: Dispatch, message: Any) -> Any:
        runs, metadata = self._runs, manifest.run_metadata("user", message.channel, ())
        self._runs = _WithMetadata(runs, metadata)  # type: ignore[assignment]
        try:
            return await right(self, message)
        finally:
            self._runs = runs

    return regen


class _WithMetadata:
    """Runs, but each new one has this metadata."""

    def __init__(self, runs: Any, metadata: Any) -> None:
        self._runs = runs
        self._metadata = metadata

    def create_run(self, org_id: str, conversation_id: str, metadata: Any) -> Any:
        return self._runs.create_run(org_id, conversation_id, self._metadata)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)


def without(option: str) -> Callable[[Any], Any]:
    """The command line, but for one option; its value stays."""
    return lambda right: lambda *given: [part for part in right(*given) if part != option]


def no_toolset(right: Any) -> Callable[..., Any]:
    """The program is told of its tools by the variable alone."""
    return lambda program, prompt, mcp_tools: right(program, prompt, ())


def terminal_too(right: Any) -> Callable[..., Any]:
    def argv(*given: Any) -> list[str]:
        return ["humanwork,terminal" if part == manifest.TOOLSET else part for part in right(*given)]

    return argv


def always_a_toolset(right: Any) -> Callable[..., Any]:
    return lambda program, prompt, mcp_tools: right(program, prompt, mcp_tools or ("any:thing",))


def empty_manifest(role: str, channel: str, mcp_tools: Sequence[str]) -> dict[str, Any]:
    """The key is there, with an empty list in it."""
    allowed = {"allowedTools": list(mcp_tools)}
    return {"inboundMessageRole": role, "channel": channel, "runtimeManifest": allowed}


def empty_lists(**said: Any) -> dict[str, Any]:
    """The wire has both fields, empty or not."""
    lists = {name: list(said.pop(name, ())) for name in ("toolsets", "mcp_tools")}
    return {**said, **lists}


def any_truth(right: Any) -> Callable[..., Any]:
    """Whatever is not empty is ON, also the text "false"."""
    return lambda flag, pairs: right(bool(flag), pairs)


def variable_always(right: Any) -> Callable[..., Any]:
    """The list's variable is there in every turn, empty in most."""

    def env(container: Mapping[str, str], **turn: Any) -> dict[str, str]:
        return {secret_fence.MCP_TOOLS: "", **right(container, **turn)}

    return env


def as_a_usual_server(seam: Seam) -> AbstractContextManager[None]:
    """A server with resources and prompts, as SDKs make them, and a registration that does not switch them off."""

    async def resources(*_: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def prompts(*_: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    def usual(right: Any) -> Callable[..., Any]:
        return lambda *given, **named: right(*given, on_list_resources=resources, on_list_prompts=prompts, **named)

    def unsaid(right: Any) -> Callable[..., Any]:
        return lambda *given: {name: value for name, value in right(*given).items() if name != "tools"}

    @contextmanager
    def both() -> Any:
        with ExitStack() as stack:
            stack.enter_context(seam.wrap(humanwork, "Server", usual))
            stack.enter_context(seam.wrap(config_merge, "server_entry", unsaid))
            yield

    return both()


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/manifest-dot-separator",
        breaks="GW-11",
        ruling=4,
        text="the manifest writes slug.action, so it lists nothing that anybody calls",
        killed_by=SAME_LIST,
        patch=lambda seam: seam.wrap(manifest, "run_metadata", dots),
    ),
    Mutant(
        "gateway/regen-site-forgets-manifest",
        breaks="GW-11",
        text="another answer is asked for with the list on the wire, but its run has no manifest",
        killed_by=SAME_LIST,
        patch=lambda seam: seam.wrap(Dispatch, "regen", regen_metadata),
    ),
    Mutant(
        "gateway/regen-site-forgets-tools",
        breaks="GW-11",
        text="another answer to a message is given without tools",
        killed_by=SAME_LIST,
        patch=lambda seam: seam.wrap(Dispatch, "regen", bare_regen),
    ),
    Mutant(
        "gateway/argv-without-q",
        breaks="GW-11",
        ruling=9,
        text="the agent program is started without -q and takes no turn",
        killed_by=SAME_LIST,
        patch=lambda seam: seam.wrap(secret_fence, "hermes_argv", without("-q")),
    ),
    Mutant(
        "gateway/terminal-beside-tools",
        breaks="GW-11",
        ruling=10,
        text="a turn with tools has the program's terminal too, which prints the secret",
        killed_by=SAME_LIST,
        patch=lambda seam: seam.wrap(secret_fence, "hermes_argv", terminal_too),
    ),
    Mutant(
        "gateway/metadata-key-with-flag-off",
        breaks="GW-12",
        text="a run without tools has an empty runtimeManifest",
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.replace(manifest, "run_metadata", empty_manifest),
    ),
    Mutant(
        "gateway/empty-lists-on-the-wire",
        breaks="GW-12",
        text="the wire of a turn without tools has both fields, empty",
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.replace(manifest, "chat_wire", empty_lists),
    ),
    Mutant(
        "gateway/flag-is-any-truth",
        breaks="GW-12",
        text='the text "false" turns the flag on',
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.wrap(manifest, "resolve_specialist_toolsets", any_truth),
    ),
    Mutant(
        "gateway/toolset-never-chosen",
        breaks="GW-12",
        ruling=10,
        text="a turn with tools is started without -t humanwork, beside the terminal that prints the secret",
        killed_by="gateway/flag-off/with-tools-every-channel-is-different",
        patch=lambda seam: seam.wrap(secret_fence, "hermes_argv", no_toolset),
    ),
    Mutant(
        "gateway/toolset-with-flag-off",
        breaks="GW-12",
        text="the program is started with -t humanwork in every turn, and loses its own tools",
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.wrap(secret_fence, "hermes_argv", always_a_toolset),
    ),
    Mutant(
        "gateway/empty-variable-with-flag-off",
        breaks="GW-12",
        text="the list's variable is in the program's environment in every turn",
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.wrap(secret_fence, "hermes_env", variable_always),
    ),
    Mutant(
        "gateway/fence-forwards-secret-always",
        breaks="GW-12",
        ruling=10,
        text="the agent's secret is in the program's environment in every turn, where its terminal prints it",
        killed_by=AS_BEFORE,
        patch=lambda seam: seam.replace(secret_fence, "secret_travels", lambda mcp_tools: True),
    ),
    Mutant(
        "gateway/registration-adds-utility-tools",
        breaks="GW-12",
        ruling=10,
        text="the server has resources and prompts, and is registered so: four tools more in every turn",
        killed_by=AS_BEFORE,
        patch=as_a_usual_server,
    ),
]
