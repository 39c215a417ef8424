"""An adapter on a virtual loop, between an agent and a host that say only what a test tells them to."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from lasttick.engine.chance import Chance
from lasttick.engine.clock import NS, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lineup.records import Option, PermissionAsked, PromptEnd, RpcId
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.ledger import Ledger, Step
from lasttick.reference.lineup.links import AgentEvents, AgentGone

ALLOW, DENY = Option("allow_once", "Allow edit", "allow_once"), Option("deny", "Deny", "reject_once")
END = PromptEnd("end_turn", has_usage=True)
PROMPT = "lineup.v1.message"
CARD = "lineup.v1.tool.call"
STATE = "lineup.v1.tool.state"


class Crash(BaseException):
    """The adapter was killed."""


class Agent:
    """One agent process; a test plays its part. A prompt waits until the test ends it."""

    def __init__(self, rig: Rig, number: int) -> None:
        self.rig = rig
        self.number = number
        self.events: AgentEvents
        self.prompts: list[tuple[str, list[str]]] = []
        self.answers: list[tuple[RpcId, str | None]] = []
        self.cancels: list[str] = []
        self.sessions: list[str] = []
        self.is_dead = False
        self.has_stopped = False
        self.refuses_to_send = False
        self._waiting: dict[str, asyncio.Future[PromptEnd]] = {}

    async def start(self, events: AgentEvents) -> None:
        self.events = events
        if self.rig.cannot_start > 0:
            self.rig.cannot_start -= 1
            raise AgentGone("no such program")

    async def new_session(self) -> str:
        await asyncio.sleep(0)  # others run while a real one is asked
        self._alive()
        self.sessions.append(f"s{self.number}-{len(self.sessions)}")
        return self.sessions[-1]

    async def prompt(self, session_id: str, texts: Sequence[str]) -> PromptEnd:
        self._alive()
        assert session_id not in self._waiting, "a second prompt inside of the first"
        self.prompts.append((session_id, list(texts)))
        self.rig.history.append(("prompt", session_id))
        future = self._waiting[session_id] = asyncio.get_running_loop().create_future()
        try:
            if self.rig.script is not None:
                end = await self.rig.script(self, session_id, list(texts))
                if end is not None:
                    return end
            return await future
        finally:
            del self._waiting[session_id]

    async def cancel(self, session_id: str) -> None:
        self._alive()
        self.cancels.append(session_id)
        self.rig.history.append(("cancel", session_id))

    async def answer(self, rpc_id: RpcId, option_id: str | None) -> None:
        self._alive()
        if self.refuses_to_send:
            raise AgentGone("broken pipe")
        self.answers.append((rpc_id, option_id))
        self.rig.history.append(("answer", rpc_id, option_id))

    async def stop(self) -> None:
        self.has_stopped = True

    # -- what a test makes it do

    @property
    def session(self) -> str:
        return self.sessions[-1]

    @property
    def is_prompted(self) -> bool:
        """Somebody waits for the end of a prompt."""
        return bool(self._waiting)

    @property
    def can_end(self) -> bool:
        """The prompt of the newest session waits for its end."""
        future = self._waiting.get(self.session) if self.sessions else None
        return future is not None and not future.done()

    def ask(
        self,
        rpc_id: RpcId = 0,
        options: Sequence[Option] = (ALLOW, DENY),
        session_id: str | None = None,
        tool_call: Mapping[str, Any] | None = None,
    ) -> None:
        call = tool_call if tool_call is not None else {"toolCallId": "edit-approval-1", "title": "Approve edit: a"}
        session_id = session_id if session_id is not None else self.session
        self.events.permission(PermissionAsked(rpc_id, session_id, tuple(options), call, self.rig.clock.now_ns()))

    def says(self, text: str, session_id: str | None = None, kind: str = "agent_message_chunk") -> None:
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        self.events.updated(session_id or self.session, update)

    def ends(self, end: PromptEnd = END, session_id: str | None = None) -> None:
        self._waiting[session_id or self.session].set_result(end)

    def replies(self, text: str, end: PromptEnd = END, session_id: str | None = None) -> None:
        self.says(text, session_id)
        self.ends(end, session_id)

    def dies(self, *, tells: bool = True) -> None:
        self.is_dead = True
        for future in list(self._waiting.values()):
            if not future.done():
                future.set_exception(AgentGone("exit status 1"))
        if tells:
            self.events.gone("exit status 1")

    def _alive(self) -> None:
        if self.is_dead:
            raise AgentGone("exit status 1")


class Host:
    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.frames: list[dict[str, Any]] = []
        self.is_gone = False

    async def send(self, frame: Mapping[str, Any]) -> None:
        if self.is_gone:
            raise ConnectionError("the host is gone")
        self.frames.append(json.loads(json.dumps(frame)))

    def of(self, type_: str) -> list[dict[str, Any]]:
        return [frame["payload"] for frame in self.frames if frame["type"] == type_]

    @property
    def cards(self) -> list[dict[str, Any]]:
        return self.of(CARD)

    @property
    def states(self) -> list[tuple[str | None, str | None, str | None]]:
        return [(p["state"], p["disposition"], p["reason"]) for p in self.of(STATE)]

    def texts(self, role: str) -> list[str]:
        return [p["text"] for p in self.of("lineup.v1.message") if p["role"] == role]


class Rig:
    """`cannot_start`: that many agents will not start. `script`: plays every prompt; None of it: the test ends it."""

    def __init__(self, loop: VirtualLoop, path: Path, *, timeout_s: float = 300.0) -> None:
        self.loop = loop
        self.path = path
        self.timeout_s = timeout_s
        self.clock = VirtualClock(loop)
        self.chance = Chance(7)
        self.agents: list[Agent] = []
        self.cannot_start = 0
        self.script: Callable[[Agent, str, list[str]], Awaitable[PromptEnd | None]] | None = None
        self.history: list[tuple[Any, ...]] = []
        self.host = Host(self)
        self.adapter: Adapter
        self._messages = 0

    async def start(self, step: Step | None = None, *, attach: bool = True) -> None:
        """A new adapter on the same ledger file, and a new host."""
        ledger = Ledger(self.path, self.clock)
        self.adapter = Adapter(
            ledger, self.clock, self.chance, self._agent, response_timeout_s=self.timeout_s, step=step
        )
        self.host = Host(self)
        await self.adapter.start()
        if attach:
            self.adapter.attach(self.host)
        await self.loop.settle()

    def _agent(self) -> Agent:
        self.agents.append(Agent(self, len(self.agents)))
        return self.agents[-1]

    @property
    def agent(self) -> Agent:
        return self.agents[-1]

    # -- the host's side

    def send(self, type_: str, payload: Mapping[str, Any], conversation_id: str | None = None) -> None:
        frame: dict[str, Any] = {"v": 1, "type": type_, "payload": payload}
        if conversation_id is not None:
            frame["conversation_id"] = conversation_id
        self.adapter.frame(json.dumps(frame).encode(), self.clock.now_ns())

    async def say(self, text: str, conversation_id: str | None = None, message_id: str | None = None) -> None:
        self._messages += 1
        payload = {"message_id": message_id or f"m{self._messages}", "text": text}
        self.send("lineup.v1.message", payload, conversation_id)
        await self.loop.settle()

    async def result(
        self, call_id: str, result: Any = None, status: str = "completed", conversation_id: str | None = None
    ) -> None:
        payload = {"call_id": call_id, "status": status}
        if result is not None:
            payload["result"] = result
        self.send("lineup.v1.tool.result", payload, conversation_id)
        await self.loop.settle()

    async def cancel(self, conversation_id: str | None = None) -> None:
        self.send("lineup.v1.cancel", {}, conversation_id)
        await self.loop.settle()

    async def until_ns(self, at_ns: int) -> None:
        await self.loop.until(at_ns / NS)

    # -- the ledger, read as anybody else would

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)) as db:
            return db.execute(query, values).fetchall()

    def pair(self, call_id: str) -> tuple[Any, ...]:
        return self.rows(
            "SELECT c.state, i.state, c.result_status, i.outcome, i.sent_at IS NOT NULL FROM tool_calls c "
            "LEFT JOIN hermes_interactions i USING (call_id) WHERE c.call_id = ?",
            call_id,
        )[0]

    def audits(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT phase, disposition, reason FROM tool_audit ORDER BY id")


def played(tmp_path: Path, story: Callable[[Rig], Coroutine[Any, Any, None]], **options: Any) -> None:
    """Run a story with an adapter that has been started."""

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, tmp_path / "ledger.sqlite", **options)
        await rig.start()
        await story(rig)
        await rig.adapter.stop()
        assert loop.unseen_failures() == []

    run_virtual(main)


def block(call_id: str = "call_model_1", **changed: Any) -> str:
    """A valid reply block of a choice."""
    group = {"mode": "single-choice", "actions": [{"id": "focus", "label": "Focus"}, {"id": "other", "label": "Other"}]}
    payload: dict[str, Any] = {
        "call_id": call_id,
        "tool": "choice",
        "title": "What now?",
        "prompt": "Choose one.",
        "expires_at": "2026-01-01T00:10:00Z",
        "data": {"action_group": group},
        **changed,
    }
    return json.dumps({"v": 1, "type": CARD, "payload": payload})
