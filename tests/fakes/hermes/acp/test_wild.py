"""Does the agent write what its model asks it to, byte for byte, and only when it was told to be wild?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasttick_fakes.hermes.acp.toolbox import Toolbox
from lasttick_fakes.hermes.acp.wild import DONE, TOOL, Wild
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, habits_of


class Written:
    """A stream that keeps what was written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def test_lines_are_written_as_they_are() -> None:
    stream: Any = Written()
    lines = [
        {"text": '{"sessionId":"{session}"}'},
        {"hex": "ff00"},
        {"text": "[", "times": 3},
        {"text": "\ud800"},
    ]
    assert Wild(stream).call("S", {"lines": lines}) == DONE
    assert stream.data == b'{"sessionId":"S"}\n\xff\x00\n[[[\n\xed\xa0\x80\n'


@pytest.mark.parametrize("is_wild", [False, True])
def test_the_tool_is_offered_to_a_wild_agent_only(is_wild: bool, tmp_path: Path) -> None:
    nobody: Any = None
    wild = Wild(nobody) if is_wild else None
    toolbox = Toolbox([], nobody, habits_of(DEFAULT_VERSION), {}, str(tmp_path), lambda kind, data: None, wild)
    assert (TOOL in toolbox.offered()) == is_wild
