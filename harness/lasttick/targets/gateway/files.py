"""What taps of other processes saw: lines of JSON in files, written there, read by the world.

Times are CLOCK_MONOTONIC, which all processes of a machine share. The files hold environments, so they are for their
owner only and live in the world's folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lasttick.ports import Clock
from lasttick.targets.gateway.turns import HermesTurn


class SightFile:
    """Appends what is seen. One process writes, each line whole."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._clock = clock
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def saw(self, actor: str, kind: str, run_id: str | None, data: dict[str, Any]) -> None:
        self._write({"t_ns": self._clock.now_ns(), "actor": actor, "kind": kind, "ref": run_id, "data": data})

    def keep(self, number: int, turn: HermesTurn) -> None:
        self._write({"turn": number, **turn.as_json()})

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")


def sights(path: Path) -> list[dict[str, Any]]:
    """The events of a file, in order; none when nothing was seen yet."""
    return [line for line in _lines(path) if "kind" in line]


def turns(path: Path) -> list[HermesTurn]:
    """The agent's turns, in the order in which they began, as they were last told."""
    last = {line["turn"]: HermesTurn.from_json(line) for line in _lines(path) if "turn" in line}
    return [last[number] for number in sorted(last)]


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.splitlines()]
