"""Several at one catalog: the lock and its time-out, two servers on one folder, a stale index, a kill -9 under load.

Source: contract vaultclaw 15 "Locking", "Index"; ruling 15; VC-15.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.catalogs import bundle

from .steps_catalog import NEW, OLD, OTHER, agreed, snapshot, stored

TIMEOUT_MS = 1000
SHORT = {"ACCORDS_MCP_LOCK_TIMEOUT_MS": str(TIMEOUT_MS)}
PLACE = {"cookbook_id": "a", "version": "1"}
CALLS: dict[str, dict[str, Any]] = {
    "cookbooks_list": {},
    "cookbook_get": PLACE,
    "cookbook_export": PLACE,
    "cookbook_upsert": {"bundle": NEW},
    "cookbook_import": {"bundle": OTHER},
    "cookbook_delete": PLACE,
    "recipes_search": {},
    "recipe_get": {"cookbook_id": "a", "recipe_id": "noop"},
    "template_render": {"cookbook_id": "a", "template_id": "noop", "inputs": {}},
    "catalog_sources_list": {},
    "catalog_source_upsert": {"source": {"source_id": "s", "index_url": "http://127.0.0.1:1/"}},
    "catalog_source_delete": {"source_id": "s"},
    "cookbooks_remote_list": {"source_id": "s"},
    "cookbook_remote_install": {"source_id": "s", "cookbook_id": "a"},
}
"""Every catalog tool."""


@scenario("VC-15")
async def test_a_taken_lock_is_waited_for_until_its_time_out(world: World) -> None:
    """Another program holds the catalog's lock. Every catalog tool, those that only read too, waits until the time-out
    and then says which lock it is; nothing has changed. After that all is as before."""
    server = await world.vaultclaw(environ=SHORT)
    client = server.client("acme")
    await stored(client, OLD)
    before = snapshot(server.catalog_dir)
    with held(server.catalog_dir):
        began_s = world.now_s
        answers = await asyncio.gather(*(client.call(tool, arguments) for tool, arguments in CALLS.items()))
        took_s = world.now_s - began_s
    for answer in answers:
        assert (answer.code, answer.category) == ("MCP_INTERNAL", "internal")
        assert {"operation", "path", "cause"} <= set(answer.details)
        assert answer.details["path"] == str(server.catalog_dir / ".catalog.lock")
    assert TIMEOUT_MS / 1000 <= took_s <= TIMEOUT_MS / 1000 + 4 * world.tick_s
    assert snapshot(server.catalog_dir) == before
    assert (await agreed(client, server.catalog_dir))["a", "1"] == "old"


@scenario("VC-15")
async def test_a_lock_that_is_given_back_in_time_is_taken(world: World) -> None:
    """The holder lets go before the time-out: the call that waited goes on, 25 ms later at the latest."""
    server = await world.vaultclaw(environ=SHORT)
    client = server.client("acme")
    with held(server.catalog_dir):
        began_s = world.now_s
        waiting = world.start(stored(client, NEW))
        await world.until(began_s + TIMEOUT_MS / 2000)
        assert not waiting.done()
    freed_s = world.now_s
    assert (await waiting)["created_or_updated"] is True
    assert world.now_s - freed_s <= 0.025 + world.tick_s


@scenario("VC-15")
async def test_two_servers_insert_one_id_and_one_wins(world: World) -> None:
    """Two servers on one catalog get the same id and version with different content, policy FAIL, again and again at
    once: each time one wins, the other meets a conflict, and both then show the winner's."""
    first = await world.vaultclaw()
    second = await world.vaultclaw(catalog_dir=first.catalog_dir)
    clients = first.client("acme"), second.client("acme")
    for number in range(4):
        given = [bundle("a", str(number), title=f"of {name}") for name in ("one", "two")]
        answers = await asyncio.gather(
            *(client.call("cookbook_upsert", bundle=one) for client, one in zip(clients, given, strict=True))
        )
        assert sorted(answer.code for answer in answers) == ["", "MCP_CATALOG_CONFLICT"]
        winner = next(one["title"] for answer, one in zip(answers, given, strict=True) if answer.ok)
        for client in clients:
            assert (await agreed(client, first.catalog_dir))["a", str(number)] == winner
    writers = [client.call("cookbook_upsert", bundle=bundle(f"w{n}", "1")) for n in range(6) for client in clients]
    assert all(answer.ok for answer in await asyncio.gather(*writers)), "equal content is no conflict"
    there = await agreed(clients[0], first.catalog_dir)
    assert {f"w{n}" for n in range(6)} <= {cookbook_id for cookbook_id, _ in there}


