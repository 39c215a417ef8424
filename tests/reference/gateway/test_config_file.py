"""A file that others write too is changed whole or not at all, and nothing that they wrote meanwhile is lost."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lasttick.reference import durable
from lasttick.reference.gateway import config_file
from lasttick.reference.gateway.config_file import FileError, change
from lasttick.targets.forked import NOBODY, Barrier, Forked, kill_at, meet_at_making

OURS = b"ours\n"
needs_exchange = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two files")


def add(content: bytes) -> bytes:
    return content if OURS in content else content + OURS


def rewrite(path: Path, line: bytes) -> None:
    """What the agent program does: the whole content anew, beside it, and then renamed."""
    beside = path.with_name("written-by-the-agent")
    beside.write_bytes((path.read_bytes() if path.exists() else b"") + line)
    os.replace(beside, path)


def test_it_is_made_changed_and_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.yaml"
    assert change(path, add)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.stat()
    assert not change(path, add), "nothing to change"
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert change(path, lambda content: content + b"more\n")
    assert path.read_bytes() == b"ours\nmore\n"
    assert os.listdir(path.parent) == ["config.yaml"]


def test_an_empty_file_is_written_even_if_nothing_is_added(tmp_path: Path) -> None:
    assert change(tmp_path / "f", lambda content: content), "there was none"
    assert not change(tmp_path / "f", lambda content: content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o200])
def test_mode_and_owner_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    owner = path.stat()
    if os.geteuid() != 0 and mode == 0o200:
        pytest.skip("only root reads a file without that right")
    assert change(path, add)
    now = path.stat()
    assert (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (mode, owner.st_uid, owner.st_gid)


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "hermes.yaml"
    real.parent.mkdir()
    real.write_bytes(b"a\n")
    link = tmp_path / "config.yaml"
    link.symlink_to(real)
    assert change(link, add)
    assert link.is_symlink()
    assert real.read_bytes() == b"a\nours\n"


def test_a_link_to_nothing_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").symlink_to(tmp_path / "later.yaml")
    assert change(tmp_path / "config.yaml", add)
    assert (tmp_path / "later.yaml").read_bytes() == OURS


def directory(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path)


def read_only(path: Path) -> None:
    path.write_bytes(b"a\n")
    path.chmod(0o444)


def long(path: Path) -> None:
    path.write_bytes(b"#" * (config_file.BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (directory, "is a directory"),
        (pipe, "is a special file"),
        (loop, "cannot be changed: Too many levels"),
        (read_only, "is read-only"),
        (long, "is longer than 1048576 bytes"),
    ],
)
def test_what_is_no_writable_file_is_refused(tmp_path: Path, make: Callable[[Path], None], said: str) -> None:
    path = tmp_path / "config.yaml"
    make(path)
    before = os.lstat(path)
    with pytest.raises(FileError, match=said):
        change(path, add)
    assert os.lstat(path)[:9] == before[:9]
    assert os.listdir(tmp_path) == ["config.yaml"]


def test_the_longest_file_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"#" * config_file.BYTES_MAX)
    assert change(path, add)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_without_the_right_to_write_it_stays(tmp_path: Path, what: str) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    home = tmp_path / "home"
    home.mkdir()
    path = home / "config.yaml"
    path.write_bytes(b"a\n")
    path.chmod(0o644 if what == "file" else 0o666)
    home.chmod(0o777 if what == "file" else 0o755)
    ended = Forked(lambda: str(change(path, add)), uid=NOBODY).wait()
    assert not ended.ok
    assert ("is read-only" if what == "file" else "Permission denied") in ended.text
    assert path.read_bytes() == b"a\n"
    assert os.listdir(home) == ["config.yaml"]


def test_an_error_of_the_change_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")

    def fail(_: bytes) -> bytes:
        raise KeyError("no")

    with pytest.raises(KeyError):
        change(path, fail)
    assert path.read_bytes() == b"a\n"


def steps(work: Callable[[], object], folder: Path) -> int:
    """How many file operations `work` makes below `folder`."""
    counted: list[int] = []

    def run() -> str:
        work()
        return str(len(counted))

    return int(Forked(run, folder=folder, step=lambda number, makes: counted.append(number)).wait().text)


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("exchanges", [True, False])
def test_killed_at_any_step_it_is_the_old_file_or_the_new_one(
    tmp_path: Path, exists: bool, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(config_file, "exchange", lambda one, other: False)
    count, seen = 99, []
    for step in range(99):
        home = tmp_path / f"home{step}"
        home.mkdir()
        path = home / "config.yaml"
        if exists:
            path.write_bytes(b"a\n")
        ended = Forked(lambda path=path: str(change(path, add)), folder=home, step=kill_at(step)).wait()  # type: ignore[misc]
        seen.append(path.read_bytes() if path.exists() else None)
        if not ended.killed:
            count = step
            break
        assert change(path, add) is (seen[-1] != (b"a\nours\n" if exists else OURS)), "the next boot does what is left"
        assert path.read_bytes() == (b"a\nours\n" if exists else OURS)
    old, new = (b"a\n", b"a\nours\n") if exists else (None, OURS)
    assert set(seen) == {old, new}, seen
    assert seen == sorted(seen, key=lambda content: content == new), "first the old, then the new"
    assert 4 <= count < 99


@pytest.mark.parametrize("written", range(0, 6))
def test_killed_within_a_write_it_is_the_old_file(tmp_path: Path, written: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    assert Forked(lambda: str(change(path, add)), file_bytes_max=written).wait().killed
    assert path.read_bytes() == b"a\n"


@needs_exchange
@pytest.mark.parametrize("exists", [True, False])
def test_what_the_agent_writes_at_any_step_is_not_lost(tmp_path: Path, exists: bool) -> None:
    def of(path: Path) -> Callable[[], str]:
        return lambda: str(change(path, add))

    first = tmp_path / "first"
    first.mkdir()
    if exists:
        (first / "f").write_bytes(b"a\n")
    counted = steps(of(first / "f"), first)
    assert counted >= 4
    for at in range(counted + 1):
        home = tmp_path / f"home{at}"
        home.mkdir()
        path = home / "f"
        if exists:
            path.write_bytes(b"a\n")
        wrote = tmp_path / f"wrote{at}"

        def interfere(number: int, makes: bool, path: Path = path, at: int = at, wrote: Path = wrote) -> None:
            if number == at and not wrote.exists():
                wrote.touch()
                rewrite(path, b"theirs\n")

        assert Forked(of(path), folder=home, step=interfere).wait().ok
        change(path, add)
        assert wrote.exists() == (at < counted), "the agent wrote once, or had no chance to"
        lines = [*([b"a"] if exists else []), b"ours", *([b"theirs"] if wrote.exists() else [])]
        assert sorted(path.read_bytes().splitlines()) == lines


@needs_exchange
def test_what_the_agent_writes_at_the_very_last_moment_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the file and the moment it is replaced, at three attempts in a row."""
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    real, writes = config_file.exchange, iter([b"1\n", None, b"2\n", None, b"3\n", None])

    def exchange(one: Path, other: Path) -> bool:
        line = next(writes, None)
        if line is not None:
            rewrite(path, line)
        return real(one, other)

    monkeypatch.setattr(config_file, "exchange", exchange)
    assert change(path, add)
    assert path.read_bytes() == b"a\n1\n2\n3\nours\n"
    assert os.listdir(tmp_path) == ["f"]


