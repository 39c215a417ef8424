"""How does a chat host live beside an adapter? It comes, shows what it is sent, sends what its people do, and leaves.

Every frame of either direction stands in its own log, with the host's time, before anything judges it; a frame that an
adapter may not send has its `problem` there. Fidelity. Models: one link at a time, cards that are disabled by a click
and enabled by a rejection, a host that keeps its screen while it is away. Does not model: a host that starts anew and
forgets, more than one host. Shown by tests/fakes/host. Source: contract lineup C-1, C-2.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from lasttick.model.lineup.frames import INVENTORY
from lasttick.ports import Clock
from lasttick_fakes.host.errors import NotSeen
from lasttick_fakes.host.person import Person
from lasttick_fakes.host.screen import Answer, Screen
from lasttick_fakes.host.shown import CardSent, StateSent, read_sent
from lasttick_fakes.host.wires import Wire

T = TypeVar("T")
OnEvent: TypeAlias = Callable[[str, dict[str, Any]], None]
Way: TypeAlias = Literal["got", "sent", "came", "left"]


def _deaf(kind: str, data: dict[str, Any]) -> None:
    """For those who keep no trace."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of the host's log. `frame`: decoded, or the text when it is no JSON; None for coming and leaving.
    `t_ns` is the host's monotonic clock."""

    seq: int
    t_ns: int
    way: Way
    frame: Any
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"seq": self.seq, "t_ns": self.t_ns, "way": self.way, "frame": self.frame, "problem": self.problem}


class ChatHost:
    """One host. `on_event(kind, data)` hears `host.frame` {way, frame, problem}, `host.link` {way}, `card.shown`,
    `card.answered` and `card.state`."""

    def __init__(self, clock: Clock, on_event: OnEvent = _deaf) -> None:
        self.log: list[Logged] = []
        self.screen = Screen()
        self._clock = clock
        self._on_event = on_event
        self._wire: Wire | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._people: dict[str, Person] = {}
        self._tools: tuple[str, ...] = ()
        self._messages = 0
        self._links = 0

    # -- the link

    @property
    def is_here(self) -> bool:
        return self._wire is not None

    async def come(self, wire: Wire) -> None:
        """Join an adapter. What it publishes belongs to this link: nothing is published yet."""
        await self.leave()
        self._wire, self._tools = wire, ()
        self._links += 1
        self.screen.joined()
        self._write("came", None)
        self._on_event("host.link", {"way": "came"})
        self._reader = asyncio.create_task(self._read(wire), name="chat host")

    async def leave(self) -> None:
        """Hang up. The screen stays as it is."""
        wire, reader = self._wire, self._reader
        if wire is None or reader is None:
            return
        self._gone(wire)
        await wire.close()
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)

    async def _read(self, wire: Wire) -> None:
        try:
            async for data in wire.frames():
                if self._wire is wire:
                    self._got(data)
        finally:
            self._gone(wire)

    def _gone(self, wire: Wire) -> None:
        if self._wire is wire:
            self._wire = self._reader = None
            self._write("left", None)
            self._on_event("host.link", {"way": "left"})
            self._wake()

    # -- what comes in

    def _got(self, data: bytes) -> None:
        problem, sent = None, None
        try:
            sent = read_sent(data)
            self.screen.show(sent, self._tools, self._links)
        except ValueError as error:
            problem = str(error) or type(error).__name__
        self._write("got", _shown(data), problem)
        if problem is None and isinstance(sent, CardSent):
            names = ("conversation_id", "call_id", "tool", "title", "expires_at")
            self._on_event("card.shown", {name: getattr(sent, name) for name in names})
        elif problem is None and isinstance(sent, StateSent):
            names = ("conversation_id", "call_id", "state", "disposition", "reason")
            self._on_event("card.state", {name: getattr(sent, name) for name in names})
        self._wake()

    @property
    def problems(self) -> list[Logged]:
        """The frames that an adapter may not send."""
        return [line for line in self.log if line.problem is not None]

    def frames(self) -> list[dict[str, Any]]:
        """What the adapter sent, in order, right or wrong."""
        return [line.frame for line in self.log if line.way == "got"]

    async def seen(self, find: Callable[[], T | None], what: str, within_s: float) -> T:
        """Wait until `find` gives something. Raises NotSeen after `within_s`."""
        limit = asyncio.create_task(self._clock.sleep(within_s), name=f"a person waits for {what}")
        try:
            while (found := find()) is None:
                if limit.done():
                    raise NotSeen(f"no {what} within {within_s:g} s; {self._told()}")
                change = asyncio.get_running_loop().create_future()
                self._waiting.append(change)
                await asyncio.wait((change, limit), return_when=asyncio.FIRST_COMPLETED)
            return found
        finally:
            limit.cancel()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def _told(self) -> str:
        """What a person would say is there instead."""
        last = [_short(line.frame) for line in self.log[-5:] if line.way == "got"]
        wrong = [f"{line.problem}: {_short(line.frame)}" for line in self.problems[:3]]
        here = "" if self.is_here else " the host has no link to the adapter;"
        return f"{here}the last frames were {last or 'none'}" + (f"; wrong frames: {wrong}" if wrong else "")

    # -- what goes out

    def person(self, conversation_id: str = "default") -> Person:
        """Who sits before that conversation: the same each time."""
        if conversation_id not in self._people:
            self._people[conversation_id] = Person(self, conversation_id)
        return self._people[conversation_id]

    async def publish(self, revision: str, tools: Mapping[str, Mapping[str, Mapping[str, Any]]], type_: str) -> None:
        """Say what this host can do; `type_` "" for the usual name of the frame. Raises ConnectionError."""
        self._tools = tuple(tools)
        listed = [{"tool": name, "arguments": dict(arguments)} for name, arguments in tools.items()]
        payload = {"revision": revision, "capabilities": listed}
        await self.send({"v": 1, "type": type_ or INVENTORY, "payload": payload})

    async def send(self, frame: Mapping[str, Any]) -> None:
        """One frame. Raises ConnectionError."""
        await self.send_raw(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))

    async def send_raw(self, data: bytes) -> None:
        """Bytes as they are, as one frame. Raises ConnectionError when the host has no link."""
        wire = self._link()
        self._write("sent", _shown(data))
        await wire.send(data)

    def answered(self, conversation_id: str, call_id: str, payload: Mapping[str, Any]) -> Answer:
        """A person is about to answer. Raises ConnectionError."""
        self._link()
        answer = self.screen.answered(conversation_id, call_id, payload)
        about = {name: payload[name] for name in ("status", "result") if name in payload}
        self._on_event("card.answered", {"conversation_id": conversation_id, "call_id": call_id, **about})
        return answer

    def _link(self) -> Wire:
        if self._wire is None:
            raise ConnectionResetError("the host has no link to the adapter; expected one; let it come first")
        return self._wire

    def next_message_id(self) -> str:
        self._messages += 1
        return f"message-{self._messages}"

    def _write(self, way: Way, frame: Any, problem: str | None = None) -> None:
        self.log.append(Logged(len(self.log) + 1, self._clock.now_ns(), way, frame, problem))
        if way in ("got", "sent"):
            told = {} if problem is None else {"problem": problem}
            self._on_event("host.frame", {"way": way, "frame": frame, **told})


def _shown(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _short(frame: Any) -> str:
    text = json.dumps(frame, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:297]}..."
