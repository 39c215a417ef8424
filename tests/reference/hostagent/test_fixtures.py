"""The conformance fixtures are loaded when they are asked for, said at WARNING, and not at all otherwise."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from lasttick.engine.chance import Chance
from lasttick.reference.conformance.state import SignedState

BUILD = """
import sys
from pathlib import Path
from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.config import HostAgentConfig

config = HostAgentConfig(Path(sys.argv[1]), conformance_fixtures=sys.argv[2] == "yes")
HostAgent(config, drivers=None, clock=SystemClock(), entropy=SystemEntropy())
print([name for name in sys.modules if name.startswith("lasttick.reference.conformance")])
"""


@pytest.mark.parametrize("asked", ["yes", "no"])
def test_what_is_not_asked_for_is_not_loaded(asked: str, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path), asked], env=os.environ, capture_output=True, text=True, check=True
    )
    assert (told.stdout.strip() == "[]") is (asked == "no"), told.stdout
    assert ("a test build, not for real devices" in told.stderr) is (asked == "yes"), told.stderr


def test_the_warnings_are_of_their_own_level(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    from lasttick.engine.clock import SystemClock, SystemEntropy
    from lasttick.reference.hostagent.agent import HostAgent
    from lasttick.reference.hostagent.config import HostAgentConfig

    config = HostAgentConfig(tmp_path, conformance_fixtures=True, open_door=True)
    HostAgent(config, drivers=None, clock=SystemClock(), entropy=SystemEntropy())  # type: ignore[arg-type]
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [("fixtures" in line, "door" in line) for line in said] == [(True, False), (False, True)]


def test_a_state_opens_where_it_was_sealed_and_nowhere_else() -> None:
    here, there = SignedState(Chance(1)), SignedState(Chance(2))
    sealed = here.seal(step=1, name="Ada")
    assert here.open(sealed) == {"step": 1, "name": "Ada"}
    for wrong in (sealed + "x", "x" + sealed, sealed.replace(".", ".."), "", ".", "ü.ü", None):
        with pytest.raises(MCPError):
            here.open(wrong)
    with pytest.raises(MCPError):
        there.open(sealed)
