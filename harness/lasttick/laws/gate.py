"""The laws that one pytest process plays on a live target: started together, asked for one by one.

Source: contract laws; DESIGN "Words" (gate).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from lasttick.laws.deployment import Deployment
from lasttick.laws.live import LawEnd, LawPlay, LiveRun
from lasttick.laws.load import Loaded, load, resolve_run_vars

RUN_CHARS = 4


class Gate:
    """`plays`: every law by its scenario id. Raises ProfileError when the profile cannot be used."""

    def __init__(self, file: Path, *, budget_s: float | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.loaded = load(file, os.environ if environ is None else environ)
        self._plays: dict[str, LawPlay] = {}
        self._ends: dict[str, Future[LawEnd]] = {}
        self._live: LiveRun | None = None
        self._budget_s = budget_s

    def knows(self, plays: Mapping[str, LawPlay]) -> None:
        self._plays = dict(plays)

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

    def close(self) -> None:
        """Give up everything that is still held, and end every session."""
        if self._live is not None:
            self._live.close()

    async def _deploy(self) -> Deployment:
        loaded: Loaded = await resolve_run_vars(self.loaded)
        return Deployment(loaded.profile, run=_short_word(), secrets=loaded.secrets)


def _short_word() -> str:
    """Tells the marks of this run from those of any other; chance of the real world on purpose."""
    from lasttick.engine.clock import SystemEntropy

    letters = "abcdefghijkmnpqrstuvwxyz23456789"
    return "".join(letters[byte % len(letters)] for byte in SystemEntropy().token_bytes(RUN_CHARS))
