"""The agent program is told of our MCP server at boot, and of its operator's file nothing else changes.

Source: contract gateway, boot registration; GW-16.
"""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.checks.boot_config import NAMES, only_added, with_ours
from lasttick_fakes.model import Call
from lasttick_fakes.operator_configs import BROKEN, broken_config, operator_config

from .steps_boot import OPERATOR, kept
from .steps_turns import server_of

FILES = 4
"""Generated files in one example: a merge costs next to nothing beside a world."""
STEPS_MAX = 40

UNREADABLE = {
    "not UTF-8": "name: Müller\n".encode("latin-1"),
    "UTF-16": "model: m\n".encode("utf-16"),
    "no YAML": b"a: [\n",
    "a list": b"- a\n",
    "null": b"~\n",
    "a key twice": b"model: m\nmodel: n\n",
    "servers twice": b"mcp_servers: {}\nmcp_servers: {}\n",
}

SAYS_NOTHING = {
    "empty": "",
    "blank": "\n\n",
    "blank with CRLF": "\r\n",
    "a comment": "# by hand\n",
    "a document start": "---\n",
    "a byte order mark": "\ufeff",
    "a mapping of nothing": "{}\n",
}

IN_ITS_PLACE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a directory": (Path.mkdir, "is a directory"),
    "a pipe": (os.mkfifo, "is a special file"),
    "a link to itself": (lambda path: path.symlink_to(path), "cannot be changed"),
    "read-only": (lambda path: read_only(path), "is read-only"),
}
"""How it gets there, and what is said of it."""


@scenario("GW-16", rung="memory")
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
@example(seed=0)
async def test_an_operators_file_keeps_every_other_byte(world: World, seed: int) -> None:
    """Generated files with comments, anchors, quotes, long lines, CRLF, flow maps, odd indents, servers of others and
    an older block of ours: boot makes the file say what it said and our server; outside our block each byte stays; a
    second boot writes nothing."""
    rung = world.boot_rung()
    stream = random.Random(seed)
    for _ in range(FILES):
        text = operator_config(stream).text
        path = rung.home(text.encode())
        assert rung.boot(path) is None
        merged = path.read_bytes().decode()
        assert yaml.safe_load(merged) == with_ours(yaml.safe_load(text), rung.interpreter)
        assert kept(text, merged), merged
        first = path.stat()
        assert rung.boot(path) is None
        assert path.read_bytes().decode() == merged
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)


@scenario("GW-16", rung="memory")
@given(seed=st.integers(0, 2**32))
@settings(max_examples=4)
@example(seed=1)
async def test_boot_commutes_with_an_operators_edit(world: World, seed: int) -> None:
    """The operator adds a setting at the top: the same bytes, whether before boot or after it."""
    rung = world.boot_rung()
    stream = random.Random(seed)
    for _ in range(FILES):
        config = operator_config(stream)
        if "document start" in config.traits:
            continue
        ending = "\r\n" if "crlf" in config.traits else "\n"
        edit = f"x-by-hand: 'one'   # added{ending}".encode()
        edited_first = rung.home(edit + config.text.encode())
        booted_first = rung.home(config.text.encode())
        assert rung.boot(edited_first) is None
        assert rung.boot(booted_first) is None
        assert edited_first.read_bytes() == edit + booted_first.read_bytes()


@scenario("GW-16", rung="memory")
async def test_what_an_operator_wrote_into_our_block_survives(world: World) -> None:
    """Keys of the operator's inside `humanwork`, a choice of tools and a discovery time-out: they stay as written, with
    their comments; what is ours is asserted again."""
    rung = world.boot_rung()
    lines = [
        "mcp_discovery_timeout: 5   # we like it short",
        "mcp_servers:",
        "  humanwork:",
        "    enabled: false   # not yet",
        "    timeout: 12",
        "    command: python",
        "    env: {AGENT_SERVICE_SECRET: left-over}",
        "    tools: {include: [a__b], resources: true}",
        "  github: {command: npx}",
    ]
    text = "\n".join(lines) + "\n"
    path = rung.home(text.encode())
    assert rung.boot(path) is None
    merged = path.read_text()
    assert yaml.safe_load(merged) == with_ours(yaml.safe_load(text), rung.interpreter)
    for line in [*lines[:5], lines[8]]:
        assert f"{line}\n" in merged, merged
    assert "left-over" not in merged


