"""How the parts of a gateway are started, in either mode, and what a mode must be able to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from lasttick.targets.gateway.turns import HermesTurn

TURN_S = 300.0
"""How long one run of the agent program may take."""

PartName = Literal["platform", "agent"]
AgentKind = Literal["hermes", "held"]


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """How the parts are started. `flag` and `credentials` are for every organisation that does not say otherwise.

    `agent` "hermes": the trusted agent with the agent program in `hermes_version`; "held": a stand-in that holds each
    turn open until the scenario ends it, for what happens while a run is active. `config_yaml`: what the operator had
    in the agent's `config.yaml` before its first boot, in place of the least that works. `hermes_command`: the command
    line of another agent program in the fake's place, as the real one (process mode). `agent_environ` and
    `platform_environ`: variables besides (or in place of) the usual ones. Times in seconds; None: the default.
    """

    folder: Path
    name: str = "gateway"
    flag: bool | None = None
    registry: Mapping[str, Any] | None = None
    credentials: Mapping[str, Mapping[str, str]] | None = None
    agent: AgentKind = "hermes"
    hermes_version: str = "0.19.0"
    hermes_command: str | None = None
    config_yaml: str | bytes | None = None
    agent_environ: Mapping[str, str] = field(default_factory=dict)
    platform_environ: Mapping[str, str] = field(default_factory=dict)
    upstream_s: float | None = None
    turn_s: float | None = None


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the parts are: origins."""

    platform: str
    agent: str
    third_party: str
    model: str


class GatewayPart(Protocol):
    """The parts of one gateway, in one mode. `start` raises StartRefused."""

    @property
    def pids(self) -> dict[str, int]: ...

    async def start(self) -> Addresses: ...

    async def stop(self) -> None: ...

    async def restart(self, name: PartName) -> None: ...

    async def kill(self, name: PartName) -> None: ...

    async def turns(self) -> list[HermesTurn]: ...

    async def wires(self) -> list[str]: ...
