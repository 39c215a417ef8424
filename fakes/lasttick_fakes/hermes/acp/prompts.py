"""What happens to a prompt: a local answer, a place in the queue, or a turn; and what follows the turn.

Source: contract hermes, sections 4.3 and 4.6; the rules of /steer, and the answers to other slash commands than /help
and /version: read.
"""

from __future__ import annotations

import json

from lasttick.ports import Clock, Entropy
from lasttick_fakes.hermes.acp import frames, screen
from lasttick_fakes.hermes.acp.background import Background
from lasttick_fakes.hermes.acp.connection import Connection
from lasttick_fakes.hermes.acp.frames import Frame
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.acp.toolbox import Toolbox
from lasttick_fakes.hermes.acp.turn import AcpTurn, Pace
from lasttick_fakes.hermes.model_client import ModelClient
from lasttick_fakes.hermes.turn import SYSTEM_PROMPT
from lasttick_fakes.hermes.versions import Habits

TITLE_CHARS_MAX = 80
TITLED_PROMPTS = 2
"""A title is asked for after the first turns only."""
_TITLE = "Give this conversation a title of three to seven words. Answer with the title only."


class Prompts:
    """Of one agent process, for all its sessions."""

    def __init__(
        self,
        version: str,
        context_tokens: int,
        connection: Connection,
        model: ModelClient,
        toolbox: Toolbox,
        background: Background,
        habits: Habits,
        clock: Clock,
        entropy: Entropy,
        pace: Pace,
    ) -> None:
        self._version = version
        self._context_tokens = context_tokens
        self._connection = connection
        self._model = model
        self._toolbox = toolbox
        self._background = background
        self._habits = habits
        self._clock = clock
        self._entropy = entropy
        self._pace = pace

    async def prompt(self, session: AcpSession, text: str) -> Frame:
        """The answer to a prompt. Raises Stuck."""
        command, rest = _parted(text)
        if command == "/steer" and rest and not session.running:
            guidance, before, session.interrupted = rest, session.interrupted, ""
            text = f"{before}\n\nUser correction/guidance after interrupt: {guidance}" if before else guidance
        if not text:
            return {"stopReason": "end_turn"}
        local = self._local(session, text) if text.startswith("/") else None
        if local is not None:
            self._show(session, "agent_message_chunk", local)
            self.tell_usage(session)
            return {"stopReason": "end_turn"}
        if session.running:
            session.queue.append(text)
            self._show(session, "agent_message_chunk", screen.QUEUED.format(len(session.queue)))
            return {"stopReason": "end_turn"}
        return await self._turned(session, text)

    def tell_usage(self, session: AcpSession) -> None:
        """`used` is about what a model request would cost: a quarter of its characters."""
        used = len(SYSTEM_PROMPT) + len(json.dumps([self._toolbox.functions(), session.history]))
        self._connection.update(session.session_id, "usage_update", size=self._context_tokens, used=used // 4)

    async def _turned(self, session: AcpSession, text: str) -> Frame:
        """A turn, then those that were queued meanwhile: all inside the one answer. Raises Stuck."""
        session.running = True
        session.cancel.clear()
        turn = AcpTurn(
            session,
            self._connection,
            self._model,
            self._toolbox,
            self._habits,
            self._clock,
            self._entropy,
            self._pace,
        )
        final = await turn.run(text)
        cancelled = session.cancel.is_set()
        if cancelled:
            session.interrupted = text
            await self._clock.sleep(self._pace.cancel_s)
        session.updated_at = self._now()
        if final and session.title is None and session.prompts() <= TITLED_PROMPTS:
            self._background.start(self._entitle(session, text, final), "hermes seeks a title")
        session.running = False
        usage = session.usage()
        while session.queue:
            queued = session.queue.pop(0)
            self._show(session, "user_message_chunk", queued)
            await self.prompt(session, queued)
        self.tell_usage(session)
        return {"stopReason": "cancelled" if cancelled else "end_turn", "usage": usage}

    async def _entitle(self, session: AcpSession, said: str, final: str) -> None:
        """After the turn, beside whatever comes next."""
        messages = [
            {"role": "system", "content": _TITLE},
            {"role": "user", "content": f"User: {said[:500]}\n\nAssistant: {final[:500]}"},
        ]
        title = (await self._model.ask_aside(messages) or "").strip().strip("\"'")
        if not title or session.title is not None:
            return
        session.title = title if len(title) <= TITLE_CHARS_MAX else f"{title[: TITLE_CHARS_MAX - 3]}..."
        meta = screen.provenance(session.session_id)
        told = {"_meta": meta, "title": session.title, "updatedAt": self._now()}
        self._connection.update(session.session_id, "session_info_update", **told)

    def _local(self, session: AcpSession, text: str) -> str | None:
        """What the agent answers by itself; None for what goes to the model."""
        command, rest = _parted(text)
        name = command.removeprefix("/").lower()
        if name == "help":
            return screen.help_text()
        if name == "version":
            return f"Hermes Agent v{self._version}"
        if name == "model":
            session.model = rest.removeprefix(f"{screen.PROVIDER}:") or session.model
            return f"{'Model switched to' if rest else 'Current model'}: {session.model}\nProvider: {screen.PROVIDER}"
        if name == "tools":
            return screen.tools_text(self._toolbox.functions())
        if name == "context":
            return screen.context_text(session.history, session.model)
        if name == "reset":
            session.history.clear()
            return screen.RESET
        if name == "compact":
            return screen.NOT_COMPACTED if session.history else screen.NOTHING_TO_COMPACT
        if name in ("queue", "steer"):
            if not rest:
                return f"Usage: /{name} <{'prompt' if name == 'queue' else 'guidance'}>"
            session.queue.append(rest)
            return screen.QUEUED.format(len(session.queue))
        return None

    def _show(self, session: AcpSession, kind: str, text: str) -> None:
        self._connection.update(session.session_id, kind, content=frames.text(text))

    def _now(self) -> str:
        return self._clock.wall().isoformat()


def _parted(text: str) -> tuple[str, str]:
    """The first word, and what comes behind it."""
    words = text.split(maxsplit=1)
    return words[0] if words else "", words[1].strip() if len(words) > 1 else ""
