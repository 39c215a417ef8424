"""How the parts around an adapter are started, in either mode, and what a mode must be able to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from lasttick.ports import Clock, LineStream
from lasttick_fakes.host import Wire

Via: TypeAlias = Literal["websocket", "lines"]
NOT_TOLD = ("hermes.sent",)
"""Of the agent's own log: what it sent is told by the tap already."""


@dataclass(frozen=True, slots=True)
class LineupOptions:
    """How the parts are started. `folder` holds the ledger, the agent's home and `files`, in which it works; a second
    adapter in the same folder takes over all of it, the agent's model too.

    `via`: how the host is joined; `lines` are standard streams in process mode, so there is one link for each run. A
    virtual world joins by lines of JSON whatever is asked, and as often as the host comes. `agent_command`: the command
    line of another ACP agent in the fake's place (process mode). `config_yaml`: the agent program's configuration in
    place of the least that works; `{model_url}` in it is where the model is. `agent_environ`: variables besides (or in
    place of) the usual ones. `pace`: a factor for how long the fake agent's own work takes; `ask_s`: after so long it
    denies by itself. Times in seconds; None: the default.
    """

    folder: Path
    name: str = "lineup"
    via: Via = "websocket"
    hermes_version: str = "0.19.0"
    agent_command: str | None = None
    config_yaml: str | None = None
    agent_environ: Mapping[str, str] = field(default_factory=dict)
    response_timeout_s: float | None = None
    permission_life_s: float | None = None
    pace: float | None = None
    ask_s: float | None = None

    @property
    def ledger(self) -> Path:
        return self.folder / "lineup.sqlite"

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @property
    def hermes_home(self) -> Path:
        return self.folder / "hermes"


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """One line of the agent's own log. `t_ns` is its monotonic clock."""

    t_ns: int
    kind: str
    data: Mapping[str, Any]


class LineupPart(Protocol):
    """The parts of one adapter, in one mode. The model starts with `prepare`, once; `start` raises StartRefused."""

    @property
    def clock(self) -> Clock:
        """What the host in this process tells the time by."""
        ...

    @property
    def model_url(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def is_up(self) -> bool:
        """Whether a host can come."""
        ...

    async def prepare(self) -> None: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def kill(self) -> None: ...

    async def ended(self) -> int:
        """Wait until it ends by itself; its exit code."""
        ...

    async def kill_agent(self) -> None:
        """The agent's process is gone from one instant to the next; the adapter lives on."""
        ...

    async def wire(self) -> Wire:
        """A new link for a host. Raises ConnectionError."""
        ...

    async def native(self) -> LineStream:
        """The adapter's event source, as the gateway holds it."""
        ...

    def agent_log(self) -> list[AgentEvent]: ...

    def said(self) -> str:
        """What the adapter said on standard error."""
        ...

    def crash_at(self, step: int) -> None:
        """The next run dies just as it comes to its step of that number, from 0."""
        ...

    @property
    def steps(self) -> list[str]:
        """The steps that this run has come to: every commit and every frame."""
        ...

    async def crashed(self) -> str:
        """Wait for that death; the name of its step."""
        ...

    async def close(self) -> None:
        """The end of the world: whatever else was started."""
        ...
