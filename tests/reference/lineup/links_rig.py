"""One agent link in virtual time, and an agent that says exactly what a test has it say."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from unittest import TestCase

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.model.lineup.records import PermissionAsked, RpcId
from lasttick.ports import LineStream
from lasttick.reference.lineup.acp_agent import AcpAgent

T = TypeVar("T")
CHUNK = {"sessionUpdate", "content"}
OPTIONS = [
    {"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "deny", "name": "Deny", "kind": "reject_once"},
]


class Seen:
    """`AgentEvents`: everything that the core would hear, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, ...]] = []

    def updated(self, session_id: str, update: Mapping[str, Any]) -> None:
        self.all.append(("updated", session_id, update))

    def permission(self, asked: PermissionAsked) -> None:
        self.all.append(("permission", asked))

    def refused(self, what: str, body: Any) -> None:
        self.all.append(("refused", what, body))

    def undecodable_permission(self, rpc_id: RpcId, body: Any, reason: str) -> None:
        self.all.append(("undecodable", rpc_id, body, reason))

    def gone(self, reason: str) -> None:
        self.all.append(("gone", reason))

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [event for event in self.all if event[0] == kind]

    def texts(self) -> list[str]:
        """Of the chunks of the agent's text; whatever a test put into others may have any shape."""
        return [event[2]["content"]["text"] for event in self.of("updated") if event[2].keys() == CHUNK]


class Agent:
    """The other end. It answers `initialize` and `session/new`; all else a test says."""

    def __init__(self) -> None:
        self.ours, self.end = pipe_pair()
        self.heard: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {
            "initialize": {"result": {"protocolVersion": 1}},
            "session/new": {"result": {"sessionId": "s1"}},
        }
        """By method: what stands in the answer beside its id; None: no answer."""
        self.news = asyncio.Event()
        self.at_end = False

    async def run(self) -> None:
        async for line in self.end.lines():
            message = json.loads(line)
            self.heard.append(message)
            self.news.set()
            answer = self.answers.get(message.get("method", ""))
            if answer is not None and "id" in message:
                self.say({"id": message["id"], **answer})
        self.at_end = True
        self.news.set()

    def say(self, message: Any) -> None:
        """One line: bytes as they are, all else as JSON; of objects with `jsonrpc`."""
        if isinstance(message, Mapping):
            message = {"jsonrpc": "2.0", **message}
        self.end.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")

    def chunk(self, text: str, session_id: str = "s1") -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.say({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def ask(self, rpc_id: Any, **params: Any) -> None:
        given = {"sessionId": "s1", "options": OPTIONS, "toolCall": {"toolCallId": "perm-1", "title": "t"}, **params}
        self.say({"id": rpc_id, "method": "session/request_permission", "params": given})

    async def hear(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message of the client like this, also one that came before."""
        async with asyncio.timeout(100):
            while True:
                for message in self.heard:
                    if condition(message):
                        return message
                self.news.clear()
                await self.news.wait()

    async def prompt(self, place: int = 0) -> dict[str, Any]:
        """The prompt with this number, from 0."""
        async with asyncio.timeout(100):
            while len(self.requests("session/prompt")) <= place:
                self.news.clear()
                await self.news.wait()
        return self.requests("session/prompt")[place]

    def requests(self, method: str) -> list[dict[str, Any]]:
        return [message for message in self.heard if message.get("method") == method]

    def replies(self) -> list[dict[str, Any]]:
        """What the client answered to requests of the agent, in order."""
        return [message for message in self.heard if "method" not in message]


class Programs:
    """`ports.ChildPrograms` with this one agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.started: list[tuple[str, tuple[str, ...], dict[str, str]]] = []

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        self.started.append((command, tuple(args), dict(env)))
        if command != "agent":
            raise FileNotFoundError(2, "No such file or directory", command)
        return self.agent.ours


class Rig:
    def __init__(self, loop: VirtualLoop, *, command: str = "agent") -> None:
        self.loop = loop
        self.seen = Seen()
        self.agent = Agent()
        self.programs = Programs(self.agent)
        self.link = AcpAgent(self.programs, VirtualClock(loop), [command, "acp"], {"A": "1"}, cwd="/work-folder")
        self.reader = asyncio.create_task(self.agent.run())

    async def up(self) -> str:
        """Started, with one session."""
        await self.link.start(self.seen)
        return await self.link.new_session()

    async def settle(self) -> None:
        """Everything that was written has been read and answered."""
        await asyncio.sleep(0.001)

    async def still_works(self) -> None:
        """A whole turn: text before the answer, a permission, its answer, the end."""
        place = len(self.agent.requests("session/prompt"))
        prompt = asyncio.create_task(self.link.prompt("s1", ["again"]))
        asked = await self.agent.prompt(place)
        self.agent.chunk("still here")
        self.agent.ask("later-id")
        await self.settle()
        await self.link.answer("later-id", "deny")
        reply = await self.agent.hear(lambda message: message.get("id") == "later-id")
        assert reply["result"] == {"outcome": {"outcome": "selected", "optionId": "deny"}}
        self.agent.say({"id": asked["id"], "result": {"stopReason": "end_turn"}})
        assert (await prompt).stop_reason == "end_turn"
        assert self.seen.texts()[-1] == "still here"


def on_a_link(play: Callable[[Rig], Awaitable[T]], *, command: str = "agent", seed: int | None = None) -> T:
    """`seed`: the ready steps are permuted by it."""

    async def main(loop: VirtualLoop) -> T:
        rig = Rig(loop, command=command)
        try:
            return await play(rig)
        finally:
            await rig.link.stop()
            assert loop.time() < 1_000

    # The library writes a traceback where something that it did not expect reached it.
    with TestCase().assertNoLogs(level="WARNING"):
        return run_virtual(main, shuffle=None if seed is None else random.Random(seed))
