"""The nursery of part processes: waited for in several threads, and told which environment a part gets."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lasttick.targets import nursery
from lasttick.targets.nursery import Forked, Nursery


@pytest.fixture
def own() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made._process.kill()
    made._process.wait()


def test_two_that_wait_at_once_do_not_leave_one_reading_for_ever(monkeypatch: pytest.MonkeyPatch, own: Nursery) -> None:
    """One word comes, and both threads are given the time to see that there is something to read."""
    own._process.kill()
    own._process.wait()
    read, mouth = os.pipe()
    assert own._process.stdout is not None
    os.dup2(read, own._process.stdout.fileno())
    right = nursery.select.select

    def slow(*arguments: Any) -> Any:
        found = right(*arguments)
        time.sleep(0.1)
        return found

    monkeypatch.setattr(nursery, "select", SimpleNamespace(select=slow))
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(Forked(own, pid).wait, 1.0) for pid in (1, 2)]
        os.write(mouth, json.dumps({"ended": 1, "code": 7}).encode() + b"\n")
        try:
            assert ends[0].result(10) == 7
            with pytest.raises(subprocess.TimeoutExpired):
                ends[1].result(10)
        finally:
            os.close(mouth)


def test_the_environment_is_an_addition_or_all_there_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PLATFORM_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    own: Nursery = request.getfixturevalue("own")
    log = tmp_path / "log"
    log.touch()
    serve = ["serve", "agent", "--port", "0"]
    alone = own.begin(serve, log, {"HOME": str(tmp_path)}, only=True, imports=["lasttick.targets.gateway.serve"])
    assert alone.wait(30) == 2
    assert "PLATFORM_API_URL is not a URL" in log.read_text()
    added = own.begin(serve, log, {})
    end_s = time.monotonic() + 30
    while '"name": "agent"' not in log.read_text():
        assert time.monotonic() < end_s, log.read_text()
        assert added.poll() is None, log.read_text()
        time.sleep(0.02)
    added.terminate()
    assert added.wait(30) == 0
