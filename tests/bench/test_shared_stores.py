"""Does the lease benchmark measure the servers that are there, and name those that are not?"""

from __future__ import annotations

import pytest

from lasttick.bench import leases, table
from lasttick.bench.rounds import Effort
from lasttick.targets import shared_stores

from ..contracts.shared_servers import need

TINY = Effort(rounds_min=1, rounds_max=1, slice_s=0.002)


@pytest.mark.parametrize("kind", shared_stores.KINDS)
def test_a_server_that_is_there_is_measured_beside_its_floor(kind: shared_stores.Kind) -> None:
    need(kind)
    one = leases.shared_cycle(kind, TINY)
    assert (one.id, one.unit) == (f"{kind}/cycle", "us")
    assert one.ratio is not None
    assert one.ratio > 0


def test_a_server_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    monkeypatch.setenv("LASTTICK_TEST_REDIS", "redis://user:secret@127.0.0.1:1")
    monkeypatch.setenv("LASTTICK_TEST_POSTGRES", "postgresql://user:secret@127.0.0.1:1/test")
    told = leases.measure([1], [1], TINY)
    assert told["conditions"]["not_measured"] == [
        "redis: no server at redis://127.0.0.1:1; start one, or set LASTTICK_TEST_REDIS",
        "postgres: no server at postgresql://127.0.0.1:1/test; start one, or set LASTTICK_TEST_POSTGRES",
    ]
    table.show(told, Console(width=200))
    shown = capsys.readouterr().out
    assert "Not measured: redis: no server at redis://127.0.0.1:1" in shown
    assert "secret" not in shown
