"""An adapter of a virtual world: adapter, agent and host in this process, joined by byte pipes; the model by the network.

A killed adapter reaches nobody from that instant on: every commit and every frame passes a step, and a dead one's steps
raise. Its agent reads the end of its input, as a real child does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasttick.engine.network import Site
from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick.ports import LineStream
from lasttick.reference.hostagent.start_error import StartError
from lasttick.targets.lineup.agent import VIRTUAL_COMMAND, agent_environ, prepare
from lasttick.targets.lineup.options import AgentEvent, LineupOptions
from lasttick.targets.lineup.tap import TappedPrograms
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import emit_seen
from lasttick_fakes.hermes.acp import ASK_S, AcpPrograms, run_acp
from lasttick_fakes.hermes.acp.turn import DEFAULT_PACE
from lasttick_fakes.host import LineWire, Wire
from lasttick_fakes.model import FakeModel

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

FIRST_PORT = 7300
NOT_TOLD = ("hermes.sent",)
"""Of the agent's own log: a frame is told by the tap already."""
