"""A real agent at a host: its MCP side in either version, each session and call of it an event of the trace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from lasttick import World
from lasttick_fakes.hermes.mcp_side import LoopClock, McpSide

BUSY = "is busy (held by another MCP session)"
TIMED_OUT = "timed out after"
UNREACHABLE = "is unreachable"
LOST = "Session terminated"


class _Told:
    """What the agent does, as the trace has it of every client."""

    def __init__(self, world: World, host: Any, name: str) -> None:
        self._world = world
        self._host = host.options.name
        self._name = name
        self._aliases: dict[str, str] = {}
        self.sent_calls = 0

    def opened(self, session_id: str) -> None:
        alias = self._aliases[session_id] = self._world.alias_session(session_id)
        self._emit("session.open", session=alias, era="handshake", host=self._host)

    def ended(self, session_id: str, *, lost: bool) -> None:
        self._emit("session.end", session=self._aliases.get(session_id), lost=lost)

    def sent(self, session_id: str, tool: str, arguments: Mapping[str, Any]) -> str:
        self.sent_calls += 1
        ref = self._world.next_ref("c")
        told = {"tool": tool, "device_id": arguments.get("device_id"), "arguments": dict(arguments)}
        self._emit("call.start", ref, **told, session=self._aliases.get(session_id))
        return ref

    def over(self, call: str, tool: str, outcome: str, error: Mapping[str, Any] | None) -> None:
        error = error or {}
        data = error.get("data") if isinstance(error.get("data"), Mapping) else {}
        reason = (data or {}).get("reason") if error else None if outcome == "ok" else outcome
        self._emit("call.end", call, tool=tool, ok=outcome == "ok", code=error.get("code"), reason=reason)

    def _emit(self, kind: str, ref: str | None = None, **data: Any) -> None:
        self._world.trace.emit(self._name, kind, ref, **data)


class Agent:
    """One run of the agent's program. Its answers are what its model reads."""

    def __init__(self, world: World, host: Any, name: str, version: str, **options: Any) -> None:
        self.name = name
        self._world = world
        self._told = _Told(world, host, name)
        self._index = world.next_client_index()
        self._taps = 0
        self.side = McpSide(
            host.url,
            host.token,
            clock=LoopClock(),
            transport=world.transport(),
            version=version,
            watch=self._told,
            **options,
        )

    @property
    def sent_calls(self) -> int:
        """How many calls left for the host, the repeated ones too."""
        return self._told.sent_calls

    def begin_tap(self, device_id: str) -> asyncio.Task[str]:
        """A tap at coordinates that only this agent uses."""
        self._taps += 1
        x, y = 2.0 + self._index, round(2.0 + self._taps / 100, 2)
        return self._world.start(self.side.call("tap", device_id=device_id, x=x, y=y))

    async def tap(self, device_id: str) -> str:
        return await self.begin_tap(device_id)


async def started(world: World, host: Any, name: str, version: str, **options: Any) -> Agent:
    """The program has started and found the host's tools. `keepalive_s`, `timeout_s` as in its configuration."""
    agent = Agent(world, host, name, version, **options)
    await agent.side.start()
    assert len(agent.side.tools) == 11, f"{name} found {agent.side.tools}"
    return agent


def expect_done(text: str, when: str) -> None:
    assert text.startswith('{"result"'), f"{when}: expected the tap to be done, the model reads {text}"


def expect_text(text: str, part: str, when: str) -> None:
    assert part in text, f"{when}: expected the model to read `{part}`, it reads {text}"


async def session_is_lost(world: World, host: Any, agent: Agent) -> None:
    """The host forgets the agent's session, of which the agent learns at its next request: somebody who knows the id
    has ended it, as a proxy does that drops what is idle."""
    world.trace.emit(agent.name, "session.end", session=agent._told._aliases.get(str(agent.side.session_id)), lost=True)
    headers = {"authorization": f"Bearer {host.token}", "mcp-session-id": str(agent.side.session_id)}
    async with host.http() as http:
        answer = await http.delete("/mcp", headers=headers)
    assert answer.status_code in (200, 204, 404), f"the DELETE gave HTTP {answer.status_code}"
