"""How long a call waits for the lock, and what it says then. Source: contract vaultclaw 15 "Locking"."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.catalog.catalog import Catalog

from ....model.vaultclaw.bundles import bundle
from .shelf import check_agreement, opened


def ended(root: Path, free_at_s: float, timeout_ms: int, work: Any) -> tuple[float, ToolFailure | None, int]:
    """A call while somebody holds the lock until then: when it ends, how, and how often it tried."""
    tries: list[str] = []

    async def main(loop: VirtualLoop) -> tuple[float, ToolFailure | None, int]:
        holder = open(root / ".catalog.lock", "rb+")  # noqa: ASYNC230, SIM115
        fcntl.flock(holder, fcntl.LOCK_EX)
        loop.call_later(free_at_s, holder.close)
        failure = None
        try:
            await work(Catalog(root, VirtualClock(loop), lock_timeout_ms=timeout_ms, before=tries.append))
        except ToolFailure as error:
            failure = error
        now_s = loop.time()
        holder.close()
        return now_s, failure, tries.count("lock .catalog.lock") - 1

    return run_virtual(main)


WORK: dict[str, Callable[[Catalog], Any]] = {
    "list": lambda c: c.list(),
    "get": lambda c: c.get("a"),
    "search": lambda c: c.search(),
    "upsert": lambda c: c.upsert(bundle("b", "1")),
    "delete": lambda c: c.delete("a"),
    "sources": lambda c: c.sources(),
    "upsert_source": lambda c: c.upsert_source({"source_id": "s", "index_url": "http://a/"}),
    "delete_source": lambda c: c.delete_source("s"),
    "open": lambda c: c.open(),
}


@pytest.mark.parametrize("name", WORK)
def test_every_call_waits_and_then_says_who_holds_it(tmp_path: Path, name: str) -> None:
    opened(tmp_path, lambda c: c.upsert(bundle("a", "1")))
    now_s, failure, tries = ended(tmp_path, 99.0, 10_000, WORK[name])
    assert failure is not None
    assert (failure.code, failure.retryable) == ("MCP_INTERNAL", False)
    assert sorted(failure.details) == ["cause", "operation", "path"]
    assert failure.details["path"] == str(tmp_path / ".catalog.lock")
    assert (round(now_s, 9), tries) == (10.0, 401), "at 0, then every 25 ms, and once at the time-out"
    check_agreement(tmp_path)


@pytest.mark.parametrize(
    ("free_at_s", "timeout_ms", "ends_at_s"),
    [(0.010, 1_000, 0.025), (0.025, 1_000, 0.025), (0.026, 1_000, 0.050), (0.999, 1_000, 1.0), (0.9, 30, None)],
)
def test_it_is_tried_every_25_ms(tmp_path: Path, free_at_s: float, timeout_ms: int, ends_at_s: float | None) -> None:
    opened(tmp_path, lambda c: c.upsert(bundle("a", "1")))
    now_s, failure, _ = ended(tmp_path, free_at_s, timeout_ms, WORK["upsert"])
    assert (failure is None) is (ends_at_s is not None)
    assert now_s == pytest.approx(timeout_ms / 1_000 if ends_at_s is None else ends_at_s)
    assert len(check_agreement(tmp_path)) == (1 if failure else 2)


def test_a_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    opened(tmp_path, lambda c: c.upsert(bundle("a", "1")))
    assert (tmp_path / ".catalog.lock").exists()
    now_s, failure, _ = ended(tmp_path, 0.0, 1_000, WORK["list"])
    assert (now_s <= 0.025, failure) == (True, None)


def test_it_is_given_back_after_a_failure(tmp_path: Path) -> None:
    opened(tmp_path, lambda c: c.upsert(bundle("a", "1")))

    async def work(catalog: Catalog) -> None:
        with pytest.raises(ToolFailure):
            await catalog.get("nothing")
        with open(tmp_path / ".catalog.lock", "rb+") as other:  # noqa: ASYNC230
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    opened(tmp_path, work)
    assert not os.path.getsize(tmp_path / ".catalog.lock")
