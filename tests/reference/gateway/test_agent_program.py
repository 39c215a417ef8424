"""A real child: exactly the environment it is given, bounded in time and output, and nothing left of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model import secret_fence
from lasttick.ports import Finished
from lasttick.reference.gateway import agent_program
from lasttick.reference.gateway.agent_program import OUTPUT_BYTES_MAX, ProcessProgram

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def run(code: str, *args: str, timeout_s: float = 30.0, env: dict[str, str] = ENV) -> Finished:
    argv = [sys.executable, "-S", "-E", "-c", code, *args]
    return asyncio.run(ProcessProgram(timeout_s=timeout_s).run(argv, env))


def gone(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_status_and_both_streams() -> None:
    done = run("import sys; print(sys.argv[1:]); sys.stderr.write('e'); sys.exit(3)", "a b", "é")
    assert done == Finished(3, "['a b', 'é']\n", "e")
    assert run("import sys; sys.stdout.buffer.write(b'\\xff')").stdout == "\ufffd"


def test_it_reads_nothing() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


@settings(max_examples=5, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["HERMES_HOME", "AWS_SECRET_ACCESS_KEY", "HUMANWORK_TOKEN", "TZ", "XDG_X", "AGENT_SERVICE_SECRET"]
        ),
        st.text("ab${}= ", max_size=5),
    ),
    st.lists(st.just("a:b"), max_size=1),
)
def test_the_child_sees_what_the_fence_lets_through_and_nothing_else(
    container: dict[str, str], mcp_tools: list[str]
) -> None:
    env = secret_fence.hermes_env(
        {**ENV, **container}, platform_api_url="http://p", org_id="o", run_id="r", mcp_tools=mcp_tools
    )
    done = run(
        "import os, json; print(json.dumps({os.fsdecode(k): os.fsdecode(v) for k, v in os.environb.items()}))", env=env
    )
    seen = json.loads(done.stdout)
    assert seen == env
    assert not {"AWS_SECRET_ACCESS_KEY", "HUMANWORK_TOKEN", "XDG_X"} & seen.keys()
    assert ("AGENT_SERVICE_SECRET" in seen) == (bool(mcp_tools) and "AGENT_SERVICE_SECRET" in container)


def test_no_such_program_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(ProcessProgram(timeout_s=5).run(["/nowhere/hermes"], {}))


def test_too_much_output_keeps_its_end() -> None:
    done = run(f"print('x' * {OUTPUT_BYTES_MAX + 5}); print('the answer')")
    assert len(done.stdout) == OUTPUT_BYTES_MAX
    assert done.stdout.endswith("x\nthe answer\n")


SLEEPER = "import os, sys, time, signal\n{}\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)"


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    said = "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1] + '.end', 'w'), sys.exit(0)))"
    with pytest.raises(TimeoutError):
        run(SLEEPER.format(said), str(tmp_path / "pid"), timeout_s=2.0)
    assert (tmp_path / "pid.end").exists(), "it was asked first"
    assert gone(int((tmp_path / "pid").read_text()))


def test_one_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_program, "STOP_S", 0.2)
    with pytest.raises(TimeoutError):
        run(SLEEPER.format("signal.signal(signal.SIGTERM, signal.SIG_IGN)"), str(tmp_path / "pid"), timeout_s=2.0)
    assert gone(int((tmp_path / "pid").read_text()))


LEAVES_A_CHILD = """
import os, sys, time, pathlib
if os.fork() == 0:
    {}
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(600)
while not (pathlib.Path(sys.argv[1]).exists() and pathlib.Path(sys.argv[1]).read_text()):
    time.sleep(0.01)
print("done", flush=True)
os._exit(0)
"""


def test_what_it_left_behind_in_its_session_is_ended(tmp_path: Path) -> None:
    began = time.monotonic()
    assert run(LEAVES_A_CHILD.format("pass"), str(tmp_path / "pid")) == Finished(0, "done\n", "")
    assert time.monotonic() - began < 20, "it holds the pipe, but nobody waits for it"
    assert gone(int((tmp_path / "pid").read_text()))


def test_one_that_left_the_session_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_program, "STOP_S", 0.3)
    try:
        assert run(LEAVES_A_CHILD.format("os.setsid()"), str(tmp_path / "pid")).stdout == "done\n"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_turn_that_is_given_up_ends_its_program(tmp_path: Path) -> None:
    async def main() -> None:
        argv = [sys.executable, "-c", SLEEPER.format(""), str(tmp_path / "pid")]
        turn = asyncio.create_task(ProcessProgram(timeout_s=60).run(argv, ENV))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.02)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(main())
    assert gone(int((tmp_path / "pid").read_text()))
