"""A start that is killed, at each of its steps on the identity folder: what it leaves is whole, private, and of use."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

FILES = {"host_mcp_token.json": "token", "host_identity.json": "host_id", "host_console.json": "password"}
"""Each private file of the identity folder with the name of its value, in the order in which a start makes them."""
TEMP = re.compile(rf"\.(?:{'|'.join(map(re.escape, FILES))})\.\d+\.\d+\.tmp")
NO_SECRET = ("host_agent.lock", "host_agent.pid")
STEPS_MAX = 99


def child(world: World, who: str, folder: Path, **dies: Any) -> Any:
    """`mcp-token`, or the start and stop of a host agent, in a process of its own that may be killed."""
    return world.mcp_token_child(folder, **dies) if who == "mcp-token" else world.start_child(folder, **dies)


def left_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    """The private files that a killed start left, each whole and its owner's only, with what tells a file from its
    successor. Raises AssertionError for a torn or loose file, a loose temporary file, and anything unknown."""
    left = {}
    for path in sorted(folder.iterdir() if folder.exists() else []):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.name in FILES:
            kept = json.loads(path.read_text())
            assert sorted(kept) == sorted(["version", "created_at", FILES[path.name]]), (
                f"{path.name} holds {list(kept)}"
            )
            assert mode == 0o600, f"{path.name} has mode {mode:04o}"
            left[path.name] = (path.read_bytes(), path.stat().st_ino)
        elif path.name not in NO_SECRET:
            assert TEMP.fullmatch(path.name), f"a killed start left {path.name}"
            assert mode == 0o600, f"{path.name}, which may hold a secret, has mode {mode:04o}"
    return left


async def goes_on(world: World, folder: Path, left: dict[str, tuple[bytes, int]]) -> None:
    """The next start succeeds, uses every file that was left as it is, makes the others, and opens its doors."""
    host = await world.hostagent(identity_dir=folder)
    now = left_in(folder)
    assert list(now) == sorted(FILES), f"after a start the folder has {list(now)}"
    assert {name: now[name] for name in left} == left, "a whole file that was left is used as it is"
    assert await world.mcp_token(folder) == host.token == json.loads(now["host_mcp_token.json"][0])["token"]
    await host.console()
    await host.stop()


@scenario("HA-03", rung="memory")
@pytest.mark.parametrize("who", ["mcp-token", "serve"])
async def test_killed_before_each_file_operation(world: World, who: str) -> None:
    """mcp-token, or a whole start and stop of a host agent, is killed before its first file operation, its second, and
    so on until one comes through. Every file is there whole with mode 0600 or not at all; the next start goes on."""
    seen: dict[str, None] = {}
    for step in range(STEPS_MAX):
        folder = world.path / f"{who}-{step}"
        folder.mkdir(mode=0o700)
        end = child(world, who, folder, dies_at_step=step)
        assert end.killed or end.ok, f"the child ended otherwise: {end.text}"
        left = left_in(folder)
        seen["+".join(left)] = None
        await goes_on(world, folder, left)
        if end.ok:
            break
    else:
        raise AssertionError(f"it was still killed at step {STEPS_MAX}")
    wanted = list(FILES)[: 1 if who == "mcp-token" else 3]
    stages = ["+".join(sorted(wanted[:count])) for count in range(len(wanted) + 1)]
    assert list(seen) == stages, f"the files come one after another, each whole: {list(seen)}"


@scenario("HA-03", rung="memory")
@settings(max_examples=4)
@given(part=st.floats(0, 1, exclude_max=True))
@example(part=0.0)
@example(part=0.5)
@example(part=0.999)
@pytest.mark.parametrize("file", list(FILES))
async def test_killed_within_the_write_of_each_file(world: World, file: str, part: float) -> None:
    """The files before this one are there; the start dies when a part of this one is on disk, from nothing to all but
    its last byte. The file is not there under its name, the others are untouched, and the next start goes on."""
    whole, folder = world.path / "whole", world.path / "killed"
    assert world.start_child(whole).ok, "a start that nobody kills"
    folder.mkdir(mode=0o700)
    for name in list(FILES)[: list(FILES).index(file)]:
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes((whole / name).read_bytes())
    before = left_in(folder)
    # The pid file comes first, and is longer than nothing.
    size = max(int(part * (whole / file).stat().st_size), len(f"{os.getpid()}\n") + 2)
    end = world.start_child(folder, dies_after_bytes=size)
    assert end.killed, f"the child ended otherwise: {end.text}"
    assert left_in(folder) == before, f"killed after {size} bytes of {file}"
    torn = [path.stat().st_size for path in folder.glob(".*.tmp")]
    assert torn == [size], f"expected to be killed within the write, at byte {size}; temporary files have {torn}"
    await goes_on(world, folder, before)


@scenario("HA-03", rung="memory")
@pytest.mark.parametrize("file", list(FILES))
async def test_what_a_killed_process_left_over_is_nobodys(world: World, file: str) -> None:
    """Temporary files of killed processes lie about, also of one that had the number of this process: empty, torn, and
    whole with another secret. None is ever read, renamed or in the way."""
    folder = world.path / "host-1"
    folder.mkdir(mode=0o700)
    other = json.dumps({"version": 1, FILES[file]: "left-over-of-a-killed-one", "created_at": "2026-01-01T00:00:00Z"})
    for number, content in enumerate(("", other[:40], other)):
        path = folder / f".{file}.{os.getpid()}.{number}.tmp"
        path.touch(mode=0o600)
        path.write_text(content)
    await goes_on(world, folder, {})
    assert b"left-over" not in (folder / file).read_bytes(), "the left-over of a killed process was put in place"
