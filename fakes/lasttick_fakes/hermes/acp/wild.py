"""What does an agent do that does not keep to the protocol? It writes what its model asks it to, as lines of its own.

Only with `HERMES_FAKE_WILD` in its environment is the model offered the tool `write_lines`; the real program has
nothing like it. `lines`: each `{"text"}` or `{"hex"}`, with `times` to repeat it; `{session}` in a text is the
session's id, and every line gets its line feed. Answers that come to such lines are in the agent's log like all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.ports import LineStream
from lasttick_fakes.hermes.servers import Offered

WILD_VARIABLE = "HERMES_FAKE_WILD"
TOOL = "write_lines"
DONE = '{"written": true}'


class Wild:
    """Of one agent process, whose own end of the pipes is `stream`."""

    offered = Offered(TOOL, "Write lines as they are.", {"type": "object", "properties": {}}, TOOL, method="")

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream

    def call(self, session_id: str, arguments: Mapping[str, Any]) -> str:
        """What the model reads of it. Raises ValueError for hex that is none, KeyError for a line that is none."""
        for line in arguments["lines"]:
            one = bytes.fromhex(line["hex"]) if "hex" in line else _text(line["text"], session_id)
            self._stream.write(one * line.get("times", 1) + b"\n")
        return DONE


def _text(text: str, session_id: str) -> bytes:
    return text.replace("{session}", session_id).encode("utf-8", "surrogatepass")
