"""What does the agent keep of one ACP session: its conversation, its mode, its queue, and what was allowed in it?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasttick_fakes.hermes.acp.screen import DEFAULT_MODE
from lasttick_fakes.hermes.model_client import Spoken

_COUNTED = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}


@dataclass(slots=True)
class AcpSession:
    """`running` stays true for ever in a stuck session: every later prompt is only put in the queue (section 4.5)."""

    session_id: str
    folder: Path
    model: str
    updated_at: str
    mode: str = DEFAULT_MODE
    history: list[dict[str, Any]] = field(default_factory=list)
    title: str | None = None
    allowed: list[str] = field(default_factory=list)
    """Classes of dangerous commands that need no more questions here."""
    running: bool = False
    queue: list[str] = field(default_factory=list)
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    interrupted: str = ""
    """The prompt that was cancelled last: `/steer` takes it up again."""
    prompted: bool = False
    """Its first prompt has begun."""
    _tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))

    def count(self, usage: Mapping[str, Any]) -> None:
        """Add what one model request used."""
        for name, source in _COUNTED.items():
            if isinstance(usage.get(source), int):
                self._tokens[name] += usage[source]

    def usage(self) -> dict[str, int]:
        """As a prompt's answer tells it: of the whole session, not of the turn."""
        return {**self._tokens, "thoughtTokens": 0, "cachedReadTokens": 0}

    def begin(self, text: str, *, merges: bool) -> None:
        """Put the user's message into the conversation; `merges`: onto one that was never answered."""
        if merges and self.history and self.history[-1]["role"] == "user":
            text = f"{self.history.pop()['content']}\n\n{text}"
        self.history.append({"role": "user", "content": text})

    def keep(self, spoken: Spoken) -> None:
        """Put what the model said into the conversation, what it thought included."""
        thought = {"reasoning_content": spoken.reasoning} if spoken.reasoning else {}
        self.history.append({**spoken.as_message(), **thought})

    def told(self, reasoning: bool) -> list[dict[str, Any]]:
        """The conversation as the model is told it, with or without what it thought."""
        if reasoning:
            return self.history
        return [{key: value for key, value in one.items() if key != "reasoning_content"} for one in self.history]

    def prompts(self) -> int:
        return sum(message["role"] == "user" for message in self.history)

    def listed(self) -> dict[str, Any]:
        """As `session/list` tells it."""
        preview = next((message["content"] for message in self.history if message["role"] == "user"), "")
        title = self.title or preview or self.folder.name or "New thread"
        return {
            "cwd": str(self.folder),
            "sessionId": self.session_id,
            "title": title,
            "updatedAt": self.updated_at,
        }
