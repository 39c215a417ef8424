"""A chat host in virtual time, and in the adapter's place a test that writes and reads the very lines."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick_fakes.host import ChatHost, LineWire

EXPIRES_AT = "2026-01-01T00:00:55Z"
ALLOW_OR_DENY = {
    "action_group": {
        "mode": "single-choice",
        "actions": [{"id": "action_01", "label": "Allow edit"}, {"id": "action_02", "label": "Deny"}],
    },
    "subject": {"kind": "edit", "text": "note.txt", "truncated": False},
}
ONE_FIELD = {"fields": [{"id": "task", "label": "Task"}]}


class HostBench:
    """`events` is what the host told; `adapter` the other end of its link."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.host = ChatHost(self.clock, lambda kind, data: self.events.append((kind, data)))
        self.adapter: PipeEnd | None = None

    async def come(self) -> None:
        ours, self.adapter = pipe_pair()
        await self.host.come(LineWire(ours))

    async def sends(self, type_: str, payload: Any, **envelope: Any) -> None:
        await self.sends_raw(json.dumps({"v": 1, "type": f"lineup.v1.{type_}", "payload": payload, **envelope}))

    async def sends_raw(self, text: str) -> None:
        assert self.adapter is not None
        self.adapter.write(text.encode() + b"\n")
        await self.loop.settle()

    async def card(self, call_id: str = "call_1", data: Any = ALLOW_OR_DENY, tool: str = "choice", **rest: Any) -> None:
        await self.sends("tool.call", card(call_id, data, tool), **rest)

    async def state(self, call_id: str, state: str | None, disposition: str | None, reason: Any, **rest: Any) -> None:
        payload = {"call_id": call_id, "state": state, "disposition": disposition, "reason": reason}
        await self.sends("tool.state", payload, **rest)

    async def reads(self) -> dict[str, Any]:
        """The next frame of the host."""
        assert self.adapter is not None
        async for line in self.adapter.lines():
            return dict(json.loads(line))
        raise AssertionError("the host hung up")


def card(call_id: str, data: Any, tool: str) -> dict[str, Any]:
    shown = {"title": "Approve edit", "prompt": "May it?", "expires_at": EXPIRES_AT}
    return {"call_id": call_id, "tool": tool, **shown, "data": data}


def with_host(story: Callable[[HostBench], Awaitable[None]]) -> HostBench:
    benches: list[HostBench] = []

    async def main(loop: VirtualLoop) -> None:
        benches.append(HostBench(loop))
        await benches[0].come()
        await story(benches[0])
        await benches[0].host.leave()

    run_virtual(main)
    return benches[0]
