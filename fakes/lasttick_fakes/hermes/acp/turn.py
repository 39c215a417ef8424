"""What happens in one turn over ACP: model calls, their text as it comes, tools, and a cancel at the wrong moment.

A cancel while the model answers ends the turn well. A cancel that is only noticed between two model calls (before the
first, while a tool runs, while a permission is pending) leaves the session stuck: `Stuck`. Source: contract hermes,
sections 4.3 and 4.5.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.ports import Clock, Entropy
from lasttick_fakes.hermes.acp import frames, views
from lasttick_fakes.hermes.acp.connection import Connection
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.acp.toolbox import Toolbox
from lasttick_fakes.hermes.acp.views import EDITS
from lasttick_fakes.hermes.model_client import ModelClient, ModelFailed, Spoken
from lasttick_fakes.hermes.replies import SKIPPED, of_unknown_tool
from lasttick_fakes.hermes.turn import EMPTY_TRIES, ROUNDS_MAX, SYSTEM_PROMPT, arguments_of
from lasttick_fakes.hermes.versions import Habits


class Stuck(Exception):
    """The turn was cancelled at a moment that the agent does not survive. The message is what the client is told."""

    def __init__(self) -> None:
        super().__init__("'NoneType' object has no attribute 'startswith'")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the agent's own work takes; measured ones are longer on a slow machine. All in seconds."""

    first_prompt_s: float = 1.0
    """Between the first prompt of a session and its first model call."""
    prompt_s: float = 0.1
    cancel_s: float = 0.1
    """Between a cancel while the model answers and the end of the prompt."""
    updates_s: float = 0.0
    """Between the answer to session/new and the updates that belong to it: they may come after the next request."""

    def scaled(self, factor: float) -> Pace:
        return Pace(*(value * factor for value in (self.first_prompt_s, self.prompt_s, self.cancel_s, self.updates_s)))


DEFAULT_PACE = Pace()


