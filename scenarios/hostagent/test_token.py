"""The token file: made once, whole or not at all, for all who race for it, and never trusted when it looks wrong."""

from __future__ import annotations

import json
import os
import stat
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

NAME = "host_mcp_token.json"
SECRET = "a-secret-that-must-not-be-shown"


def record(**changes: Any) -> str:
    return json.dumps({"version": 1, "token": SECRET, "created_at": "2026-01-01T00:00:00+00:00"} | changes)


def without(name: str) -> str:
    return json.dumps({key: value for key, value in json.loads(record()).items() if key != name})


BAD: dict[str, str | bytes] = {
    "empty": "",
    "blank": " \n",
    "corrupt": record()[:-7],
    "corrupt-not-utf8": b"\xff\xfe" + record().encode(),
    "corrupt-two-objects": record() + record(),
    "corrupt-deep": "[" * 20_000,
    "array": json.dumps([SECRET]),
    "plain-text": json.dumps(SECRET),
    "null": "null",
    "version-2": record(version=2),
    "version-0": record(version=0),
    "version-text": record(version="1"),
    "version-true": record(version=True),
    "version-missing": without("version"),
    "token-number": record(token=7),
    "token-null": record(token=None),
    "token-list": record(token=[SECRET]),
    "token-missing": without("token"),
    "token-empty": record(token=""),
    "token-blank": record(token=" "),
    "token-two-lines": record(token=f"{SECRET}\n"),
    "token-not-ascii": record(token=f"{SECRET}é"),
    "created-missing": without("created_at"),
    "created-nonsense": record(created_at="yesterday"),
}


def folder_of(world: World) -> Path:
    """The identity folder of this world's first host, made as its own start would make it."""
    folder = world.path / "host-1"
    folder.mkdir(mode=0o700)
    return folder


def put(folder: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path = folder / NAME
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def assert_says(said: str, path: Path) -> None:
    assert str(path) in said, f"the refusal must name the file {path.name}: {said}"
    assert SECRET not in said, f"the refusal shows the token: {said}"


@scenario("HA-03")
async def test_made_once_and_used_again(world: World) -> None:
    """An empty folder, two starts, and mcp-token before, between and after. One token for all, in a file of mode 0600
    that is written once and holds version, token and time."""
    folder = world.path / "host-1"
    host = await world.hostagent()
    path = folder / NAME
    first, token = path.read_bytes(), host.token
    assert mode_of(path) == 0o600, f"{path.name} has mode {mode_of(path):04o}"
    kept = json.loads(first)
    assert sorted(kept) == ["created_at", "token", "version"], f"the file holds {sorted(kept)}"
    assert kept["version"] == 1
    assert datetime.fromisoformat(kept["created_at"]).tzinfo is not None, "created_at has an offset from UTC"
    assert len(token) >= 43, f"32 unguessable bytes are 43 characters, the token has {len(token)}"
    assert await world.mcp_token(folder) == token, "mcp-token beside a running host prints its token"
    await host.restart()
    assert path.read_bytes() == first, "the second start left the file as it was"
    assert await world.mcp_token(folder) == token
    await host.client("alice")
    assert not [found.name for found in folder.iterdir() if found.suffix == ".tmp"], "no temporary file is left"


@scenario("HA-03")
async def test_each_host_has_a_token_of_its_own(world: World) -> None:
    """Two hosts in two folders. Two tokens, and neither opens the other's door."""
    one, two = await world.hostagent(), await world.hostagent(devices=["phone-2"])
    assert one.token != two.token, "two folders, two tokens"
    async with one.http() as http:
        answer = await http.post("/mcp", headers={"authorization": f"Bearer {two.token}"})
    assert answer.status_code == 401, f"the other host's token gave {answer.status_code}"


@scenario("HA-03")
async def test_serve_and_mcp_token_end_with_one_token(world: World) -> None:
    """serve and two mcp-token start together on an empty folder. All three end with the same token."""
    folder = world.path / "host-1"
    racers = [world.start(world.mcp_token(folder)) for _ in range(2)]
    host = await world.hostagent()
    assert {await racer for racer in racers} == {host.token}, "one token for all"


@scenario("HA-03", rung="memory")
@pytest.mark.parametrize("racers", [2, 5])
async def test_racing_processes_end_with_one_token(world: World, racers: int) -> None:
    """Processes that all saw that there is no file, let go together just before each makes one. One file, one token,
    the same for every process and for the host that starts then."""
    folder = folder_of(world)
    ends = world.mcp_token_race(folder, racers)
    assert all(end.ok for end in ends), f"every racer ends well: {[end.text for end in ends if not end.ok]}"
    assert len({end.text for end in ends}) == 1, "all racers end with the same token"
    assert [path.name for path in folder.iterdir()] == [NAME], "one file, nothing beside it"
    host = await world.hostagent()
    assert host.token == ends[0].text, "the host that starts then has it too"


@scenario("HA-03")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o700], ids="{:04o}".format)
async def test_a_looser_mode_is_refused(world: World, mode: int) -> None:
    """A good token file that others may read, write or run. The start is refused with the mode and the cure, and the
    file keeps its mode and content; after the cure the token is used."""
    path = put(folder_of(world), record(), mode)
    said = await world.refusal()
    assert_says(said, path)
    assert f"{mode:04o}" in said, f"the refusal must name the mode {mode:04o}: {said}"
    assert "0600" in said, f"the refusal must name the mode expected: {said}"
    assert (mode_of(path), path.read_text()) == (mode, record()), "a refused start leaves the file as it was"
    path.chmod(0o600)
    host = await world.hostagent()
    assert host.token == SECRET