STALE = {
    "an item missing": lambda items: [item for item in items if item["cookbook_id"] != "a"],
    "a phantom": lambda items: [*items, {**items[0], "cookbook_id": "phantom"}],
    "other content": lambda items: [{**item, "title": "stale", "content_hash": "0" * 64} for item in items],
    "nothing": lambda items: [],
}
BROKEN = {"no file": None, "empty": b"", "torn": b'{"items": [{"cookbook_id"', "a list": b"[]"}


@scenario("VC-15")
async def test_a_stale_index_is_put_right(world: World) -> None:
    """A process died between a bundle and the index, or somebody else wrote one: the next start makes the index say
    what the files say, and so does an upsert that finds its file unchanged. Files win."""
    server = await world.vaultclaw()
    client = server.client("acme")
    await stored(client, OLD)
    await stored(client, OTHER)
    right = await agreed(client, server.catalog_dir)
    index = server.catalog_dir / "index.json"
    items = json.loads(index.read_bytes())["items"]
    for what, stale in STALE.items():
        index.write_text(json.dumps({"items": stale(items)}))
        assert (await stored(client, OLD))["created_or_updated"] is False, what
        assert await agreed(client, server.catalog_dir) == right, what
    for what, stale in STALE.items():
        await server.stop()
        index.write_text(json.dumps({"items": stale(items)}))
        await server.restart()
        client = server.client("acme")
        assert await agreed(client, server.catalog_dir) == right, what
    assert json.loads(index.read_bytes())["items"] == items


@scenario("VC-15")
@pytest.mark.parametrize("what", BROKEN)
async def test_an_index_that_can_not_be_read_is_made_anew(world: World, what: str) -> None:
    """It is gone, empty or no index: the next call that needs it makes it from the files, without a restart."""
    server = await world.vaultclaw()
    client = server.client("acme")
    await stored(client, OLD)
    right = await agreed(client, server.catalog_dir)
    index = server.catalog_dir / "index.json"
    whole = index.read_bytes()
    for tool in ("cookbooks_list", "recipes_search"):
        index.unlink()
        if (content := BROKEN[what]) is not None:
            index.write_bytes(content)
        assert (await client.call(tool)).ok
        assert index.read_bytes() == whole
    assert await agreed(client, server.catalog_dir) == right


@scenario("VC-15")
async def test_a_damaged_file_is_named_and_hurts_no_other(world: World) -> None:
    """A bundle or the list of sources is damaged on the disk: who asks for it is told which file and why; the others
    are served; it can be deleted."""
    server = await world.vaultclaw()
    client = server.client("acme")
    await stored(client, OLD)
    await stored(client, OTHER)
    path = server.catalog_dir / "cookbooks" / "a" / "1.json"
    path.write_bytes(path.read_bytes()[:40])
    broken = await client.call("cookbook_get", PLACE)
    assert broken.code == "MCP_CATALOG_SCHEMA_INVALID"
    assert broken.details["path"] == str(path)
    assert broken.details["cause"]
    assert (await client.call("cookbook_get", cookbook_id="b")).ok
    await server.restart()
    client = server.client("acme")
    assert (await client.call("cookbook_get", cookbook_id="b")).ok
    assert (await client.call("cookbook_delete", PLACE)).data["deleted"] is True
    assert ("a", "1") not in await agreed(client, server.catalog_dir)
    (server.catalog_dir / "sources.json").write_text("{")
    sources = await client.call("catalog_sources_list")
    assert (sources.code, bool(sources.details["cause"])) == ("MCP_CATALOG_SCHEMA_INVALID", True)
    assert (await client.call("cookbooks_list")).ok


@scenario("VC-15")
async def test_a_server_killed_while_it_writes_comes_back_whole(world: World) -> None:
    """Again and again many writes are in flight and the server is gone: the next one starts, list, get, search and
    files agree, and whoever was told that a write succeeded finds it."""
    server = await world.vaultclaw()
    for number in range(3):
        client = server.client("acme")
        writes = [
            world.start(told(client, bundle(f"k{number}", str(version), title=f"{number}/{version}")))
            for version in range(12)
        ]
        await asyncio.wait(writes, return_when=asyncio.FIRST_COMPLETED)
        await server.kill()
        done = [version for version, ok in enumerate(await asyncio.gather(*writes)) if ok]
        await server.restart()
        there = await agreed(server.client("acme"), server.catalog_dir)
        assert [version for version in done if (f"k{number}", str(version)) not in there] == []
        assert not [path.name for path in server.catalog_dir.rglob("*.tmp")]


async def told(client: Any, one: Any) -> bool:
    """Whether an answer came, which says that it is written."""
    try:
        return bool((await client.call("cookbook_upsert", bundle=one)).ok)
    except Exception:
        # The connection went with the server: nobody knows.
        return False


@contextmanager
def held(root: Path) -> Iterator[None]:
    """Another program has the lock."""
    with open(root / ".catalog.lock", "rb+") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