@needs_exchange
def test_what_the_agent_writes_while_its_content_is_put_back_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wrote just before ours came, and again, from what it had, while ours stood there for a moment."""
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    real, contents = config_file.exchange, iter([b"a\n1\n", b"a\n1\n2\n"])

    def exchange(one: Path, other: Path) -> bool:
        content = next(contents, None)
        if content is not None:
            beside = path.with_name("beside")
            beside.write_bytes(content)
            os.replace(beside, path)
        return real(one, other)

    monkeypatch.setattr(config_file, "exchange", exchange)
    assert change(path, add)
    assert path.read_bytes() == b"a\n1\n2\nours\n"
    assert os.listdir(tmp_path) == ["f"]


def test_without_an_exchange_a_change_since_the_look_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    writes = iter([b"1\n", b"2\n"])

    def exchange(one: Path, other: Path) -> bool:
        line = next(writes, None)
        if line is not None:
            rewrite(path, line)
        return False

    monkeypatch.setattr(config_file, "exchange", exchange)
    assert change(path, add)
    assert path.read_bytes() == b"a\n1\n2\nours\n"


def test_a_file_that_never_rests_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")
    real = config_file.exchange

    def exchange(one: Path, other: Path) -> bool:
        rewrite(path, b"x\n")
        return real(one, other)

    monkeypatch.setattr(config_file, "exchange", exchange)
    with pytest.raises(FileError, match="changed by somebody else 20 times"):
        change(path, add)


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f"

    def late(content: bytes) -> bytes:
        if not content:
            path.write_bytes(b"theirs\n")
        return add(content)

    assert change(path, late)
    assert path.read_bytes() == b"theirs\nours\n"


def test_a_file_that_goes_meanwhile_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\n")

    def gone(content: bytes) -> bytes:
        path.unlink()
        return add(content)

    with pytest.raises(FileError, match="cannot be changed: No such file"):
        change(path, gone)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("exists", [True, False])
def test_two_boots_at_the_same_moment_lose_nothing(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "home" / "f"
    path.parent.mkdir()
    if exists:
        path.write_bytes(b"a\n")

    def of(line: bytes) -> Callable[[], str]:
        return lambda: str(change(path, lambda content: content if line in content else content + line))

    barrier = Barrier(2)
    children = [Forked(of(line), folder=path.parent, step=meet_at_making(barrier)) for line in (b"one\n", b"two\n")]
    barrier.open()
    ends = [child.wait() for child in children]
    barrier.close()
    assert [end.text for end in ends] == ["True", "True"]
    assert sorted(path.read_bytes().splitlines()) == sorted([*([b"a"] if exists else []), b"one", b"two"])
    assert os.listdir(path.parent) == ["f"]


def test_temporary_files_of_the_killed_are_stepped_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f".f.{os.getpid()}.0.tmp").write_bytes(b"left over")
    assert change(tmp_path / "f", add)
    assert (tmp_path / f".f.{os.getpid()}.0.tmp").read_bytes() == b"left over"
    monkeypatch.setattr(durable, "TEMP_NAMES_MAX", 1)
    with pytest.raises(FileError, match="temporary files"):
        change(tmp_path / "f", lambda content: content + b"x")


def test_a_system_without_exchange_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_file, "_renameat2", lambda: None)
    assert not config_file.exchange(tmp_path / "a", tmp_path / "b")
    (tmp_path / "f").write_bytes(b"a\n")
    assert change(tmp_path / "f", add)
    assert (tmp_path / "f").read_bytes() == b"a\nours\n"


@needs_exchange
def test_two_files_change_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    assert config_file.exchange(tmp_path / "a", tmp_path / "b")
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"b", b"a"]
    with pytest.raises(FileNotFoundError):
        config_file.exchange(tmp_path / "a", tmp_path / "none")
