"""A fake `hermes acp` in virtual time: real bytes both ways, a scripted model, a real folder for its edits."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.ports import LineStream
from lasttick.targets.transports import memory_transport
from lasttick_fakes.hermes.acp import AcpPrograms, Pace, run_acp
from lasttick_fakes.model import Call, FakeModel, Say

from ..bench import Programs

HOME = Path("/home/agent/.hermes")
CONFIG = """
# the operator's own words
model: {default: scripted-model, provider: custom, base_url: "http://model/v1", api_key: sk-test}
approvals: {mode: manual}
"""
ENV = {"PATH": "/usr/bin", "HOME": "/home/agent"}
RM = "rm -rf ./scratch-dir"


class Dev:
    """The MCP server of the recordings: `tap` works, the two others say busy in two ways. No event stream."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = json.loads((await receive())["body"] or b"null")
        status, message = 405, None
        if body is not None:
            status, message = (200, self._answer(body)) if "id" in body else (202, None)
        headers = [(b"content-type", b"application/json"), (b"mcp-session-id", b"s1")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(message).encode() if message else b""})

    def _answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        head = {"jsonrpc": "2.0", "id": body["id"]}
        busy = "device phone-1 is busy (held by cloud assignment)"
        if body["method"] == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
            return {**head, "result": about}
        if body["method"] == "tools/list":
            tools: list[Any] = [{"name": name, "inputSchema": {}} for name in ("tap", "busy_rpc", "busy_iserror")]
            return {**head, "result": {"tools": tools}}
        if body["params"]["name"] == "busy_rpc":
            return {**head, "error": {"code": -32000, "message": busy}}
        if body["params"]["name"] == "busy_iserror":
            content = [{"type": "text", "text": f"Error executing tool busy_iserror: {busy}"}]
            return {**head, "result": {"content": content, "isError": True}}
        said = "tapped phone-1 1,2"
        result = {"content": [{"type": "text", "text": said}], "structuredContent": {"result": said}}
        return {**head, "result": result}