@scenario("HA-03")
@pytest.mark.parametrize("row", BAD)
async def test_a_wrong_content_stops_the_start(world: World, row: str) -> None:
    """A token file that is empty, corrupt, of another version or type. Start and mcp-token are refused with the file's
    name and without its content; the file stays; once it is gone the start makes a new one."""
    path = put(folder_of(world), BAD[row])
    before = path.read_bytes()
    assert_says(await world.refusal(), path)
    assert_says(await world.mcp_token_refusal(path.parent), path)
    assert path.read_bytes() == before, f"{row}: a refused start leaves the file as it was"
    path.unlink()
    host = await world.hostagent()
    assert host.token != SECRET


@scenario("HA-03")
async def test_a_corrupt_file_stops_a_real_start(world: World) -> None:
    """A torn token file. The start ends with a message that names the file, and leaves it."""
    path = put(folder_of(world), BAD["corrupt"])
    assert_says(await world.refusal(), path)
    assert path.read_text() == BAD["corrupt"]


@scenario("HA-03")
@pytest.mark.parametrize("what", ["symlink", "dangling-symlink", "directory", "full-directory", "pipe"])
async def test_what_is_no_file_is_refused(world: World, what: str) -> None:
    """A link to a good file, a link to nothing, a directory or a pipe in place of the file. The start is refused, does
    not block, and touches neither it nor what it points to."""
    path = folder_of(world) / NAME
    target = world.path / "elsewhere.json"
    if what == "symlink":
        target.write_text(record())
        target.chmod(0o600)
    if what.endswith("symlink"):
        path.symlink_to(target)
    elif what == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.mkdir(0o600)
        if what == "full-directory":
            (path / "kept").touch()
    kind = stat.S_IFMT(path.lstat().st_mode)
    assert_says(await world.refusal(), path)
    assert stat.S_IFMT(path.lstat().st_mode) == kind, f"a refused start leaves the {what} in place"
    assert target.exists() == (what == "symlink"), "nothing is made or removed where the link points"
    if what == "symlink":
        assert target.read_text() == record(), "what the link points to is untouched"


