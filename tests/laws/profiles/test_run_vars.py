"""A var that a program knows is asked once, becomes a secret, and fails with the program's own words."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from lasttick.laws.profiles import run_vars
from lasttick.laws.profiles.load import Loaded, ProfileError, loads, resolve_run_vars


def loaded(script: str, *arguments: str) -> Loaded:
    argv = json.dumps([sys.executable, "-c", script, *arguments])
    return loads(
        f"""version = 1
vars = {{ plain = 1, both = {{ run = {argv} }} }}
[callers.alice]
vars = {{ token = {{ run = {argv} }}, word = "x" }}
headers = {{ Authorization = "Bearer {{token}}", K = "${{KEY}}" }}
[callers.bob]
""",
        "lasttick.toml",
        {"KEY": "key-value"},
    )


def resolve(profile: Loaded) -> Loaded:
    return asyncio.run(resolve_run_vars(profile))


def failure(profile: Loaded) -> str:
    with pytest.raises(ProfileError) as caught:
        resolve(profile)
    both, token = caught.value.problems
    assert both.where == "lasttick.toml:2 ([vars] both)"
    assert token.where == "lasttick.toml:4 ([callers.alice] vars.token)"
    assert both.what == token.what
    assert "exit code 0 (docs/check.md" in token.expected
    assert token.next_step
    return token.what


def test_what_the_program_prints_is_the_value_and_a_secret() -> None:
    before = loaded("print(' se same \\n')")
    after = resolve(before)
    assert after.profile.vars == {"plain": 1, "both": "se same"}
    assert after.profile.callers["alice"].vars == {"token": "se same", "word": "x"}
    assert after.profile.callers["bob"] == before.profile.callers["bob"]
    assert after.secrets == {"KEY": "key-value", "vars.both": "se same", "callers.alice.vars.token": "se same"}
    assert after.where("callers.alice") == before.where("callers.alice")
    assert isinstance(before.profile.vars["both"], dict)


def test_without_run_vars_nothing_is_asked() -> None:
    profile = loads("version = 1\n[callers.alice]\nvars = { a = { b = 1 } }\n", "f", {})
    assert resolve(profile) is profile


def test_there_is_no_shell() -> None:
    assert (
        resolve(loaded("import sys; print(sys.argv[1])", "$HOME; echo `x`")).profile.vars["both"] == "$HOME; echo `x`"
    )


def test_it_reads_nothing_from_the_terminal() -> None:
    reader, writer = os.pipe()
    terminal = os.dup(0)
    try:
        os.write(writer, b"typed")
        os.dup2(reader, 0)
        os.close(writer)
        assert resolve(loaded("import sys; print(repr(sys.stdin.read()))")).profile.vars["both"] == "''"
    finally:
        os.dup2(terminal, 0)
        os.close(terminal)
        os.close(reader)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import sys; print('one\\nlast words', file=sys.stderr); sys.exit(3)", "exit code 3, last words"),
        ("import sys; sys.exit(3)", "exit code 3, nothing on standard error"),
        ("import sys; sys.stderr.write('x' * 100_000 + '\\nlast'); sys.exit(1)", "exit code 1, last"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9, nothing"),
        ("pass", "it printed nothing"),
        ("print(' \\n ')", "it printed nothing"),
        ("import os; os.write(1, b'\\xff')", "what it printed is not UTF-8"),
        (f"print('x' * {run_vars.BYTES_MAX + 1})", f"it printed more than {run_vars.BYTES_MAX} bytes"),
    ],
)
def test_what_gives_no_value(script: str, says: str) -> None:
    assert f"{sys.executable} gave no value: {says}" in failure(loaded(script))


def test_the_longest_value() -> None:
    assert len(resolve(loaded(f"print('x' * {run_vars.BYTES_MAX - 1})")).profile.vars["both"]) == run_vars.BYTES_MAX - 1


@pytest.mark.parametrize(("program", "says"), [("no-such-program-xyz", "No such file"), ("/", "ermission denied")])
def test_a_program_that_cannot_be_started(program: str, says: str) -> None:
    text = f'version = 1\n[callers.alice]\n[vars]\na = {{ run = ["{program}"] }}\n'
    with pytest.raises(
        ProfileError, match=rf"f:4 \(\[vars\] a\): {program} gave no value: it cannot be started"
    ) as caught:
        resolve(loads(text, "f", {}))
    assert says in str(caught.value)


def test_a_program_that_hangs_ends_with_all_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_vars, "LIMIT_S", 1.0)
    pids = tmp_path / "pids"
    argv = json.dumps(["sh", "-c", f"sleep 60 & echo $! > {pids}; echo $$ >> {pids}"])
    profile = loads(f"version = 1\n[callers.alice]\n[vars]\na = {{ run = {argv} }}\n", "f", {})
    with pytest.raises(ProfileError, match="sh gave no value: it did not end within 1 s"):
        resolve(profile)
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert all(ends(pid) for pid in started)


def test_a_cancelled_question_leaves_no_program(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"

    async def cancelled() -> None:
        task = asyncio.create_task(resolve_run_vars(loaded(script, str(pid_file))))
        while not (pid_file.exists() and pid_file.read_text()):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ends(int(pid_file.read_text()))


def ends(pid: int) -> bool:
    """Whether it is gone soon; a zombie, which somebody else has to bury, is."""
    for _ in range(250):
        try:
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def test_the_argv_is_not_told_as_it_may_hold_a_secret() -> None:
    assert "sesame" not in failure(loaded("import sys; sys.exit(1)", "sesame"))
    assert os.path.basename(sys.executable) in failure(loaded("import sys; sys.exit(1)"))
