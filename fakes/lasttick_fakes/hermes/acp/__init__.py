"""The same agent as an ACP server on stdio: `hermes acp`, in process over byte pipes or as a program."""

from lasttick_fakes.hermes.acp.connection import ASK_S, OnEvent
from lasttick_fakes.hermes.acp.program import run_acp
from lasttick_fakes.hermes.acp.programs import AcpPrograms
from lasttick_fakes.hermes.acp.turn import Pace

__all__ = ["ASK_S", "AcpPrograms", "OnEvent", "Pace", "run_acp"]
