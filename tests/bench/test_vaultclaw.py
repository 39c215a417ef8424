"""Does the vault system's benchmark run from end to end, and would it see a wrong answer? Never how fast."""

from __future__ import annotations

import json

import pytest

from lasttick import mutants
from lasttick.bench import vaultclaw
from lasttick.bench.rounds import Effort
from lasttick.bench.vaultclaw import Slice, figures, settled

TINY = Effort(rounds_min=1, rounds_max=1, slice_s=0.004)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaultclaw, "TENANTS", 5)
    monkeypatch.setattr(vaultclaw, "DECIDED_S", 0.1)
    monkeypatch.setattr(vaultclaw, "INTERVAL_MS", 250)


def test_the_report() -> None:
    heard: list[str] = []
    told = vaultclaw.measure(TINY, heard.append)
    assert heard == ["vaultclaw"]
    assert (told["version"], told["benchmark"], told["conditions"]["tenants"]) == (1, "vaultclaw", 5)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [(one["id"], one["unit"], one["target"]) for one in told["figures"]] == [
        ("vaultclaw/waits-at-once", "s", "max at most 5"),
        ("vaultclaw/ten-minute-wait", "ms", "median at most 50"),
        ("vaultclaw/wrong", "answers", "max at most 0"),
    ]
    waits, long, wrong = told["figures"]
    assert waits["min"] >= 0.25, "no wait polled twice"
    assert waits["floor"] >= 0.1
    assert long["median"] > 0
    assert (wrong["max"], wrong["ok"], wrong["n"]) == (0, True, 3)


def test_a_server_that_mixes_tenants_up_is_seen() -> None:
    with mutants.find("vaultclaw/token-of-the-first-caller").applied():
        told = vaultclaw.measure(TINY)
    (wrong,) = [one for one in told["figures"] if one["id"] == "vaultclaw/wrong"]
    assert (wrong["max"], wrong["ok"]) == (4, False)


def test_figures_are_seconds_milliseconds_and_answers() -> None:
    taken = {"waits": [Slice(2.0, 1)], "floor": [Slice(1.0)], "long": [Slice(0.04)]}
    waits, long, wrong = figures(taken)
    assert (waits.median, waits.ratio, waits.ok) == (2.0, 2.0, True)
    assert (long.median, long.ok) == (40.0, True)
    assert (wrong.max, wrong.ok) == (1.0, False)
    assert settled({name: slices * 5 for name, slices in taken.items()})