@scenario("GW-16", rung="memory")
async def test_where_there_is_no_file_one_is_made(world: World) -> None:
    """For its owner alone: it may be given secrets later."""
    rung = world.boot_rung()
    path = rung.home(None)
    assert rung.boot(path) is None
    assert yaml.safe_load(path.read_text()) == with_ours(None, rung.interpreter)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@scenario("GW-16", rung="memory")
@pytest.mark.parametrize("what", list(SAYS_NOTHING))
async def test_a_file_that_says_nothing_says_only_ours_then(world: World, what: str) -> None:
    """Empty, blank, only a comment, or a mapping of nothing: our server is all it says, behind what stood there. A
    second boot writes nothing."""
    rung = world.boot_rung()
    text = SAYS_NOTHING[what]
    path = rung.home(text.encode())
    assert rung.boot(path) is None
    merged = path.read_bytes().decode()
    assert yaml.safe_load(merged) == with_ours(None, rung.interpreter)
    assert only_added(text, merged), merged
    assert rung.boot(path) is None
    assert path.read_bytes().decode() == merged


@scenario("GW-16", rung="memory")
@pytest.mark.parametrize("what", list(IN_ITS_PLACE))
async def test_what_is_no_file_to_write_is_left_as_it_is(world: World, what: str) -> None:
    """A directory, a pipe, a link to itself, a file that its operator made read-only: nothing is made of it or beside
    it, and the error says what stands there."""
    rung = world.boot_rung()
    path = rung.home(None)
    make, why = IN_ITS_PLACE[what]
    make(path)
    before = os.lstat(path)
    said = rung.boot(path)
    assert said is not None
    assert f"{path} {why}" in said
    assert "left untouched" in said
    assert os.lstat(path)[:9] == before[:9]
    assert os.listdir(path.parent) == [path.name]
    if stat.S_ISREG(before.st_mode):
        assert path.read_bytes() == OPERATOR


@scenario("GW-16", rung="memory")
@pytest.mark.parametrize("what", [*BROKEN, *UNREADABLE])
async def test_what_cannot_be_merged_is_left_as_it_is(world: World, what: str) -> None:
    """A file that is no YAML, no mapping, or ambiguous: untouched, nothing beside it, and an error that names the file
    and says that nothing was changed. The boot itself goes on."""
    rung = world.boot_rung()
    path = rung.home(UNREADABLE[what] if what in UNREADABLE else broken(world.random("broken"), what))
    before = path.read_bytes()
    said = rung.boot(path)
    assert said is not None, path.read_text()
    assert str(path) in said
    assert "left untouched" in said
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@scenario("GW-16", rung="memory")
async def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(world: World) -> None:
    """Boot is killed just before its first, second, ... file operation, until it comes through: the file is the old one
    or the new one each time, and the next boot makes it the new one."""
    rung = world.boot_rung()
    new = booted(rung, OPERATOR)
    seen = []
    for step in range(STEPS_MAX):
        path = rung.home(OPERATOR)
        ended = rung.killed_boot(path, step)
        assert ended.killed or ended.ok, ended.text
        assert path.exists(), f"killed at step {step}, there is no file"
        seen.append(path.read_bytes())
        assert rung.boot(path) is None
        assert path.read_bytes() == new
        if not ended.killed:
            break
    assert not ended.killed
    assert [content for content in seen if content not in (OPERATOR, new)] == []
    assert (seen[0], seen[-1]) == (OPERATOR, new)


@scenario("GW-16", rung="memory")
@pytest.mark.parametrize("written", [0, 1, 60, 200, 400])
async def test_a_kill_within_the_write_leaves_the_old_file(world: World, written: int) -> None:
    """Boot dies when that many bytes are written: the operator's file is whole, and the next boot succeeds."""
    rung = world.boot_rung()
    path = rung.home(OPERATOR)
    assert rung.cut_boot(path, written).killed
    assert path.read_bytes() == OPERATOR
    assert rung.boot(path) is None
    assert path.read_bytes() == booted(rung, OPERATOR)


