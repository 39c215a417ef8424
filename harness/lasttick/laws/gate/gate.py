"""The laws that one pytest process plays on a live target: started together, asked for one by one.

Source: contract laws; DESIGN "Words" (gate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.beginning import deploy, end_all
from lasttick.laws.gate.leftovers import Left
from lasttick.laws.gate.live import LawEnd, LawPlay, LiveRun
from lasttick.laws.profiles.loaded import Loaded


class Gate:
    """`plays`: every law by its scenario id. `config`: the profile's file; the journal is beside it."""

    def __init__(
        self, loaded: Loaded, config: Path, plays: Mapping[str, LawPlay], *, budget_s: float | None = None
    ) -> None:
        self._loaded = loaded
        self._config = config
        self._plays = dict(plays)
        self._ends: dict[str, Future[LawEnd]] = {}
        self._live: LiveRun | None = None
        self._budget_s = budget_s
        self._left: list[Left] = []

    def start(self, ids: Sequence[str]) -> None:
        """Play these, overlapped; invariants when the others are over."""
        if self._live is None:
            self._live = LiveRun(self._deploy, budget_s=self._budget_s)
        ends = self._live.start([self._plays[id_] for id_ in ids])
        self._ends.update(zip(ids, ends, strict=True))

    def await_end(self, id_: str) -> LawEnd:
        """Wait for one law; played now when it was not started."""
        if id_ not in self._ends:
            self.start([id_])
        return self._ends[id_].result()

    def close(self) -> list[Left]:
        """Give up everything that is still held, and end every session. Returns what could not be ended."""
        if self._live is not None:
            self._live.close(self._finish)
            self._live = None
        return self._left

    async def _deploy(self) -> Deployment:
        return await deploy(self._loaded, self._config)

    async def _finish(self, deployment: Deployment) -> None:
        self._left = await end_all(deployment)