class AcpBench:
    """One agent process and its client. `frames` is what the client has read: (virtual seconds, frame)."""

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.folder = folder
        self.model = FakeModel(self.clock)
        self.config = CONFIG
        self.environ: dict[str, str] = {}
        self.version = "0.19.0"
        self.pace = Pace()
        self.files: dict[Path, str] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.frames: list[tuple[float, dict[str, Any]]] = []
        network = Network()
        network.serve("model:80", self.model)
        network.serve("127.0.0.1:8765", Dev())
        self._transport = memory_transport(network)
        self.programs = AcpPrograms(self._main)
        self.children = Programs()
        """The stdio servers that it can start."""
        self._stream: LineStream | None = None
        self._reader: asyncio.Task[None] | None = None
        self._next_id = 0
        self._news = asyncio.Event()
        scripts(self.model)

    async def _main(self, stream: LineStream, env: Mapping[str, str]) -> None:
        self.files.setdefault(HOME / "config.yaml", self.config)
        await run_acp(
            stream,
            env,
            children=self.children,
            transport=self._transport,
            read_config=self.files.get,
            write_config=self.files.__setitem__,
            version=self.version,
            clock=self.clock,
            entropy=Chance(1),
            on_event=lambda kind, data: self.events.append((kind, data)),
            pace=self.pace,
        )

    async def start(self) -> None:
        self._stream = await self.programs.start("hermes", ["acp"], {**ENV, **self.environ})
        self._reader = asyncio.create_task(self._read(self._stream))

    async def _read(self, stream: LineStream) -> None:
        async for line in stream.lines():
            self.frames.append((self.loop.time(), json.loads(line)))
            self._news.set()

    def send(self, frame: Mapping[str, Any]) -> None:
        self.write(json.dumps(frame).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self._stream is not None
        self._stream.write(data)

    def hang_up(self) -> None:
        assert self._stream is not None
        self._stream.close()

    async def close(self) -> None:
        if self._stream is not None:
            self.hang_up()
            await self.programs.close()
        await self.children.ended()
        if self._reader is not None:
            await self._reader

    async def wait_for(self, found: Callable[[], Any]) -> Any:
        """What `found` finds, as soon as a frame lets it find something."""
        while not (value := found()):
            self._news.clear()
            try:
                async with asyncio.timeout(200):
                    await self._news.wait()
            except TimeoutError:
                raise AssertionError([frame for _, frame in self.frames[-5:]]) from None
        return value

    async def wait_for_end(self) -> None:
        """The agent's side is closed."""
        assert self._reader is not None
        async with asyncio.timeout(10):
            await self._reader

    # -- a client

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; its id."""
        number, self._next_id = self._next_id, self._next_id + 1
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    async def answer(self, number: int) -> dict[str, Any]:
        """The whole frame that answers a request of ours."""

        def found() -> dict[str, Any] | None:
            mine = [f for _, f in self.frames if "method" not in f and f["id"] == number]
            return mine[0] if mine else None

        frame: dict[str, Any] = await self.wait_for(found)
        return frame

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.answer(self.ask(method, **params))

    async def new_session(self) -> str:
        answer = await self.call("session/new", cwd=str(self.folder), mcpServers=[])
        session_id: str = answer["result"]["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str) -> int:
        return self.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])

    async def asked(self, rpc_id: int) -> dict[str, Any]:
        """The params of the agent's permission request with this id."""

        def found() -> dict[str, Any] | None:
            mine = [frame["params"] for frame in self.permissions() if frame["id"] == rpc_id]
            return mine[0] if mine else None

        params: dict[str, Any] = await self.wait_for(found)
        return params

    def choose(self, rpc_id: int, option_id: str) -> None:
        self.outcome(rpc_id, {"outcome": "selected", "optionId": option_id})

    def outcome(self, rpc_id: int, outcome: Mapping[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "id": rpc_id, "result": {"outcome": outcome}})

    def permissions(self) -> list[dict[str, Any]]:
        """All questions so far."""
        return [frame for _, frame in self.frames if frame.get("method") == "session/request_permission"]

    def updates(self, kind: str) -> list[dict[str, Any]]:
        found = [f["params"]["update"] for _, f in self.frames if f.get("method") == "session/update"]
        return [update for update in found if update["sessionUpdate"] == kind]

    def text(self) -> str:
        """All that the agent has said."""
        return "".join(update["content"]["text"] for update in self.updates("agent_message_chunk"))

    def heard(self, kind: str) -> list[dict[str, Any]]:
        return [data for name, data in self.events if name == kind]


def scripts(model: FakeModel) -> None:
    """What the model of the recordings does."""
    model.script("S_TEXT", Say("hello from the scripted model", "thinking about it", piece_chars=24))
    note = {"path": "note.txt", "content": "hello\n"}
    model.script("S_WRITE", Call((("write_file", note),), text="I will write."), Say("write finished"))
    patch = {"mode": "replace", "path": "note.txt", "old_string": "hello", "new_string": "goodbye"}
    model.script("S_PATCH", Call((("patch", patch),)), Say("patch finished"))
    model.script("S_RM", Call.one("terminal", command=RM), Say("rm finished"))
    other = Call.one("terminal", command="rm -rf ./other-dir")
    model.script("S_RM2", Call.one("terminal", command=RM), other, Say("rm2 finished"))
    todos = [
        {"id": "1", "content": "first", "status": "in_progress"},
        {"id": "2", "content": "second", "status": "pending"},
    ]
    model.script("S_TODO", Call.one("todo", todos=todos), Say("todo finished"))
    both = tuple(("write_file", {"path": f"{name}.txt", "content": f"{name}\n"}) for name in "ab")
    model.script("S_WRITE2", Call(both), Say("both finished"))
    long = "one two three four five six seven eight nine ten"
    model.script("S_LONG", Say(long, piece_chars=4, every_s=0.5))
    v4a = "*** Begin Patch\n*** Add File: v4a.txt\n+from v4a\n*** End Patch"
    model.script("S_V4A", Call.one("patch", mode="patch", patch=v4a), Say("v4a finished"))
    clarify = Call.one("clarify", question="Which target?", choices=["staging", "prod"])
    model.script("S_CLARIFY", clarify, Say("clarify finished"))
    model.script("S_TAP", Call.one("tap", device_id="phone-1", x=1, y=2), Say("tap done"))
    model.script("S_BUSY_RPC", Call.one("busy_rpc", device_id="phone-1"), Say("saw busy"))
    model.script("S_BUSY_ISERR", Call.one("busy_iserror", device_id="phone-1"), Say("saw busy"))
    model.script("*", Say("scripted title"), helper=True)


def on_acp_bench(folder: Path, story: Callable[[AcpBench], Awaitable[None]]) -> None:
    """Play a story; nothing of it may be left running."""

    async def main(loop: VirtualLoop) -> None:
        bench = AcpBench(loop, folder)
        await story(bench)
        await bench.close()
        await loop.settle()
        left = [task for task in loop.open_tasks() if task is not asyncio.current_task()]
        assert not left, left

    run_virtual(functools.partial(main))
