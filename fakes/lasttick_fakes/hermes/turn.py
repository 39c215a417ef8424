"""What happens in one turn of the agent: which tools the model is offered, and the rounds until it answers.

Source: contract hermes, sections 2 and 3.5; the tries after an empty answer: measured on both versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick_fakes.hermes import builtin, screen
from lasttick_fakes.hermes.builtin import DEFAULT_TOOLS, EVERYTHING, TERMINAL, TOOLSETS, Shell
from lasttick_fakes.hermes.command import Command
from lasttick_fakes.hermes.config import Config
from lasttick_fakes.hermes.model_client import ModelClient, ModelFailed
from lasttick_fakes.hermes.replies import SKIPPED, enveloped, of_unknown_tool
from lasttick_fakes.hermes.servers import ConfiguredServer, Offered
from lasttick_fakes.hermes.versions import Habits

ROUNDS_MAX = 90
"""Model requests in one turn; the program's own default."""
EMPTY_TRIES = 4
SYSTEM_PROMPT = "You are Hermes Agent, an intelligent AI assistant. You are a CLI AI Agent."


@dataclass(frozen=True, slots=True)
class Said:
    """How a turn ended: exit status, standard output after the warning, standard error before the session id."""

    status: int
    out: str
    err: str = ""


class Turn:
    """One prompt, its tool calls, its answer."""

    def __init__(
        self,
        config: Config,
        command: Command,
        servers: Sequence[ConfiguredServer],
        shell: Shell,
        environ: Mapping[str, str],
        habits: Habits,
    ) -> None:
        self._config = config
        self._prompt = command.prompt or ""
        self._shell = shell
        self._environ = environ
        self._habits = habits
        self._owners: dict[str, ConfiguredServer] = {}
        self._tools: dict[str, Offered] = {}
        self.warning = ""
        self._choose(command.toolsets, servers)

    def _choose(self, toolsets: Sequence[str] | None, servers: Sequence[ConfiguredServer]) -> None:
        """Which tools the model is offered. An MCP server's toolset is its key; `mcp-` and the key warns, and works."""
        everything = toolsets is None or any(name in EVERYTHING for name in toolsets)
        names = [] if toolsets is None or everything else list(toolsets)
        known = (*self._config.server_names, *TOOLSETS)
        unknown = [name for name in names if name not in known]
        if unknown:
            self.warning = f"Warning: Unknown toolsets: {', '.join(unknown)}\n"
        own = DEFAULT_TOOLS if everything else tuple(t for name in names for t in TOOLSETS.get(name, ()))
        self._tools = {offered.name: offered for offered in builtin.offered(own)}
        for server in servers:
            if everything or server.server.name in names or f"mcp-{server.server.name}" in names:
                self._tools |= server.tools
                self._owners |= dict.fromkeys(server.tools, server)

    async def run(self, model: ModelClient) -> Said:
        """Ask, do what the model wants, ask again, until it answers."""
        names = sorted(self._tools)
        functions = [self._tools[name].as_function() for name in names]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": self._prompt},
        ]
        shown, empty = "", 0
        for _ in range(ROUNDS_MAX):
            try:
                spoken = await model.ask(messages, functions)
            except ModelFailed as failed:
                if failed.refused and not self._habits.prints_refusals:
                    return Said(1, shown, f"Error: {failed}\n")
                return Said(1, f"{shown}{failed}\n")
            if spoken.reasoning and self._config.show_reasoning:
                shown += screen.reasoning(spoken.reasoning)
            if not spoken.calls and not spoken.text.strip():
                empty += 1
                if empty == EMPTY_TRIES:
                    return Said(0, shown + screen.NO_REPLY)
                continue
            if not spoken.calls:
                return Said(0, f"{shown}{spoken.text.strip()}\n")
            messages.append(spoken.as_message())
            messages += await self._results(spoken.calls)
        return Said(0, f"{shown}I reached the maximum number of {ROUNDS_MAX} requests.\n")

    async def _results(self, calls: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
        """The tool messages of one message's calls, which are made one after another."""
        made_up = [call for call in calls if call[1] not in self._tools]
        if made_up and not self._habits.skips_beside_made_up:
            calls = [*made_up, *(call for call in calls if call not in made_up)]
        results: list[dict[str, Any]] = []
        for number, name, arguments in calls:
            if name not in self._tools:
                content = of_unknown_tool(name, sorted(self._tools))
            elif made_up and self._habits.skips_beside_made_up:
                content = SKIPPED
            else:
                content = await self._call(name, arguments)
            results.append({"role": "tool", "name": name, "content": content, "tool_call_id": number})
        return results

    async def _call(self, name: str, text: str) -> str:
        """What the model reads of one tool call."""
        arguments = arguments_of(text)
        if arguments is None:
            return json.dumps({"error": f"Invalid JSON arguments: {text[:80]}"})
        if name in self._owners:
            return enveloped(name, await self._owners[name].call(self._tools[name], arguments), self._habits)
        if name == TERMINAL:
            return await builtin.run_terminal(self._shell, arguments, self._environ)
        return builtin.not_modelled(name)


def arguments_of(text: str) -> dict[str, Any] | None:
    """The object that a call's text stands for; None when it stands for none."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
