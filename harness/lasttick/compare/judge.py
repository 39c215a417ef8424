"""Are two plays of one corpus alike, but for the rulings? Pure: observations in, a report out.

Every difference is covered by a row of `rulings`, or fails. Where a row speaks of a step, ours must show what the row
says, whatever the peer does: a ruling that ours does not keep fails too. Source: VC-21.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lasttick.compare import normal
from lasttick.compare.rulings import ROWS, RULINGS, Row
from lasttick.compare.script import Scene
from lasttick.compare.view import View, view

MISSING: dict[str, Any] = {"answer": {"missing": True}, "vault": [], "remote": []}


@dataclass(frozen=True, slots=True)
class Difference:
    """One place of one step. `path` starts with `/answer`, `/vault` or `/remote`."""

    step: str
    path: str
    ours: Any
    peers: Any


@dataclass(frozen=True, slots=True)
class Report:
    """`exercised`: the steps by ruling; `shown`: those on which the peer reads it otherwise.

    `uncovered`: differences of which no ruling speaks; `unkept`: (step, row) where ours is not what its ruling says.
    """

    steps: int
    equal: int
    uncovered: tuple[Difference, ...]
    unkept: tuple[tuple[str, str], ...]
    exercised: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def unexercised(self) -> tuple[str, ...]:
        return tuple(ruling for ruling in RULINGS if ruling not in self.exercised)

    @property
    def verdict(self) -> str:
        """pass, or fail."""
        return "fail" if self.uncovered or self.unkept else "pass"


def judge(scenes: Sequence[Scene], ours: Mapping[Any, Any], peers: Mapping[Any, Any]) -> Report:
    """Compare two plays of these steps, each by (script, index)."""
    uncovered: list[Difference] = []
    unkept: list[tuple[str, str]] = []
    exercised: dict[str, list[str]] = {}
    shown: dict[str, list[str]] = {}
    equal = 0
    for scene in scenes:
        key = (scene.script.name, scene.at)
        mine, theirs = ours.get(key, MISSING), peers.get(key, MISSING)
        our_view, peer_view = view(mine), view(theirs)
        rows = speaking(scene)
        unkept += [(scene.name, f"ruling {row.ruling}: {row.name}") for row in rows if not row.kept(our_view)]
        for row in rows:
            exercised.setdefault(row.ruling, []).append(scene.name)
        places = differing(mine, theirs)
        equal += not places
        for path, one, other in places:
            reading = covering(rows, our_view, peer_view, path)
            if reading is None:
                uncovered.append(Difference(scene.name, path, one, other))
            elif scene.name not in shown.setdefault(reading.ruling, []):
                shown[reading.ruling].append(scene.name)
    return Report(len(scenes), equal, tuple(uncovered), tuple(unkept), _frozen(exercised), _frozen(shown))


def speaking(scene: Scene) -> list[Row]:
    """The rows that speak of a step."""
    return [row for row in ROWS if row.when(scene)]


def differing(ours: Mapping[str, Any], peers: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Every place where two observations differ: answers, and calls of the vault and of catalogs."""
    return list(normal.differences(dict(ours), dict(peers)))


def covering(rows: Sequence[Row], ours: View, peers: View, path: str) -> Row | None:
    """The first row whose difference this is; None: nobody's."""
    return next((row for row in rows if row.kept(ours) and row.covers(ours, peers, path)), None)


def _frozen(steps: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {ruling: tuple(steps[ruling]) for ruling in RULINGS if ruling in steps}
