"""What the programs of a turn are known by: which run asks the model, files of other processes, real processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import SystemClock
from lasttick.engine.trace import Trace
from lasttick.model.secret_fence import RUN_ID
from lasttick.ports import Finished
from lasttick.reference.gateway.agent_program import ProcessProgram
from lasttick.targets.gateway import files, watch
from lasttick.targets.gateway.files import SightFile
from lasttick.targets.gateway.turns import Correlation, HermesTurn, Program, prompt_in, prompt_of, told_start
from lasttick.targets.gateway.watch import WatchedProgram
from lasttick.targets.told import tell

# -- which run asks the model


@pytest.mark.parametrize(
    ("argv", "prompt"),
    [
        (["hermes", "chat", "-Q", "-q", "hi"], "hi"),
        (["hermes", "chat", "-Q", "-t", "humanwork", "-q", " -x"], " -x"),
        (["hermes", "chat", "-Q"], ""),
        (["hermes", "chat", "-q"], ""),
        ([], ""),
    ],
)
def test_the_prompt_of_a_command_line(argv: list[str], prompt: str) -> None:
    assert prompt_of(argv) == prompt


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([{"role": "user", "content": "a"}, {"role": "tool", "content": "t"}, {"role": "user", "content": "b"}], "b"),
        ([{"role": "user", "content": [{"type": "text"}]}], ""),
        ([{"role": "assistant", "content": "a"}, 7, None], ""),
        ([], ""),
    ],
)
def test_the_prompt_in_a_request(messages: list[Any], prompt: str) -> None:
    assert prompt_in(messages) == prompt


def test_a_request_belongs_to_the_turn_that_began_last_with_its_prompt() -> None:
    correlation = Correlation()
    asked = [{"role": "user", "content": "hi"}]
    assert correlation.run_of(asked) is None
    correlation.began(["hermes", "-q", "hi"], "r-1")
    correlation.began(["hermes", "-q", "other"], "r-2")
    assert correlation.run_of(asked) == "r-1"
    correlation.began(["hermes", "-q", "hi"], "r-3")
    assert correlation.run_of(asked) == "r-3"


def test_a_start_is_told_without_paths_and_values() -> None:
    assert told_start(["/usr/bin/x", "-q", "hi"], {"B": "secret", "A": "1"}) == {
        "arguments": ["-q", "hi"],
        "env": ["A", "B"],
    }


# -- files of other processes


def test_what_is_written_is_read_back_as_it_was_last_told(tmp_path: Path) -> None:
    path = tmp_path / "tap.jsonl"
    assert files.sights(path) == []
    assert files.turns(path) == []
    file = SightFile(path, SystemClock())
    file.saw("platform", "gateway.call", "r-1", {"call": 1})
    begun = HermesTurn("r-1", Program(("hermes",), {"A": "1"}, 7))
    ended = HermesTurn("r-1", Program(("hermes",), {"A": "1"}, 7), (Program(("x",), {}, 8),), 0)
    file.keep(2, begun)
    file.keep(1, begun)
    file.keep(2, ended)
    assert files.turns(path) == [begun, ended]
    (line,) = files.sights(path)
    assert (line["actor"], line["kind"], line["ref"], line["data"]) == ("platform", "gateway.call", "r-1", {"call": 1})
    assert path.stat().st_mode & 0o077 == 0, "environments are in it"


def test_what_others_saw_becomes_history_by_time_and_redacted() -> None:
    own = Trace()
    now_ns = 0
    own.use_clock(lambda: now_ns, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    own.redact.learn("the-secret", "[secret]")
    own.emit("org-a", "chat.start", "m1")
    now_ns = 30
    own.emit("org-a", "chat.end", "m1")
    others = [
        {"t_ns": 1020, "actor": "model", "kind": "model.request", "ref": "the-secret", "data": {"x": "the-secret"}},
        {"t_ns": 1010, "actor": "platform", "kind": "gateway.call", "ref": None, "data": {}},
    ]
    wall = datetime(2026, 1, 1, tzinfo=UTC)
    once = tell(own, [], [], 1000, wall, others)
    assert [(event.t_ns, event.kind, event.ref) for event in once.events] == [
        (0, "chat.start", "m1"),
        (10, "gateway.call", None),
        (20, "model.request", "[secret]"),
        (30, "chat.end", "m1"),
    ]
    assert once.events[2].data == {"x": "[secret]"}
    own.events[:] = once.events
    assert tell(own, [], [], 1000, wall, others).events == once.events, "merged again, nothing is there twice"


# -- real processes

CHILD = "import sys; sys.stdin.readline()"
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE, env={{"ONLY": "this"}})
time.sleep(0.6)
child.stdin.close(); child.wait()
print("done")
"""


class Scene:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None, dict[str, Any]]] = []
        self.turns: dict[int, HermesTurn] = {}

    def run(self, inner: Any, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        def keep(number: int, turn: HermesTurn) -> None:
            self.turns[number] = turn

        program = WatchedProgram(inner, lambda *told: self.seen.append(told), keep)
        return asyncio.run(program.run(argv, env))


def test_a_program_and_its_child_are_seen_with_their_real_environments() -> None:
    scene = Scene()
    argv = [sys.executable, "-c", PARENT, "chat", "-q", "hi"]
    env = {RUN_ID: "r-1", "PATH": "/usr/bin:/bin", "VALUE": "a=b"}
    finished = scene.run(ProcessProgram(timeout_s=60), argv, env)
    assert finished.stdout == "done\n"
    turn = scene.turns[1]
    assert (turn.run_id, turn.status, turn.argv) == ("r-1", 0, tuple(argv))
    assert {name: turn.env[name] for name in env} == env
    (child,) = turn.children
    assert child.argv[1:] == ("-c", CHILD)
    assert child.env["ONLY"] == "this"
    assert "VALUE" not in child.env
    assert len({turn.program.pid, child.pid}) == 2
    assert [told[:2] for told in scene.seen] == [("hermes.start", "r-1"), ("child.start", "r-1"), ("hermes.end", "r-1")]
    assert scene.seen[1][2]["pid"] == child.pid


def test_a_program_that_can_not_be_started_or_takes_too_long_is_told_as_ended() -> None:
    scene = Scene()
    with pytest.raises(FileNotFoundError):
        scene.run(ProcessProgram(timeout_s=60), ["/no/such/program", "-q", "hi"], {RUN_ID: "r-1"})
    assert scene.turns[1].status is None
    assert scene.turns[1].argv == ("/no/such/program", "-q", "hi")
    with pytest.raises(TimeoutError):
        scene.run(ProcessProgram(timeout_s=0.3), [sys.executable, "-c", "import time; time.sleep(60)"], {})
    assert scene.turns[1].status is None
    assert [told[0] for told in scene.seen] == ["hermes.start", "hermes.end"] * 2


def test_where_there_is_no_proc_nothing_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(watch, "PROC", tmp_path / "none")
    scene = Scene()
    scene.run(ProcessProgram(timeout_s=60), [sys.executable, "-c", "print(1)"], {RUN_ID: "r-1"})
    assert scene.turns[1].children == ()
    assert scene.turns[1].program.pid == 0


def test_a_process_that_has_gone_is_no_program() -> None:
    assert watch.read_program(2**22 + 1) is None
