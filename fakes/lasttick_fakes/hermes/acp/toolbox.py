"""Which tools has the agent over ACP, and what does a call of one bring? Its own, and those of its MCP servers.

Own tools that work here: `write_file`, `patch`, `read_file`, `terminal`, `todo`. `clarify` does not exist over ACP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lasttick_fakes.hermes import builtin
from lasttick_fakes.hermes.acp import edits, frames
from lasttick_fakes.hermes.acp.approvals import Approvals
from lasttick_fakes.hermes.acp.commands import shell_in
from lasttick_fakes.hermes.acp.connection import OnEvent
from lasttick_fakes.hermes.acp.frames import Frame
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.acp.views import EDITS
from lasttick_fakes.hermes.acp.wild import TOOL, Wild
from lasttick_fakes.hermes.replies import enveloped
from lasttick_fakes.hermes.servers import ConfiguredServer, Offered
from lasttick_fakes.hermes.versions import Habits

OWN_TOOLS = (
    "delegate_task",
    "execute_code",
    "memory",
    "patch",
    "process",
    "read_file",
    "search_files",
    "session_search",
    "skill_manage",
    "skill_view",
    "skills_list",
    "terminal",
    "todo",
    "vision_analyze",
    "write_file",
)
STATUSES = ("pending", "in_progress", "completed", "cancelled")
_AT_ONCE = ("read_file", *EDITS)


class Toolbox:
    """Of one agent process. `environ` is the agent's own, `home` its `HERMES_HOME`. `wild` None: it keeps to the
    protocol."""

    def __init__(
        self,
        servers: Sequence[ConfiguredServer],
        approvals: Approvals,
        habits: Habits,
        environ: Mapping[str, str],
        home: str,
        on_event: OnEvent,
        wild: Wild | None = None,
    ) -> None:
        self._servers = servers
        self._approvals = approvals
        self._habits = habits
        self._environ = environ
        self._home = home
        self._on_event = on_event
        self._wild = wild

    def offered(self) -> dict[str, Offered]:
        """By name, sorted: what the model is offered, as far as the servers have told by now."""
        tools = {tool.name: tool for tool in builtin.offered(OWN_TOOLS)}
        if self._wild is not None:
            tools[TOOL] = self._wild.offered
        for server in self._servers:
            tools |= server.tools
        return dict(sorted(tools.items()))

    def functions(self) -> list[dict[str, Any]]:
        """The same as a model request has them."""
        return [tool.as_function() for tool in self.offered().values()]

    def at_once(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
        """Whether the calls of one message run side by side: all on files, no two on one."""
        paths = [str(arguments.get("path") or "") for name, arguments in calls if name in _AT_ONCE]
        return 1 < len(calls) == len(paths) and "" not in paths and len(paths) == len(frozenset(paths))

    def unasked(self, session: AcpSession, name: str, arguments: Mapping[str, Any]) -> Frame | None:
        """The diff of an edit that the session's mode lets pass, as its `tool_call` shows it."""
        if name not in EDITS:
            return None
        try:
            proposed = edits.proposal(name, arguments, session.folder)
        except edits.BadEdit:
            return None
        passes = edits.needs_nobody(proposed, session.mode, session.folder)
        return frames.diff(proposed.path, proposed.old, proposed.new) if passes else None

    async def call(self, session: AcpSession, offered: Offered, arguments: Mapping[str, Any]) -> str:
        """What the model reads of it. Asks a person where the session's mode wants it."""
        name = offered.name
        owner = next((server for server in reversed(self._servers) if name in server.tools), None)
        if owner is not None:
            return enveloped(name, await owner.call(offered, arguments), self._habits)
        if name == TOOL and self._wild is not None:
            return self._wild.call(session.session_id, arguments)
        if name in EDITS:
            return await self._edit(session, name, arguments)
        if name == builtin.TERMINAL:
            return await self._terminal(session, arguments)
        if name == "todo":
            return _todo(arguments)
        if name == "read_file":
            try:
                return edits.read_file(arguments, session.folder)
            except edits.BadEdit as error:
                return json.dumps({"error": str(error)}, ensure_ascii=False)
        return builtin.not_modelled(name)

    async def _edit(self, session: AcpSession, name: str, arguments: Mapping[str, Any]) -> str:
        asks = self._habits.asks_before_v4a or arguments.get("mode", "replace") == "replace"
        if asks:
            try:
                proposed = edits.proposal(name, arguments, session.folder)
            except edits.BadEdit as error:
                said = f"Edit approval denied: could not prepare diff ({error})"
                return json.dumps({"error": said}, ensure_ascii=False)
            passes = edits.needs_nobody(proposed, session.mode, session.folder)
            if not passes and not await self._approvals.edit(session, proposed):
                return edits.DENIED
        try:
            result, written = edits.perform(name, arguments, session.folder)
        except edits.BadEdit as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)
        for one in written:
            told = {"session_id": session.session_id, "tool": name, "path": one.path, "bytes": one.size_bytes}
            self._on_event("hermes.wrote", told)
        return result

    async def _terminal(self, session: AcpSession, arguments: Mapping[str, Any]) -> str:
        command = str(arguments.get("command", ""))
        ruling = await self._approvals.command(session, command)
        if ruling.blocked is not None:
            blocked = {"output": "", "exit_code": -1, "error": ruling.blocked, "status": "blocked"}
            return json.dumps(blocked, ensure_ascii=False)

        def ran(command: str, how: str, status: int) -> None:
            told = {"session_id": session.session_id, "command": command, "how": how, "exit_code": status}
            self._on_event("hermes.ran", told)

        environ = builtin.command_env(self._environ, self._home, session.session_id)
        result = await builtin.run_terminal(shell_in(session.folder, ran), arguments, environ)
        if ruling.note is None:
            return result
        return json.dumps({**json.loads(result), "approval": ruling.note}, ensure_ascii=False)


def _todo(arguments: Mapping[str, Any]) -> str:
    given = arguments.get("todos")
    items = [item for item in given if isinstance(item, Mapping)] if isinstance(given, list) else []
    todos = [
        {
            "id": str(item.get("id", number)),
            "content": str(item.get("content", "")),
            "status": item["status"] if item.get("status") in STATUSES else "pending",
        }
        for number, item in enumerate(items, 1)
    ]
    counts = {status: sum(todo["status"] == status for todo in todos) for status in STATUSES}
    return json.dumps({"todos": todos, "summary": {"total": len(todos), **counts}}, ensure_ascii=False)