@scenario("GW-16", rung="memory")
@pytest.mark.parametrize("content", [OPERATOR, None], ids=["a file", "no file"])
async def test_two_boots_at_once_write_one_block(world: World, content: bytes | None) -> None:
    """Both have seen the file before either writes: the end is that of one boot, with nothing beside it."""
    rung = world.boot_rung()
    path = rung.home(content)
    assert [ended.ok for ended in rung.racing_boots(path, 2)] == [True, True]
    assert path.read_bytes() == booted(rung, content)
    assert os.listdir(path.parent) == [path.name]


@scenario("GW-16", rung="memory")
async def test_what_the_agent_writes_meanwhile_is_not_lost(world: World) -> None:
    """The agent program rewrites its own configuration, beside and then renamed, just before each step of a boot in
    turn: its new key and our block are both there in the end."""
    rung = world.boot_rung()
    for step in range(STEPS_MAX):
        path = rung.home(OPERATOR)
        ended, came = rung.disturbed_boot(path, step, lambda path=path: rewritten(path))  # type: ignore[misc]
        assert ended.ok, ended.text
        assert rung.boot(path) is None
        expected = with_ours(yaml.safe_load(OPERATOR), rung.interpreter)
        assert yaml.safe_load(path.read_text()) == ({**expected, "x-agent": "wrote"} if came else expected), step
        if not came:
            return
    raise AssertionError(f"a boot of more than {STEPS_MAX} file operations")


@scenario("GW-16", "GW-15")
async def test_the_server_gets_what_the_registration_names(world: World) -> None:
    """A deployment boots, and boots again: the file is the same and holds no value of a secret. A turn's server is then
    started with the run, the list, the platform and the secret of that turn, and its call arrives."""
    gateway = await world.gateway(flag=True)
    secrets = gateway.secrets
    first = gateway.config_path.read_bytes()
    await gateway.restart("agent")
    assert gateway.config_path.read_bytes() == first
    for value in (secrets.agent_secret, secrets.platform_token, secrets.admin_token, secrets.jwt_key):
        assert value.encode() not in first
    registered = yaml.safe_load(first)["mcp_servers"]["humanwork"]
    assert registered.get("env") == {name: "${" + name + "}" for name in NAMES}
    assert os.path.isabs(registered["command"])

    await gateway.third_party.put_order("A-1", status="shipped")
    await gateway.model.script("my order", Call.one("order_lookup__lookup", order_id="A-1"), "I found {result}")
    await gateway.org("org-a", bindings=["order_lookup"], skills={"orders": ["order_lookup"]})
    answer = await gateway.chat("org-a", "Where is my order?", skill="orders")
    (turn,) = await gateway.hermes_turns()
    server = server_of(turn)
    assert server is not None
    assert {name: server.env.get(name) for name in NAMES} == {
        "HUMANWORK_ORG_ID": "org-a",
        "HUMANWORK_RUN_ID": answer.run_id,
        "HUMANWORK_MCP_TOOLS": "order_lookup:lookup",
        "PLATFORM_API_URL": gateway.platform_url,
        "AGENT_SERVICE_SECRET": secrets.agent_secret,
    }
    (row,) = await gateway.ledger("org-a")
    assert (row["run_id"], row["door"], row["status"]) == (answer.run_id, "internal", 200)
    assert gateway.config_path.read_bytes() == first, "a turn changes nothing of it"


def booted(rung: Any, content: bytes | None) -> bytes:
    """What one undisturbed boot makes of it."""
    path: Path = rung.home(content)
    assert rung.boot(path) is None
    return path.read_bytes()


def read_only(path: Path) -> None:
    path.write_bytes(OPERATOR)
    path.chmod(0o444)


def rewritten(path: Path) -> None:
    beside = path.with_name("written-by-the-agent")
    beside.write_bytes(path.read_bytes() + b"x-agent: wrote\n")
    os.replace(beside, path)


def broken(stream: random.Random, kind: str) -> bytes:
    """A generated file of that kind."""
    while True:
        config = broken_config(stream)
        if config.traits == (kind,):
            return config.text.encode()
