"""How does the agent speak with its client? Lines out, permission questions with ids of its own, from 0.

The ids of both sides are separate spaces. A question ends with the client's answer or by itself after 60 s, as a
denial; an answer that comes later is heard by nobody. Everything sent, and every answer, goes to `on_event`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from lasttick.ports import Clock, LineStream
from lasttick_fakes.hermes.acp import frames
from lasttick_fakes.hermes.acp.frames import Frame

OnEvent: TypeAlias = Callable[[str, dict[str, Any]], None]
ASK_S = 60.0


class Connection:
    """One client. `stream` is the agent's end: it reads what the client wrote."""

    def __init__(self, stream: LineStream, clock: Clock, on_event: OnEvent, ask_s: float = ASK_S) -> None:
        self._stream = stream
        self._clock = clock
        self.on_event = on_event
        self._ask_s = ask_s
        self._next_id = 0
        self._open: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    def send(self, frame: Frame) -> None:
        """A client that is gone hears nothing, and the agent goes on until it reads the end of file."""
        try:
            self._stream.write(frames.line(frame))
        except (OSError, RuntimeError):
            return
        self.on_event("hermes.sent", {"frame": frame})

    def update(self, session_id: str, kind: str, /, **fields: Any) -> None:
        self.send(frames.update(session_id, kind, fields))

    async def ask(self, session_id: str, options: Sequence[Frame], tool_call: Mapping[str, Any]) -> str | None:
        """The id of the option that was chosen; None for everything else, silence included."""
        rpc_id, self._next_id = self._next_id, self._next_id + 1
        answer = self._open[rpc_id] = asyncio.get_running_loop().create_future()
        params = {"options": list(options), "sessionId": session_id, "toolCall": dict(tool_call)}
        self.send(frames.request(rpc_id, "session/request_permission", params))
        limit = asyncio.create_task(self._clock.sleep(self._ask_s), name=f"hermes waits for answer {rpc_id}")
        try:
            await asyncio.wait((answer, limit), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self.on_event("hermes.denied_itself", {"rpc_id": rpc_id, "session_id": session_id})
                return None
            return _chosen(answer.result())
        finally:
            limit.cancel()
            del self._open[rpc_id]

    def answered(self, frame: Mapping[str, Any]) -> None:
        """An answer came. The first to an open question counts; every other is only noted."""
        rpc_id = frame.get("id")
        number = rpc_id if isinstance(rpc_id, int) and not isinstance(rpc_id, bool) else None
        waiting = None if number is None else self._open.get(number)
        counts = waiting is not None and not waiting.done()
        self.on_event("hermes.answered", {"rpc_id": rpc_id, "frame": dict(frame), "counts": counts})
        if waiting is not None and counts:
            waiting.set_result(frame)


def _chosen(frame: Mapping[str, Any]) -> str | None:
    result = frame.get("result")
    outcome = result.get("outcome") if isinstance(result, Mapping) else None
    if not isinstance(outcome, Mapping) or outcome.get("outcome") != "selected":
        return None
    option_id = outcome.get("optionId")
    return option_id if isinstance(option_id, str) else None
