"""The nursery of part processes: waited for in several threads, and told which environment a part gets."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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


def test_another_program_takes_along_what_it_started(tmp_path: Path, own: Nursery) -> None:
    """Its group goes when it is killed, and when the test process has gone."""
    log = tmp_path / "log"
    for end in ("kill", "gone"):
        log.write_bytes(b"")
        command = ["sh", "-c", "sleep 300 & echo $! >&2; sleep 300"]
        leader = own.begin(command, log, {"PATH": os.environ["PATH"]}, only=True, program=True)
        soon(log.read_text)
        helper = int(log.read_text())
        os.kill(helper, 0)
        if end == "kill":
            leader.kill()
            assert leader.wait(10) == -9
        else:
            assert own._process.stdin is not None
            own._process.stdin.close()
            own._process.wait(10)
        soon(partial(ended, helper))
        assert ended(leader.pid)


def test_a_program_that_is_not_there_is_told(tmp_path: Path, own: Nursery) -> None:
    log = tmp_path / "log"
    log.touch()
    assert own.begin(["no-such-program"], log, {}, program=True).wait(10) == 2
    assert log.read_text().startswith("no-such-program cannot be started: No such file or directory; expected ")


def soon(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end_s, "it did not happen"
        time.sleep(0.02)


def ended(pid: int) -> bool:
    """A zombie that nobody waits for, as of an orphan in a container, has ended."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")
