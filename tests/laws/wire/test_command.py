"""Kind run: real commands."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lasttick.laws.reply import Reply
from lasttick.laws.wire import command
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place

from .test_mcp_stdio import gone


def run(*argv: str, place: Place | None = None, caller: dict[str, str] | None = None, **more: Any) -> Reply:
    async def body() -> Reply:
        wire = CallerWire(place or Place(), env=caller, name="alice")
        try:
            return await wire.send(Message("run", "", argv=argv, **{"timeout_s": 10.0, **more}))
        finally:
            await wire.close()

    return asyncio.run(body())


def python(code: str, *argv: str, **more: Any) -> Reply:
    return run(sys.executable, "-c", code, *argv, **more)


@pytest.mark.parametrize(
    ("text", "body", "lines"),
    [
        ('{"a": [1]}\n', {"a": [1]}, ('{"a": [1]}',)),
        ("lease-1\n", "lease-1", ("lease-1",)),
        ("a\r\nb\n\n", "a\r\nb\n", ("a", "b", "")),
        ("12", 12, ("12",)),
        ("007\n", "007", ("007",)),
        ("", None, ()),
    ],
)
def test_standard_output_is_the_body(text: str, body: Any, lines: tuple[str, ...]) -> None:
    reply = run("printf", "%s", text)
    assert (reply.ok, reply.body, reply.lines, reply.error, reply.status) == (True, body, lines, None, None)
    assert reply.raw == f"exit 0 {text}"


def test_there_is_no_shell() -> None:
    assert run("echo", "$HOME; id | cat > x", "*").body == "$HOME; id | cat > x *"


def test_standard_input() -> None:
    assert run("cat", stdin="é\nb").body == "é\nb"
    assert run("cat").body is None
    assert python("import sys; sys.stdin.close(); print(1)", stdin="x" * 1_000_000).body == 1


def test_an_exit_code_is_an_error() -> None:
    reply = python("import sys; print('out'); print('a\\n\\nwhy\\n', file=sys.stderr); sys.exit(3)")
    assert (reply.ok, reply.body, reply.lost) == (False, "out", None)
    assert reply.error == {"message": "why", "body": {"exit_code": 3}}
    assert reply.raw == "exit 3 out\n\nstderr: a\nstderr: why"
    assert run("false").error == {"message": "exit code 1", "body": {"exit_code": 1}}
    killed = python("import os; os.kill(os.getpid(), 9)")
    assert (killed.lost, killed.error["body"]) == (None, {"exit_code": -9})


def test_errors_of_a_command_that_went_well_are_no_error() -> None:
    assert python("import sys; print('careful', file=sys.stderr)").ok


def test_the_environment_from_the_general_to_the_special(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THIS_PROCESS", "s3cr3t")
    monkeypatch.setenv("LANG", "C.UTF-8")
    reply = python(
        "import os, json; print(json.dumps(dict(os.environ)))",
        place=Place(env={"A": "target", "B": "target", "C": "target"}),
        caller={"B": "caller", "C": "caller"},
        env={"C": "message"},
    )
    seen = {name: value for name, value in reply.body.items() if name not in ("LC_CTYPE", "__CF_USER_TEXT_ENCODING")}
    assert seen == {
        "A": "target",
        "B": "caller",
        "C": "message",
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
    }


FAMILY = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(60)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child}")
print("half", flush=True)
time.sleep(60)
"""


def family(file: Path) -> list[int]:
    for _ in range(500):
        if file.exists() and len(file.read_text().split()) == 2:
            return [int(pid) for pid in file.read_text().split()]
        time.sleep(0.01)
    raise AssertionError("the command did not start")


def test_a_command_that_takes_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    began = time.monotonic()
    reply = python(FAMILY, str(tmp_path / "pids"), timeout_s=1.0)
    assert (reply.ok, reply.lost) == (False, "no whole answer within 1 s")
    assert time.monotonic() - began < 5
    assert all(gone(pid) for pid in family(tmp_path / "pids"))


def test_a_cancelled_command_is_killed_with_its_children(tmp_path: Path) -> None:
    async def body() -> int:
        wire = CallerWire(Place())
        argv = (sys.executable, "-c", FAMILY, str(tmp_path / "pids"))
        flight = asyncio.create_task(wire.send(Message("run", "", argv=argv, timeout_s=60.0)))
        pids = await asyncio.to_thread(family, tmp_path / "pids")
        flight.cancel()
        with pytest.raises(asyncio.CancelledError):
            await flight
        assert all(map(gone, pids))
        return pids[0]

    pid = asyncio.run(body())
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)  # reaped already


def test_vanishing_kills_a_command(tmp_path: Path) -> None:
    async def body() -> None:
        wire = CallerWire(Place(), name="alice")
        argv = (sys.executable, "-c", FAMILY, str(tmp_path / "pids"))
        flight = asyncio.create_task(wire.send(Message("run", "", argv=argv, timeout_s=60.0)))
        pids = await asyncio.to_thread(family, tmp_path / "pids")
        await wire.vanish()
        assert (await flight).lost == "alice has vanished"
        assert all(map(gone, pids))

    asyncio.run(body())


def test_what_runs_on_in_the_background_is_left_alone() -> None:
    """A command that restarts the target must not have its work undone, nor hold up its answer."""
    began = time.monotonic()
    reply = run("sh", "-c", "sleep 30 & echo $!")
    assert (reply.ok, time.monotonic() - began < 5) == (True, True)
    os.kill(reply.body, 9)


def test_output_may_come_a_little_after_the_end() -> None:
    assert run("sh", "-c", "(sleep 0.2; echo late) &").body == "late"


def test_output_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BODY_MAX", 1_000_000)
    reply = run("yes")
    assert (reply.ok, reply.lost, reply.error) == (False, None, {"message": "answer over 8 MB"})


def test_errors_without_end_are_kept_short() -> None:
    reply = python("import sys; sys.stderr.write('x' * 5_000_000 + '\\nlast'); sys.exit(1)")
    assert reply.error["message"] == "last"
    assert len(reply.raw) < 20_000


@pytest.mark.parametrize("argv", [("no-such-program-9",), ("/etc/hostname",), ("a\x00",), ()])
def test_a_program_that_cannot_be_started(argv: tuple[str, ...]) -> None:
    with pytest.raises(WireError, match=r"cannot be started: .*; expected a program on PATH .*; install it"):
        run(*argv)


def test_a_value_of_the_environment_that_cannot_be() -> None:
    with pytest.raises(WireError, match="cannot be started"):
        run("true", env={"A": "x\x00"})
