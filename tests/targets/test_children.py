"""A part as a child process that misbehaves: each failure says what happened and what the child said."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.trace import Trace
from lasttick.targets import children, process, serve
from lasttick.targets.children import Child, ChildFailed
from lasttick.targets.nursery import nursery
from lasttick.targets.outcome import StartRefused

READY = 'print(\'{"name": "x", "url": "http://127.0.0.1:1", "pid": 7}\', file=sys.stderr, flush=True); '
IDLE = "time.sleep(60)"


class Start:
    """Starts children that run a few lines of Python instead of the command."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._monkeypatch = monkeypatch
        self._folder = folder
        self.made: list[Child] = []

    def __call__(self, program: str) -> Child:
        popen = children.subprocess.Popen

        def other(command: list[str], **options: Any) -> Any:
            assert command[:4] == [sys.executable, "-m", "lasttick", "serve"]
            return popen([sys.executable, "-S", "-c", f"import os, signal, sys, time; {program}"], **options)

        with self._monkeypatch.context() as patch:
            patch.setattr(children.subprocess, "Popen", other)
            child = Child(["devices", "--port", "0"], self._folder / "logs" / "child.log")
        self.made.append(child)
        return child


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Start]:
    starter = Start(monkeypatch, tmp_path)
    yield starter
    for child in starter.made:
        if child.running:
            child.kill()


def ready(child: Child) -> dict[str, Any]:
    while (line := child.poll_ready()) is None:
        time.sleep(0.005)
    return line


def test_ready_then_stopped(start: Start) -> None:
    child = start(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); print('warm', file=sys.stderr); " + READY + IDLE
    )
    assert ready(child) == {"name": "x", "url": "http://127.0.0.1:1", "pid": 7}
    assert child.running
    assert child.said().startswith("warm\n")
    assert child.stop() == 0
    assert not child.running


def test_ends_before_it_is_ready(start: Start) -> None:
    child = start("print('lasttick: port 1 is taken', file=sys.stderr); sys.exit(2)")
    with pytest.raises(ChildFailed) as failed:
        ready(child)
    assert str(failed.value) == (
        "`lasttick serve devices --port 0` ended with exit code 2 before it was ready. Its standard error ended with:\n"
        "  lasttick: port 1 is taken\nNext: run that command by hand."
    )
    assert failed.value.refused


def test_crashes_before_it_is_ready(start: Start) -> None:
    child = start("raise ZeroDivisionError")
    with pytest.raises(ChildFailed, match=r"exit code 1 before it was ready(.|\n)*ZeroDivisionError") as failed:
        ready(child)
    assert not failed.value.refused


def test_ends_without_a_word(start: Start) -> None:
    child = start("os._exit(3)")
    with pytest.raises(ChildFailed, match=r"exit code 3 before it was ready\. .*:\n  \(nothing\)"):
        ready(child)


def test_is_never_ready(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "START_S", 0.2)
    child = start("print('still thinking', file=sys.stderr, flush=True); " + IDLE)
    with pytest.raises(ChildFailed, match=r"was not ready after 0\.2 s"):
        ready(child)
    assert not child.running


def test_a_ready_line_in_two_pieces(start: Start) -> None:
    child = start(
        'sys.stderr.write(\'{"name": "x", \'); sys.stderr.flush(); time.sleep(0.2); '
        'sys.stderr.write(\'"url": "u", "pid": 7}\\n\'); sys.stderr.flush(); ' + IDLE
    )
    assert ready(child)["url"] == "u"


def test_does_not_stop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STOP_S", 0.2)
    child = start("signal.signal(signal.SIGTERM, signal.SIG_IGN); " + READY + IDLE)
    ready(child)
    with pytest.raises(ChildFailed, match=r"did not stop within 0\.2 s of SIGTERM"):
        child.stop()
    assert not child.running


