"""May an edit or a command go ahead? The session's mode, a helper model, what was allowed before, and a person.

Source: contract hermes, sections 4.4 and 5.4; that 0.17.0 remembers what the helper approved: read. Whatever is not a
plain yes is a no: an option that was not offered, `cancelled`, an error, silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lasttick_fakes.hermes.acp import frames
from lasttick_fakes.hermes.acp.commands import danger
from lasttick_fakes.hermes.acp.connection import Connection
from lasttick_fakes.hermes.acp.edits import Proposal
from lasttick_fakes.hermes.acp.frames import Frame
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.model_client import ModelClient
from lasttick_fakes.hermes.versions import Habits

ONCE, ALL_SESSION, ALWAYS, DENY = "allow_once", "allow_session", "allow_always", "deny"
FOR_EDITS = (frames.option(ONCE, "allow_once", "Allow edit"), frames.option(DENY, "reject_once", "Deny"))
FOR_COMMANDS = (
    frames.option(ONCE, "allow_once", "Allow once"),
    frames.option(ALL_SESSION, "allow_always", "Allow for session"),
    frames.option(ALWAYS, "allow_always", "Allow always"),
    frames.option(DENY, "reject_once", "Deny"),
    frames.option("deny_always", "reject_always", "Deny always"),
)
AFTER_SMART_DENY = (FOR_COMMANDS[0], FOR_COMMANDS[3])
BLOCKED = (
    "BLOCKED: User denied this command. The user has NOT consented to this action. Do NOT retry this command, do NOT "
    "rephrase it, and do NOT attempt the same outcome via a different command. Stop the current workflow and wait for "
    "the user to respond before taking any further destructive or irreversible action."
)
SMART_BLOCKED = "BLOCKED by smart approval: {}. The command was assessed as genuinely dangerous. Do NOT retry."
BY_USER = "Command required approval ({}) and was approved by the user."
BY_HELPER = "Command was flagged ({}) and auto-approved by smart approval."
_REVIEW = "Assess the actual risk of the command in the <command> block. Answer APPROVE, DENY or ESCALATE."


@dataclass(frozen=True, slots=True)
class Ruling:
    """`blocked`: why the command does not run. `note`: what its result says of how it was approved."""

    blocked: str | None = None
    note: str | None = None


class Approvals:
    """Of one agent process. `keep` gets the allowlist when it grows. `offers`: ids of options; of those that it would
    offer, it offers these alone and in this order. For a client that takes the usual options for the only ones.
    """

    def __init__(
        self,
        connection: Connection,
        model: ModelClient,
        habits: Habits,
        mode: str,
        allowlist: Sequence[str],
        keep: Callable[[Sequence[str]], None],
        offers: Sequence[str] | None = None,
    ) -> None:
        self._connection = connection
        self._model = model
        self._habits = habits
        self._mode = mode
        self._allowlist = list(allowlist)
        self._keep = keep
        self._offers = offers
        self._edits = 0
        self._commands = 0

    async def edit(self, session: AcpSession, proposed: Proposal) -> bool:
        """Ask a person. Two may be open at once."""
        self._edits += 1
        tool_call: Frame = {
            "content": [frames.diff(proposed.path, proposed.old, proposed.new)],
            "kind": "edit",
            "rawInput": {"tool": proposed.tool, "arguments": dict(proposed.arguments)},
            "status": "pending",
            "title": f"Approve edit: {proposed.path}",
            "toolCallId": f"edit-approval-{self._edits}",
        }
        options = self._offered(FOR_EDITS)
        chosen = await self._connection.ask(session.session_id, options, tool_call)
        return chosen == ONCE and chosen in [one["optionId"] for one in options]

    async def command(self, session: AcpSession, command: str) -> Ruling:
        what = danger(command)
        if what is None or self._mode == "off" or what in (*session.allowed, *self._allowlist):
            return Ruling()
        options: Sequence[Frame] = FOR_COMMANDS
        if self._mode == "smart":
            verdict = await self._reviewed(command, what)
            if verdict == "APPROVE":
                if self._habits.remembers_smart_approvals:
                    session.allowed.append(what)
                return Ruling(note=BY_HELPER.format(what))
            if verdict == "DENY":
                if not self._habits.asks_after_smart_deny:
                    return Ruling(blocked=SMART_BLOCKED.format(what))
                options = AFTER_SMART_DENY
        return await self._asked(session, command, what, options)

    async def _asked(self, session: AcpSession, command: str, what: str, options: Sequence[Frame]) -> Ruling:
        self._commands += 1
        options = self._offered(options)
        tool_call: Frame = {
            "content": [frames.block(f"{what}\n$ {command}")],
            "kind": "execute",
            "rawInput": {"command": command, "description": what},
            "status": "pending",
            "title": f"{what}: {command}",
            "toolCallId": f"perm-check-{self._commands}",
        }
        chosen = await self._connection.ask(session.session_id, options, tool_call)
        if chosen not in [one["optionId"] for one in options] or chosen not in (ONCE, ALL_SESSION, ALWAYS):
            return Ruling(blocked=BLOCKED)
        if chosen != ONCE:
            session.allowed.append(what)
        if chosen == ALWAYS:
            self._allowlist.append(what)
            self._keep(self._allowlist)
        return Ruling(note=BY_USER.format(what))

    def _offered(self, options: Sequence[Frame]) -> Sequence[Frame]:
        if self._offers is None:
            return options
        return [one for option_id in self._offers for one in options if one["optionId"] == option_id]

    async def _reviewed(self, command: str, what: str) -> str:
        """What the helper model says of it; no answer is `ESCALATE`."""
        messages = [
            {"role": "system", "content": _REVIEW},
            {"role": "user", "content": f"Flagged as: {what}\n\n<command>\n{command}\n</command>"},
        ]
        return (await self._model.ask_aside(messages) or "ESCALATE").strip().upper()
