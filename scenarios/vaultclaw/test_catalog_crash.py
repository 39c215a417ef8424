"""The catalog is killed, out of room or overtaken at every step of a change: it is the old one or the new one.

Source: contract vaultclaw 15 "Writing", "Locking"; VC-15.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.catalogs import bundle

from .steps_catalog import NEW, OLD, OTHER, Place, agreed, on_disk, reopened, snapshot, told

STEPS_MAX = 120
STARTS_MAX, STRIDE = 400, 23
MARKER = ".bundled-cookbooks-seed.v1.json"
Work = Callable[[Any], Any]
TWO = bundle("a", "2", title="two")
CHANGES: dict[str, tuple[list[Any], Work]] = {
    "first": ([], lambda catalog: catalog.upsert(NEW)),
    "replace": ([OLD, OTHER], lambda catalog: catalog.upsert(NEW, "OVERWRITE")),
    "delete": ([OLD, OTHER], lambda catalog: catalog.delete("a", "1")),
}
SOURCE = {"source_id": "s", "index_url": "http://127.0.0.1:9/index.json"}


@scenario("VC-15", rung="memory")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_kill_at_any_step_leaves_the_old_catalog_or_the_new_one(world: World, change: str) -> None:
    """The change is killed just before its first, second, ... step: each write, fsync, rename and file operation. After
    reopening, list, get, search and files agree on the old state or the new one; repeating succeeds; nothing is left
    over."""
    rung = world.catalog_rung()
    start, old, new = await both_ends(rung, change)
    work = CHANGES[change][1]
    seen = []
    for step in range(STEPS_MAX):
        root = rung.root(like=start)
        ended = rung.killed(root, work, step)
        assert ended.killed or ended.text == "done", ended.text
        left = await reopened(rung, root)
        assert left in (old, new), f"killed at step {step}"
        assert not [path.name for path in root.rglob("*.tmp")], "the next start clears away what was half done"
        seen.append(left == new)
        assert await rung.change(root, work) == "done"
        assert await reopened(rung, root) == new
        if not ended.killed:
            break
    assert not ended.killed, f"a change of more than {STEPS_MAX} steps"
    assert seen == sorted(seen), "first the old one, from some step on the new one"
    assert seen.count(False) > 3


@scenario("VC-15", "VC-17", rung="memory")
async def test_a_kill_at_any_step_leaves_the_old_sources_or_the_new_ones(world: World) -> None:
    """The same for the list of sources: whole at every step, without the new one or with it."""
    rung = world.catalog_rung()
    start = await prepared(rung, [OLD])
    assert await rung.change(start, lambda catalog: catalog.upsert_source({**SOURCE, "source_id": "first"})) == "done"
    seen = []
    for step in range(STEPS_MAX):
        root = rung.root(like=start)
        ended = rung.killed(root, lambda catalog: catalog.upsert_source(SOURCE), step)
        catalog = await rung.opened(root)
        seen.append([source["source_id"] for source in await catalog.sources()])
        assert await told(catalog, root) == {("a", "1"): "old"}
        if not ended.killed:
            break
    assert not ended.killed
    assert [left for left in seen if left not in (["first"], ["first", "s"])] == []
    assert (seen[0], seen[-1]) == (["first"], ["first", "s"])


@scenario("VC-15", rung="memory")
@pytest.mark.parametrize("written", [0, 1, 100])
async def test_a_kill_within_a_write_leaves_the_old_catalog(world: World, written: int) -> None:
    """The change dies when that many bytes of a file are written: the old state, whole."""
    rung = world.catalog_rung()
    start, old, new = await both_ends(rung, "replace")
    work = CHANGES["replace"][1]
    assert rung.cut(start, work, written).killed
    assert await reopened(rung, start) == old
    assert await rung.change(start, work) == "done"
    assert await reopened(rung, start) == new


@scenario("VC-15", rung="memory")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_full_disk_is_told_and_loses_nothing(world: World, change: str) -> None:
    """At each step in turn there is no room: an error that names operation, path and cause. As long as only room is
    needed nothing has changed; nothing is left over; with room the change succeeds."""
    rung = world.catalog_rung()
    start, old, new = await both_ends(rung, change)
    work = CHANGES[change][1]
    steps = await rung.steps(rung.root(like=start), work)
    assert {step.split()[0] for step in steps} >= {"lock", "create", "write", "fsync", "rename"}
    for number, step in enumerate(steps):
        root = rung.root(like=start)
        failure = await rung.without_room(root, work, number)
        assert failure is not None, step
        assert (failure.code, failure.retryable) == ("MCP_INTERNAL", False)
        operation, _, name = step.partition(" ")
        cause = "No space left on device"
        assert failure.details == {"operation": operation, "path": str(root / name), "cause": cause}
        if operation in ("mkdir", "create", "write"):
            assert titles(root) == old, "all that needs room comes before what changes anything"
        assert not [path.name for path in root.rglob("*.tmp")]
        assert await reopened(rung, root) in (old, new)
        assert await rung.change(root, work) == "done"
        assert await reopened(rung, root) == new


@scenario("VC-15", rung="memory")
async def test_a_first_start_that_was_killed_is_made_good_by_the_next(world: World) -> None:
    """A server's first start, which brings in the bundled cookbooks, is killed at many places: the next start has all
    of them, whatever the first one got to; the marker comes last."""
    rung = world.catalog_rung()
    whole = await world.vaultclaw()
    there = on_disk(whole.catalog_dir)
    names = set(snapshot(whole.catalog_dir))
    got_to = []
    for step in range(0, STARTS_MAX, STRIDE):
        root = rung.root()
        ended = rung.killed_start(root, step)
        got_to.append(len(on_disk(root)))
        assert (root / MARKER).exists() <= (got_to[-1] == len(there)), step
        server = await world.vaultclaw(catalog_dir=root, name=f"after-{step}")
        assert on_disk(root) == there
        assert set(snapshot(root)) == names, "nothing is missing, and nothing left over"
        assert await agreed(server.client("acme"), root)
        await server.stop()
        if not ended.killed:
            break
    assert not ended.killed, ended.text
    assert (got_to[0], got_to[-1]) == (0, len(there))
    assert len(set(got_to)) > 2


@scenario("VC-15", rung="memory")
async def test_a_new_content_is_on_the_disk_before_its_name(world: World) -> None:
    """Each file that gets its name was synced after its last write, and the folder it is in is synced after that: a
    power cut keeps what was answered."""
    rung = world.catalog_rung()
    for change in CHANGES:
        start, _, _ = await both_ends(rung, change)
        calls = rung.system_calls(start, CHANGES[change][1])
        named = [number for number, (call, _) in enumerate(calls) if call == "replace"]
        assert named, calls
        for number in named:
            file, folder = calls[number][1]
            own = [call for call, numbers in calls[:number] if file in numbers]
            assert own[-1] == "fsync", f"{change}: a file got its name after {own}"
            assert ("fsync", [folder]) in calls[number:], f"{change}: the folder is not synced after {calls[number]}"


@scenario("VC-15", rung="memory")
async def test_of_two_that_insert_one_id_exactly_one_wins(world: World) -> None:
    """The first is stopped at each of its steps in turn while the second, another process, tries the same id and
    version with other content. Both end with the same catalog: one of them is in it, the other one met a conflict."""
    rung = world.catalog_rung()
    start = await prepared(rung, [OTHER])
    steps = await rung.steps(rung.root(like=start), insert("one"))
    winners = []
    for number, step in enumerate(steps):
        root = rung.root(like=start)
        first, second = await rung.overtaken(root, insert("one"), insert("two"), number)
        if second == "MCP_INTERNAL":
            second = await rung.change(root, insert("two"))
        assert sorted((first, second)) == ["MCP_CATALOG_CONFLICT", "done"], f"overtaken before {step!r}"
        winner = "one" if first == "done" else "two"
        assert await told(rung.catalog(root), root) == {("a", "1"): winner, ("b", "1"): "other"}
        winners.append(winner)
    assert winners[0] == "two", "the lock is not taken yet"
    assert winners[-1] == "one"
    assert winners == sorted(winners, reverse=True), "from the lock on the first one wins"


@scenario("VC-15", rung="memory")
async def test_writers_of_different_cookbooks_lose_none(world: World) -> None:
    """Two processes write different cookbooks, the second at each step of the first: both are there, in the index
    too."""
    rung = world.catalog_rung()
    start = await prepared(rung, [OTHER])
    both = {("a", "1"): "old", ("a", "2"): "two", ("b", "1"): "other"}
    for number, _ in enumerate(await rung.steps(rung.root(like=start), lambda catalog: catalog.upsert(OLD))):
        root = rung.root(like=start)
        first, second = await rung.overtaken(
            root, lambda catalog: catalog.upsert(OLD), lambda catalog: catalog.upsert(TWO), number
        )
        if second == "MCP_INTERNAL":
            second = await rung.change(root, lambda catalog: catalog.upsert(TWO))
        assert (first, second) == ("done", "done")
        assert await told(rung.catalog(root), root) == both, "without a start that would put it right"


def insert(title: str) -> Work:
    """Conflict policy FAIL."""
    return lambda catalog: catalog.upsert(bundle("a", "1", title=title))


def titles(root: Path) -> dict[Place, str]:
    return {place: file["title"] for place, file in on_disk(root).items()}


async def prepared(rung: Any, bundles: list[Any]) -> Path:
    """A folder with these cookbooks."""
    root: Path = rung.root()
    catalog = await rung.opened(root)
    for one in bundles:
        await catalog.upsert(one)
    return root


async def both_ends(rung: Any, change: str) -> tuple[Path, dict[Place, str], dict[Place, str]]:
    """A folder before the change, what is in it, and what is in it after the change."""
    bundles, work = CHANGES[change]
    start = await prepared(rung, bundles)
    whole = rung.root(like=start)
    assert await rung.change(whole, work) == "done"
    return start, titles(start), titles(whole)
