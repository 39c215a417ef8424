"""Killed at any step, with a full disk, or in a race, the catalog is the old one or the new one. Source: VC-15."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.files import Before
from lasttick.targets.forked import NOBODY, Barrier, Forked

from ....model.vaultclaw.bundles import bundle
from .shelf import check_agreement, on_disk, opened, several, used, used_live

OLD, NEW = bundle("a", "1", "old"), bundle("a", "1", "new")
OTHER = bundle("b", "1", "other")
STEPS_MAX = 60

Change = tuple[list[Any], Callable[[Catalog], Any]]
CHANGES: dict[str, Change] = {
    "first": ([], lambda c: c.upsert(NEW)),
    "another": ([OTHER], lambda c: c.upsert(NEW)),
    "replace": ([OLD, OTHER], lambda c: c.upsert(NEW, "OVERWRITE")),
    "delete": ([OLD, OTHER], lambda c: c.delete("a", "1")),
    "delete-one-of-two": ([OLD, bundle("a", "2")], lambda c: c.delete("a", "1")),
}


def titles(root: Path) -> dict[tuple[str, str], str]:
    return {place: file["title"] for place, file in on_disk(root).items()}


def prepared(root: Path, bundles: list[Any]) -> dict[tuple[str, str], str]:
    async def work(catalog: Catalog) -> None:
        for one in bundles:
            await catalog.upsert(one)

    opened(root, work)
    return titles(root)


def at_step(number: int, act: Callable[[], None]) -> tuple[Before, list[str]]:
    """Act just before step `number`; and the steps so far."""
    seen: list[str] = []

    def before(step: str) -> None:
        seen.append(step)
        if len(seen) == number + 1:
            act()

    return before, seen


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ended_badly(root: Path, change: Callable[[Catalog], Any], before: Before) -> ToolFailure | None:
    try:
        used(root, change, before)
    except ToolFailure as failure:
        return failure
    return None


@pytest.mark.parametrize("name", CHANGES)
def test_killed_at_any_step(tmp_path: Path, name: str) -> None:
    before_it, change = CHANGES[name]
    prepared(tmp_path / "whole", before_it)
    before, steps = at_step(STEPS_MAX, die)
    used(tmp_path / "whole", change, before)
    after = titles(tmp_path / "whole")
    assert {step.split()[0] for step in steps} >= {"lock", "create", "write", "fsync", "rename"}
    seen = []
    for number in range(STEPS_MAX):
        root = tmp_path / f"step{number}"
        old = prepared(root, before_it)
        watch, _ = at_step(number, die)
        ended = Forked(lambda root=root, watch=watch: str(used(root, change, watch))).wait()  # type: ignore[misc]
        if not ended.killed:
            assert number == len(steps), ended.text
            break
        opened(root, lambda c: c.list())
        left = {place: file["title"] for place, file in check_agreement(root).items()}
        assert left in (old, after), f"killed before {steps[number]!r}"
        assert not list(root.rglob(".*.tmp")), "the next start clears up"
        used(root, change)
        assert {place: file["title"] for place, file in check_agreement(root).items()} == after, "repeating succeeds"
        seen.append(left == after)
    assert seen == sorted(seen), "first the old, then the new"
    assert set(seen) == {False, True}


@pytest.mark.parametrize("name", ["another", "replace"])
@pytest.mark.parametrize("size", [0, 1, 100])
def test_killed_within_a_write(tmp_path: Path, name: str, size: int) -> None:
    before_it, change = CHANGES[name]
    old = prepared(tmp_path, before_it)
    assert Forked(lambda: str(used(tmp_path, change)), file_bytes_max=size).wait().killed
    opened(tmp_path, lambda c: c.list())
    check_agreement(tmp_path)
    assert titles(tmp_path) == old


@pytest.mark.parametrize("name", CHANGES)
def test_a_step_that_fails_is_told_and_loses_nothing(tmp_path: Path, name: str) -> None:
    before_it, change = CHANGES[name]
    for number in range(STEPS_MAX):
        root = tmp_path / f"step{number}"
        old = prepared(root, before_it)
        watch, steps = at_step(number, disk_full)
        failure = ended_badly(root, change, watch)
        if failure is None:
            assert len(steps) <= number
            break
        assert (failure.code, sorted(failure.details)) == ("MCP_INTERNAL", ["cause", "operation", "path"])
        assert failure.details["cause"] == "No space left on device"
        assert failure.details["operation"] == steps[-1].split()[0]
        if steps[-1].split()[0] in ("create", "write", "mkdir"):
            check_agreement(root)
            assert titles(root) == old, "all that needs room is done before anything changes"
        assert not list(root.rglob(".*.tmp"))
        used(root, change)
        check_agreement(root)
    else:
        pytest.fail("the steps never ended")


def test_two_processes_with_fail_and_one_wins(tmp_path: Path) -> None:
    prepared(tmp_path, [OTHER])
    for round_ in range(5):
        barrier = Barrier(2)

        def work(title: str, barrier: Barrier = barrier, round_: int = round_) -> str:
            met: list[str] = []

            def meet(step: str) -> None:
                if not met:
                    met.append(step)
                    barrier.wait()

            try:
                used_live(tmp_path, lambda c: c.upsert(bundle("a", str(round_), title)), meet)
            except ToolFailure as failure:
                return failure.code
            return "won"

        children = [Forked(lambda title=title: work(title)) for title in ("one", "two")]  # type: ignore[misc]
        barrier.open()
        ends = [child.wait() for child in children]
        barrier.close()
        assert sorted(end.text for end in ends) == ["MCP_CATALOG_CONFLICT", "won"]
        winner = ("one", "two")[[end.text for end in ends].index("won")]
        check_agreement(tmp_path)
        assert titles(tmp_path)["a", str(round_)] == winner


def test_processes_that_write_different_bundles_lose_none(tmp_path: Path) -> None:
    prepared(tmp_path, [])

    def work(child: int) -> None:
        async def all_at_once(catalog: Catalog) -> None:
            ends = await several(*(catalog.upsert(bundle(f"c{child}-{n}", "1")) for n in range(5)))
            assert not [end for end in ends if isinstance(end, BaseException)]

        used_live(tmp_path, all_at_once)

    children = [Forked(lambda n=n: work(n)) for n in range(3)]  # type: ignore[misc]
    assert [child.wait().text for child in children] == [""] * 3
    assert len(check_agreement(tmp_path)) == 15


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ToolFailure) as info:
            opened(root, lambda c: c.list())
        assert info.value.code == "MCP_INTERNAL"
        assert (info.value.details["operation"], info.value.details["path"]) == ("mkdir", str(root))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_root_behind_a_closed_door(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    prepared(closed / "root", [OLD])
    closed.chmod(0o600)
    ended = Forked(lambda: str(used(closed / "root", lambda c: c.list())), uid=NOBODY).wait()
    closed.chmod(0o700)
    assert "ToolFailure" in ended.text
    assert "Permission denied" in ended.text


def test_a_root_that_can_not_be_written(tmp_path: Path) -> None:
    root = tmp_path / "root"
    prepared(root, [OLD])
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.geteuid() and not stat.S_IMODE(parent.stat().st_mode) & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    ended = Forked(lambda: str(used(root, lambda c: c.list())), uid=NOBODY).wait()
    assert "ToolFailure" in ended.text
    assert ".catalog.lock: Permission denied" in ended.text
    for path in (root, *root.rglob("*")):
        path.chmod(0o755)


@pytest.mark.parametrize("name", ["index.json", "cookbooks", ".catalog.lock", "cookbooks/a/1.json"])
def test_a_folder_or_file_in_a_wrong_place(tmp_path: Path, name: str) -> None:
    prepared(tmp_path, [OTHER])
    path = tmp_path / name
    if path.is_dir():
        path.rename(tmp_path / "aside")
        path.write_text("a file")
    else:
        path.unlink(missing_ok=True)
        path.mkdir(parents=True)
    with pytest.raises(ToolFailure) as info:
        used(tmp_path, lambda c: c.upsert(NEW))
    assert info.value.code == "MCP_INTERNAL"
    assert sorted(info.value.details) == ["cause", "operation", "path"]
