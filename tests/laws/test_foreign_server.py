"""Somebody else's lease server is gated by a profile alone: green as it is, red by the law that names each fault."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .browsers import Farm, app
from .serving import Served

ROOT = Path(__file__).parents[2]
PROFILE = Path(__file__).with_name("browsers.toml")
TTL_S = 2.4
FAULTS = {
    "sweeps-during-visits": "lease/outlives-long-call",
    "takes-any-key": "lease/stale-holder-refused",
    "lasts-too-long": "lease/expires-exactly",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[int, str]]]:
    """Exit code and output of `lasttick check` for the farm as it is ("") and with each fault, all at once."""
    farms = {wrong: Served(app(Farm(TTL_S, wrong=wrong))) for wrong in ("", *FAULTS)}
    checks = {}
    for wrong, farm in farms.items():
        folder = tmp_path_factory.mktemp("farm")
        environ = {
            **os.environ,
            "BROWSERS_URL": f"{farm.url}/mcp",
            "PYTHONPATH": f"{ROOT / 'harness'}:{ROOT / 'fakes'}",
        }
        environ |= {f"BROWSERS_{name}": f"key-of-{name.lower()}-7c1e" for name in ("ANN", "BEN", "CID")}
        (folder / "lasttick.toml").write_text(PROFILE.read_text())
        only = ["--only", FAULTS[wrong]] if wrong else []
        checks[wrong] = subprocess.Popen(
            [sys.executable, "-m", "lasttick", "check", *only],
            cwd=folder,
            env=environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    try:
        yield {wrong: (check.wait(), check.communicate()[0]) for wrong, check in checks.items()}
    finally:
        for farm in farms.values():
            farm.stop()


def test_as_it_is_no_law_is_broken_and_none_is_left_open(checked: dict[str, tuple[int, str]]) -> None:
    code, out = checked[""]
    assert code == 0, out
    assert "FAIL" not in out
    for law in FAULTS.values():
        assert f"PASS          {law}" in out, out


@pytest.mark.parametrize("wrong", FAULTS)
def test_each_fault_is_red_by_the_law_that_names_it(wrong: str, checked: dict[str, tuple[int, str]]) -> None:
    code, out = checked[wrong]
    assert code == 1, out
    assert f"FAIL          {FAULTS[wrong]}" in out, out


def test_it_is_small() -> None:
    assert len(PROFILE.with_suffix(".py").read_text().splitlines()) < 100