@pytest.mark.parametrize(
    ("program", "code"),
    [(READY + IDLE, -15), ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(1)); " + READY + IDLE, 1)],
)
def test_stops_with_another_exit_code(start: Start, program: str, code: int) -> None:
    child = start(program)
    ready(child)
    with pytest.raises(ChildFailed, match=f"stopped with exit code {code} instead of 0"):
        child.stop()


def test_died_before_it_was_stopped(start: Start) -> None:
    child = start(READY + "print('out of memory', file=sys.stderr); sys.exit(9)")
    ready(child)
    while child.running:
        time.sleep(0.005)
    with pytest.raises(ChildFailed, match=r"exit code 9 instead of 0(.|\n)*out of memory"):
        child.stop()


def test_killed(start: Start) -> None:
    child = start("signal.signal(signal.SIGTERM, signal.SIG_IGN); " + READY + IDLE)
    ready(child)
    child.kill()
    assert not child.running


def test_only_the_end_of_a_long_complaint_is_told(start: Start) -> None:
    child = start("[print('line', n, file=sys.stderr) for n in range(100)]; sys.exit(1)")
    with pytest.raises(ChildFailed) as failed:
        ready(child)
    assert "line 99" in str(failed.value)
    assert "line 84" not in str(failed.value)


def test_a_part_of_the_nursery_that_breaks_tells_why(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    log.touch()
    part = nursery().begin(["serve", 5], log, {})  # type: ignore[list-item]
    assert part.wait(30) == 70
    assert "Traceback" in log.read_text()


def test_what_a_part_of_the_nursery_prints_is_kept_apart_from_what_it_complains_about(tmp_path: Path) -> None:
    log, out = tmp_path / "part.log", tmp_path / "part.out"
    for file in (log, out):
        file.touch()
    part = nursery().begin(["mcp-token", "--identity-dir", str(tmp_path / "host")], log, {}, out)
    assert part.wait(30) == 0
    assert len(out.read_text().strip()) >= 43
    assert log.read_text() == ""


def test_a_token_in_process_mode_is_that_of_the_command_or_its_refusal(tmp_path: Path) -> None:
    async def body() -> None:
        world = process.ProcessWorld(seed=1, trace=Trace(), path=tmp_path)
        folder = tmp_path / "host"
        token = await world.mcp_token(folder)
        assert token == await world.mcp_token(folder) == serve.mcp_token(folder)
        (folder / "host_mcp_token.json").write_text("{}")
        with pytest.raises(StartRefused, match="host_mcp_token"):
            await world.mcp_token(folder)

    asyncio.run(body())


def test_an_mcp_token_that_is_interrupted_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    begin = nursery().begin

    def kept(*arguments: Any) -> Any:
        made.append(begin(*arguments))
        return made[-1]

    async def body() -> None:
        world = process.ProcessWorld(seed=1, trace=Trace(), path=tmp_path)
        monkeypatch.setattr(nursery(), "begin", kept)
        task = asyncio.create_task(world.mcp_token(tmp_path / "host"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
    assert [child.poll() for child in made] == [-9]


def test_a_start_that_is_interrupted_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Child] = []

    def begin(*arguments: Any, **options: Any) -> Child:
        made.append(Child(*arguments, **options))
        return made[-1]

    async def body() -> None:
        world = process.ProcessWorld(seed=1, trace=Trace(), path=tmp_path)
        monkeypatch.setattr(process, "Child", begin)
        task = asyncio.create_task(world.spawn(["cloud", "--port", "0"], "cloud"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(body())
    assert [child.running for child in made] == [False]


def test_ctrl_c_at_the_terminal_does_not_reach_parts(tmp_path: Path) -> None:
    """The terminal signals the whole process group of the test process."""
    log = tmp_path / "part.log"
    log.touch()
    part = nursery().begin(["serve", "devices", "--port", "0"], log, {})
    assert os.getpgid(part.pid) != os.getpgid(0)
    part.kill()
    part.wait(30)