class AcpTurn:
    """One prompt that is not queued. `run` gives the final text; None when there is none."""

    def __init__(
        self,
        session: AcpSession,
        connection: Connection,
        model: ModelClient,
        toolbox: Toolbox,
        habits: Habits,
        clock: Clock,
        entropy: Entropy,
        pace: Pace,
    ) -> None:
        self._session = session
        self._connection = connection
        self._model = model
        self._toolbox = toolbox
        self._habits = habits
        self._clock = clock
        self._entropy = entropy
        self._pace = pace
        self._heard = ""
        self._after_tool = False
        self._finished: list[tuple[str, str, Mapping[str, Any], str]] = []
        """Tools that have run since the last model call, with what the client will be told of them."""

    async def run(self, text: str) -> str | None:
        """Raises Stuck."""
        self._session.begin(text, merges=not self._habits.keeps_interrupted_text)
        await self._clock.sleep(self._pace.prompt_s if self._session.prompted else self._pace.first_prompt_s)
        self._session.prompted = True
        empty = 0
        for _ in range(ROUNDS_MAX):
            self._stop_if_cancelled()
            self._tell_finished()
            try:
                spoken = await self._asked()
            except ModelFailed as failed:
                return self._said(str(failed))
            if spoken is None:
                return self._interrupted()
            if spoken.calls:
                self._session.keep(spoken)
                self._session.history += await self._results(spoken.calls)
                continue
            if spoken.text.strip():
                self._session.keep(spoken)
                return spoken.text
            empty += 1
            if empty == EMPTY_TRIES:
                return None
        return self._said(f"I reached the maximum number of {ROUNDS_MAX} requests.")

    # -- the model

    async def _asked(self) -> Spoken | None:
        """One model call; None when a cancel came into it. Raises ModelFailed."""
        self._heard = ""
        messages = [{"role": "system", "content": SYSTEM_PROMPT}, *self._session.told(self._habits.repeats_reasoning)]
        asking = asyncio.create_task(
            self._model.ask(messages, self._toolbox.functions(), self._piece), name="hermes asks its model"
        )
        cancelled = asyncio.create_task(self._session.cancel.wait(), name="hermes listens for a cancel")
        try:
            await asyncio.wait((asking, cancelled), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            spoken = asking.result()
        finally:
            for task in (asking, cancelled):
                task.cancel()
            await asyncio.gather(asking, cancelled, return_exceptions=True)
        self._session.count(spoken.usage)
        return spoken

    def _piece(self, text: str, reasoning: str) -> None:
        if reasoning:
            self._connection.update(self._session.session_id, "agent_thought_chunk", content=frames.text(reasoning))
        if text:
            self._heard += text
            self._show(f"\n\n{text}" if self._after_tool else text)
            self._after_tool = False

    def _show(self, text: str) -> None:
        self._connection.update(self._session.session_id, "agent_message_chunk", content=frames.text(text))

    def _said(self, text: str) -> str:
        """A final text that is the agent's, not the model's."""
        self._session.history.append({"role": "assistant", "content": text})
        self._show(text)
        return text

    def _interrupted(self) -> str | None:
        if not self._heard or not self._habits.keeps_interrupted_text:
            return None
        self._session.history.append({"role": "assistant", "content": self._heard})
        return self._heard

    def _stop_if_cancelled(self) -> None:
        if self._session.cancel.is_set():
            raise Stuck

    # -- tools

    async def _results(self, calls: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
        """The tool messages of one message's calls."""
        tools = self._toolbox.offered()
        made_up = [call for call in calls if call[1] not in tools]
        results = {number: of_unknown_tool(name, sorted(tools)) for number, name, _ in made_up}
        real = [call for call in calls if call[1] in tools]
        if made_up and self._habits.skips_beside_made_up:
            results |= {number: SKIPPED for number, _, _ in real}
            real = []
        known = [(number, name, arguments_of(text), text) for number, name, text in real]
        for number, _, arguments, text in known:
            if arguments is None:
                results[number] = json.dumps({"error": f"Invalid JSON arguments: {text[:80]}"}, ensure_ascii=False)
        wanted = [(number, name, arguments) for number, name, arguments, _ in known if arguments is not None]
        if self._toolbox.at_once([(name, arguments) for _, name, arguments in wanted]):
            begun = [self._begin(name, arguments) for _, name, arguments in wanted]
            texts = await asyncio.gather(*(self._call(name, arguments) for _, name, arguments in wanted))
        else:
            begun, texts = [], []
            for _, name, arguments in wanted:
                if self._session.cancel.is_set():
                    break
                begun.append(self._begin(name, arguments))
                texts.append(await self._call(name, arguments))
        for (number, name, arguments), call_id, text in zip(wanted, begun, texts, strict=False):
            results[number] = text
            self._finished.append((call_id, name, arguments, text))
        return [
            {"role": "tool", "name": name, "content": results.get(number, _NOT_RUN), "tool_call_id": number}
            for number, name, _ in calls
        ]

    def _begin(self, name: str, arguments: Mapping[str, Any]) -> str:
        call_id = f"tc-{self._entropy.token_bytes(6).hex()}"
        shown = self._toolbox.unasked(self._session, name, arguments)
        self._connection.update(self._session.session_id, "tool_call", **views.begun(call_id, name, arguments, shown))
        self._after_tool = True
        return call_id

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        return await self._toolbox.call(self._session, self._toolbox.offered()[name], arguments)

    def _tell_finished(self) -> None:
        """The client learns of a tool's end when the next model call begins; of an edit's never."""
        for call_id, name, arguments, text in self._finished:
            if name in EDITS:
                continue
            session_id = self._session.session_id
            self._connection.update(session_id, "tool_call_update", **views.ended(call_id, name, arguments, text))
            if name == "todo" and (plan := views.plan(text)) is not None:
                self._connection.update(session_id, "plan", **plan)
        self._finished.clear()


_NOT_RUN = "[Tool execution cancelled: the user interrupted the turn]"
