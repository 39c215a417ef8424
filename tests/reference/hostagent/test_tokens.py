"""The token file: made once, whole or not at all, one token for all, and never trusted when it looks wrong (HA-03)."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lasttick.reference import durable
from lasttick.reference.hostagent import private_file
from lasttick.reference.hostagent.tokens import McpTokenStore, McpTokenStoreError

WALL = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def now_ns(self) -> int:
        return 0

    def wall(self) -> datetime:
        return WALL

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the token store does not wait")


class SystemEntropy:
    def token_bytes(self, n: int) -> bytes:
        return os.urandom(n)


def store(folder: Path) -> McpTokenStore:
    return McpTokenStore(folder / "host_mcp_token.json", clock=Clock(), entropy=SystemEntropy())


def good(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "token": "a-good_token", "created_at": "2026-01-01T00:00:00+00:00", **changes}


def put(folder: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path = folder / "host_mcp_token.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def test_first_start_makes_it_and_the_second_reads_it(tmp_path: Path) -> None:
    first = store(tmp_path).load_or_create()
    assert store(tmp_path).load_or_create() == first
    assert len(first.token) == 43
    assert first.created_at == WALL
    path = tmp_path / "host_mcp_token.json"
    assert path.stat().st_mode & 0o7777 == 0o600
    assert json.loads(path.read_text()) == {"version": 1, "token": first.token, "created_at": WALL.isoformat()}
    assert [p.name for p in tmp_path.iterdir()] == ["host_mcp_token.json"]


def test_a_strict_umask_does_not_lock_us_out(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        first = store(tmp_path).load_or_create()
    finally:
        os.umask(before)
    assert store(tmp_path).load_or_create() == first


def test_missing_folders_are_made_private(tmp_path: Path) -> None:
    store(tmp_path / "a" / "b").load_or_create()
    assert (tmp_path / "a" / "b").stat().st_mode & 0o077 == 0


def test_verify(tmp_path: Path) -> None:
    tokens = store(tmp_path)
    assert not tokens.verify("")
    token = tokens.load_or_create().token
    assert tokens.verify(token)
    wrong = ["", token[:-1], token + "A", token.swapcase(), f" {token}", "é" * 43, "\ud800", "\x00", "٣" * 43]
    assert [tokens.verify(w) for w in wrong] == [False] * len(wrong)


def test_neither_repr_nor_log_shows_the_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = store(tmp_path).load_or_create()
    store(tmp_path).load_or_create()
    path = tmp_path / "host_mcp_token.json"
    assert [r.getMessage() for r in caplog.records] == [f"MCP token generated at {path}", f"MCP token read from {path}"]
    assert {r.levelno for r in caplog.records} == {logging.INFO}
    assert token.token not in repr(token)


def test_deleting_the_file_rotates_at_restart_only(tmp_path: Path) -> None:
    running = store(tmp_path)
    old = running.load_or_create().token
    (tmp_path / "host_mcp_token.json").unlink()
    assert running.verify(old)
    assert store(tmp_path).load_or_create().token != old


BAD_CONTENT = {
    "empty": "",
    "blank": "\n",
    "not-json": "{",
    "not-utf8": b"\xff\xfe{}",
    "deep": "[" * 20_000,
    "array": "[]",
    "version-missing": json.dumps({"token": "x", "created_at": "2026-01-01T00:00:00Z"}),
    "version-2": json.dumps(good(version=2)),
    "version-true": json.dumps(good(version=True)),
    "version-text": json.dumps(good(version="1")),
    "version-float": json.dumps(good(version=1.0)),
    "token-empty": json.dumps(good(token="")),
    "token-number": json.dumps(good(token=7)),
    "token-null": json.dumps(good(token=None)),
    "token-not-ascii": json.dumps(good(token="é")),
    "token-blank-inside": json.dumps(good(token="a b")),
    "token-line-end": json.dumps(good(token="ab\n")),
    "created-number": json.dumps(good(created_at=5)),
    "created-nonsense": json.dumps(good(created_at="yesterday")),
    "created-naive": json.dumps(good(created_at="2026-01-01T00:00:00")),
    "huge": json.dumps(good(token="a" * 70_000)),
}


@pytest.mark.parametrize("name", BAD_CONTENT)
def test_a_wrong_content_stops_the_start_and_stays(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, BAD_CONTENT[name])
    before = path.read_bytes()
    with pytest.raises(McpTokenStoreError, match=r"host_mcp_token.json .*; expected .*; restore it, or delete it"):
        store(tmp_path).load_or_create()
    assert path.read_bytes() == before


def test_the_error_does_not_show_the_token(tmp_path: Path) -> None:
    put(tmp_path, json.dumps(good(token="se cret")))
    with pytest.raises(McpTokenStoreError) as caught:
        store(tmp_path).load_or_create()
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o601, 0o604, 0o620, 0o640, 0o644, 0o666, 0o700, 0o4600])
def test_a_looser_mode_is_refused(tmp_path: Path, mode: int) -> None:
    put(tmp_path, json.dumps(good()), mode)
    with pytest.raises(McpTokenStoreError, match=f"mode {mode:04o}; expected mode 0600.*chmod 600"):
        store(tmp_path).load_or_create()


def test_a_tighter_mode_is_read(tmp_path: Path) -> None:
    put(tmp_path, json.dumps(good()), 0o400)
    assert store(tmp_path).load_or_create().token == "a-good_token"


def test_a_link_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "host_mcp_token.json"
    target = tmp_path / "elsewhere"
    target.write_text(json.dumps(good()))
    target.chmod(0o600)
    for make, what in (
        (lambda: path.symlink_to(target), "symbolic link"),
        (lambda: path.symlink_to(tmp_path / "nowhere"), "symbolic link"),
        (lambda: os.mkfifo(path), "special file"),
        (path.mkdir, "directory"),
    ):
        make()
        with pytest.raises(McpTokenStoreError, match=f"is a {what}; expected a regular file"):
            store(tmp_path).load_or_create()
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(McpTokenStoreError, match="--identity-dir"):
        store(tmp_path / "file").load_or_create()


def _as_nobody(folder: Path, answers: Any) -> None:
    if os.geteuid() == 0:
        os.setgid(65_534)
        os.setuid(65_534)
    try:
        store(folder).load_or_create()
    except McpTokenStoreError as error:
        answers.put(str(error))
    else:
        answers.put("it could write")


@pytest.mark.parametrize("there", [False, True])
def test_an_unwritable_folder_and_an_unreadable_file_are_refused(tmp_path: Path, there: bool) -> None:
    """In a child of another uid: root writes anywhere, whatever the mode."""
    for parent in tmp_path.parents[:3]:
        if parent.stat().st_uid == os.geteuid() and parent != Path("/tmp"):
            parent.chmod(0o711)
    if there:
        put(tmp_path, json.dumps(good()), 0o600 if os.geteuid() == 0 else 0o000)
    tmp_path.chmod(0o555)
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=_as_nobody, args=(tmp_path, answers))
    child.start()
    child.join(10)
    tmp_path.chmod(0o700)
    assert child.exitcode == 0
    assert "Permission denied; expected a folder and file that uid" in answers.get()
    assert len(list(tmp_path.iterdir())) == there


class Killed(BaseException):
    """Stands for kill -9: after it nothing of the process runs, clean-up included."""


class KillableOs:
    """`os`, dead from its n-th writing call on."""

    WRITING = ("makedirs", "open", "fchmod", "write", "fsync", "close", "link", "unlink")

    def __init__(self, calls_before_death: int) -> None:
        self.left = calls_before_death
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.WRITING:
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.left == 0:
                raise Killed
            self.left -= 1
            self.calls.append(name)
            return real(*args, **kwargs)

        return call


def steps_through(patch: pytest.MonkeyPatch, os_: KillableOs) -> None:
    """Every file operation of a store goes through `os_`."""
    for module in (private_file, durable):
        patch.setattr(module, "os", os_)


def test_a_kill_at_any_step_leaves_no_file_or_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = KillableOs(-1)
    with monkeypatch.context() as patch:
        steps_through(patch, whole)
        store(tmp_path / "whole").load_or_create()
    steps = len(whole.calls)
    assert [c for c in whole.calls if c in ("link", "unlink")] == ["link", "unlink"]
    seen = []
    for step in range(steps):
        folder = tmp_path / str(step)
        with monkeypatch.context() as patch:
            steps_through(patch, KillableOs(step))
            with pytest.raises(Killed):
                store(folder).load_or_create()
        path = folder / "host_mcp_token.json"
        left = json.loads(path.read_text())["token"] if path.exists() else None
        seen.append(left is not None)
        after = store(folder).load_or_create().token
        assert left in (None, after), f"killed after step {step}"
    assert seen == sorted(seen)
    assert seen[0] is False
    assert seen[-1] is True


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullOs(KillableOs):
        def __getattr__(self, name: str) -> Any:
            if name == "write":

                def write(fd: int, data: Any) -> int:
                    if len(data) < 5:
                        raise OSError(28, "No space left on device")
                    return os.write(fd, data[:5])

                return write
            return super().__getattr__(name)

    with monkeypatch.context() as patch:
        steps_through(patch, FullOs(-1))
        with pytest.raises(McpTokenStoreError, match="No space left on device"):
            store(tmp_path).load_or_create()
    assert list(tmp_path.iterdir()) == []


def test_the_loser_of_a_race_takes_the_winners_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process runs whole in the gap between our write and our publication (ruling 15)."""
    tokens: list[str] = []
    publish = private_file.publish

    def late(temp: Path, path: Path) -> bool:
        monkeypatch.setattr(private_file, "publish", publish)
        tokens.append(store(tmp_path).load_or_create().token)
        return private_file.publish(temp, path)

    monkeypatch.setattr(private_file, "publish", late)
    tokens.append(store(tmp_path).load_or_create().token)
    assert len(tokens) == 2
    assert len(set(tokens)) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["host_mcp_token.json"]


def test_racing_threads_end_with_one_token(tmp_path: Path) -> None:
    gate = threading.Barrier(16)
    tokens: list[str] = []

    def run() -> None:
        gate.wait()
        tokens.append(store(tmp_path).load_or_create().token)

    threads = [threading.Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(tokens) == 16
    assert len(set(tokens)) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_comes_and_goes_ends_in_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_file, "publish", lambda temp, path: False)
    with pytest.raises(McpTokenStoreError, match="appeared and disappeared"):
        store(tmp_path).load_or_create()