@scenario("HA-03", rung="memory")
@pytest.mark.parametrize("what", ["unwritable-folder", "unreadable-file"])
async def test_without_the_right_to_it_it_is_refused(world: World, what: str) -> None:
    """A process of another user that can not write the folder, or can, but not read the file in it. It is refused with
    a message, changes nothing, and never goes on with a token that only it knows."""
    folder = folder_of(world)
    world.path.chmod(0o711)
    root = os.geteuid() == 0
    if what == "unwritable-folder":
        folder.chmod(0o555)
    else:
        put(folder, record(), 0o600 if root else 0o000)
        if root:
            os.chown(folder, world.nobody, world.nobody)
    try:
        probe = (folder / "probe").touch if what == "unwritable-folder" else (folder / NAME).read_text
        assert not world.nobody_can(probe), f"on this machine the other user has the right to it: {what} shows nothing"
        end = world.mcp_token_child(folder, as_nobody=True)
    finally:
        folder.chmod(0o700)
    assert not end.ok, f"it went on with a token of its own: {end.text}"
    assert_says(end.text, folder / NAME)
    assert "Permission denied" in end.text, f"the refusal must say why: {end.text}"
    left = {path.name: path.stat().st_size for path in folder.iterdir()}
    expected = {} if what == "unwritable-folder" else {NAME: len(record())}
    assert left == expected, f"nothing may be made or replaced, the folder now holds {left}"


@scenario("HA-03")
async def test_deleting_the_file_rotates_at_restart_only(world: World) -> None:
    """The token file is deleted under a running host. The old token goes on opening the door until the restart, and
    never after it; the new one is in a new file."""
    host = await world.hostagent()
    old, path = host.token, world.path / "host-1" / NAME
    path.unlink()
    assert (await host.client("alice", token=old)).raw.session_id, "the old token still opens the running host"
    assert not path.exists(), "a running host makes no new file"
    await host.restart()
    assert host.token != old, "the restart made a new token"
    assert mode_of(path) == 0o600
    async with host.http() as http:
        answer = await http.post("/mcp", headers={"authorization": f"Bearer {old}"})
    assert answer.status_code == 401, f"the old token after the restart gave {answer.status_code}"
    assert (await host.client("bob")).raw.session_id, "the new token opens the door"


@scenario("HA-03", sees=("killed-without-file", "killed-with-file", "not-killed"), rung="memory")
@settings(max_examples=12)
@given(step=st.integers(0, 9))
@example(step=0)
@example(step=4)
@example(step=99)
async def test_a_kill_at_any_step_leaves_no_file_or_a_whole_one(world: World, step: int) -> None:
    """The process that makes the token is killed just before its n-th file operation. There is no token file or a whole
    one; the next start succeeds, with that token if there is one."""
    folder = folder_of(world)
    end = world.mcp_token_child(folder, dies_at_step=step)
    assert end.killed or end.ok, f"the child ended otherwise: {end.text}"
    path = folder / NAME
    left = json.loads(path.read_text())["token"] if path.exists() else None
    world.saw(("killed-with-file" if left else "killed-without-file") if end.killed else "not-killed")
    host = await world.hostagent()
    assert left in (None, host.token), "a whole file that was left is used"
    assert mode_of(path) == 0o600


@scenario("HA-03", rung="memory")
@settings(max_examples=8)
@given(written=st.integers(0, 100))
@example(written=1)
@example(written=0)
async def test_a_kill_within_the_write_leaves_no_torn_file(world: World, written: int) -> None:
    """The process that makes the token dies after so many bytes of it are on disk. No torn token file is left, and the
    next start makes a token of its own."""
    folder = folder_of(world)
    end = world.mcp_token_child(folder, dies_after_bytes=written)
    assert not end.ok, f"a token of {written} bytes was made: {end.text}"
    assert not (folder / NAME).exists(), f"a torn file of {(folder / NAME).stat().st_size} bytes is left"
    host = await world.hostagent()
    assert len(host.token) >= 43
