"""A fake Hermes in virtual time: its home in memory, a scripted model, and servers that do as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick.ports import Finished, LineStream
from lasttick.targets.transports import memory_transport
from lasttick_fakes.hermes import DEFAULT_VERSION, run_hermes
from lasttick_fakes.model import FakeModel, Say

HOME = Path("/home/agent/.hermes")
CONFIG = """
model: {default: scripted-model, provider: custom, base_url: "http://model/v1", api_key: sk-test}
mcp_servers:
  humanwork:
    command: child
    args: [one, two]
    env: {ORG: "${HUMANWORK_ORG_ID}", UNSET: "${NOPE}", EMPTY: "${EMPTY}", PREFIXED: "${env:HUMANWORK_ORG_ID}"}
    tools: {resources: false, prompts: false}
"""
ENV = {
    "PATH": "/usr/bin",
    "HOME": "/home/agent",
    "HUMANWORK_ORG_ID": "org-a",
    "AGENT_SERVICE_SECRET": "sekret-value",
    "EMPTY": "",
    "XDG_DATA_HOME": "/x",
}
ARGV = ("hermes", "chat", "-Q", "-t", "humanwork", "-q")


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], **more}


class Child:
    """A stdio MCP server of a test. `results`: what each tool does, a result, a JSON-RPC error, or a coroutine."""

    def __init__(self, **results: Any) -> None:
        self.results: dict[str, Any] = results or {"lookup": text("order A-1, nonce n-77, from the third party")}
        self.capabilities: dict[str, Any] = {"tools": {}}
        self.delay_s = 0.0
        self.starts: list[tuple[str, tuple[str, ...], dict[str, str]]] = []
        self.heard: list[dict[str, Any]] = []
        self.eofs = 0
        self.calling = 0
        self.calling_max = 0
        self.answers: dict[str, Any] = {}
        """Answers to other methods than the usual ones, by method."""
        self.before_tools: list[bytes] = []
        """Lines that are written before the first answer."""

    def calls(self) -> list[dict[str, Any]]:
        return [message["params"] for message in self.heard if message.get("method") == "tools/call"]

    async def serve(self, end: PipeEnd) -> None:
        await asyncio.sleep(self.delay_s)
        for line in self.before_tools:
            end.write(line)
        tasks: list[asyncio.Task[None]] = []
        async for line in end.lines():
            message = json.loads(line)
            self.heard.append(message)
            if "id" in message and "method" in message:
                tasks.append(asyncio.create_task(self._answer(end, message)))
        self.eofs += 1
        for task in tasks:
            task.cancel()

    async def _answer(self, end: PipeEnd, message: dict[str, Any]) -> None:
        method = message["method"]
        if method == "initialize":
            result: Any = {"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "serverInfo": {}}
        elif method == "tools/list" and method not in self.answers:
            schema = {"type": "object"}
            tools = [{"name": name, "description": f"the {name}", "inputSchema": schema} for name in self.results]
            result = {"tools": tools}
        elif method == "tools/call":
            self.calling += 1
            self.calling_max = max(self.calling_max, self.calling)
            result = self.results[message["params"]["name"]]
            if callable(result):
                result = await result(end, message["params"]["arguments"])
            self.calling -= 1
        else:
            result = self.answers.get(method, {})
            if callable(result):
                result = result(message.get("params"))
        if result is None:
            return
        kind = "error" if "code" in result else "result"
        end.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], kind: result}).encode() + b"\n")


class Programs:
    """`ports.ChildPrograms` over `Child`s by command."""

    def __init__(self) -> None:
        self.children: dict[str, Child] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        if "\0" in command:
            raise ValueError("embedded null byte")
        if command not in self.children:
            raise FileNotFoundError(2, "No such file or directory", command)
        child = self.children[command]
        child.starts.append((command, tuple(args), dict(env)))
        ours, theirs = pipe_pair()
        self._tasks.append(asyncio.create_task(child.serve(theirs)))
        return ours

    async def ended(self) -> None:
        """Every child has seen its end of file: nothing of a run is left."""
        async with asyncio.timeout(120):
            await asyncio.gather(*self._tasks)


class Bench:
    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.model = FakeModel(self.clock)
        self.model.script("hello", Say("plain answer"))
        self.child = Child()
        self.programs = Programs()
        self.programs.children["child"] = self.child
        self.files: dict[Path, str] = {HOME / "config.yaml": CONFIG}
        self.env = dict(ENV)
        self.version: str = DEFAULT_VERSION
        self.network = Network()
        self.network.serve("model:80", self.model)
        self._entropy = Chance(1)

    def config(self, extra: str = "", *replaced: tuple[str, str]) -> None:
        """The usual configuration with lines added, and pieces (old, new) replaced."""
        config = CONFIG
        for old, new in replaced:
            assert old in config
            config = config.replace(old, new)
        self.files[HOME / "config.yaml"] = config + extra

    async def run(self, prompt: str | None = None, *, argv: Sequence[str] | None = None) -> Finished:
        chosen = argv if argv is not None else (*ARGV, prompt or "hello")
        return await run_hermes(
            chosen,
            self.env,
            children=self.programs,
            transport=memory_transport(self.network),
            read_config=lambda path: self.files.get(path),
            version=self.version,
            clock=self.clock,
            entropy=self._entropy,
        )

    def tools(self) -> tuple[str, ...] | None:
        """Offered in the newest model request."""
        return self.model.requests()[-1].tools

    def tool_messages(self) -> list[str]:
        """What the model has read of tools, in its newest request."""
        return [message["content"] for message in self.model.requests()[-1].messages if message["role"] == "tool"]


def on_bench(story: Callable[[Bench], Awaitable[None]]) -> None:
    async def main(loop: VirtualLoop) -> None:
        bench = Bench(loop)
        await story(bench)
        await bench.programs.ended()
        left = [task for task in loop.open_tasks() if task is not asyncio.current_task()]
        assert not left, left

    run_virtual(main)
