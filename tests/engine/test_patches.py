"""The determinism patches: each does what it is for, and is gone afterwards."""

import asyncio
import os
import random
import secrets
import sys
import uuid
from datetime import UTC, timedelta

import anyio
import pytest
import sse_starlette.sse as sse
from anyio._backends import _asyncio as backend
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.chance import Chance
from lasttick.engine.clock import EPOCH, VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.patches import InsertionSet, deterministic, replaced

SEAMS = [
    (os, "urandom"),
    (random, "_urandom"),
    (backend.CancelScope, "__init__"),
    (backend.TaskGroup, "__init__"),
    (backend.AsyncIOBackend, "run_sync_in_worker_thread"),
    (sse, "datetime"),
    (sse, "_ensure_watcher_started_on_this_loop"),
]


def in_world(body, seed=1):
    async def main(loop):
        with deterministic(Chance(seed), VirtualClock(loop)):
            return await body(loop)

    return run_virtual(main)


def test_every_patch_is_gone_after_the_world():
    before = [vars(owner)[name] for owner, name in SEAMS]

    async def body(loop):
        return [vars(owner)[name] for owner, name in SEAMS]

    inside = in_world(body)
    assert all(was is not now for was, now in zip(before, inside, strict=True))
    assert [vars(owner)[name] for owner, name in SEAMS] == before


def test_every_patch_is_gone_after_a_world_that_failed():
    before = [vars(owner)[name] for owner, name in SEAMS]

    async def body(loop):
        raise RuntimeError("scenario failed")

    with pytest.raises(RuntimeError, match="scenario failed"):
        in_world(body)
    assert [vars(owner)[name] for owner, name in SEAMS] == before


def test_ids_and_secrets_of_sdks_repeat_with_the_seed():
    async def body(loop):
        return uuid.uuid4().hex, secrets.token_urlsafe(32), os.urandom(8)

    assert in_world(body, seed=5) == in_world(body, seed=5)
    assert in_world(body, seed=5) != in_world(body, seed=6)


def test_cancel_order_follows_creation_not_addresses():
    async def body(loop):
        order = []

        async def child(number):
            try:
                await anyio.sleep(100)
            finally:
                order.append(number)

        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(child, number)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
        return order

    assert in_world(body) == list(range(30))


def test_child_scopes_are_cancelled_in_the_order_of_their_creation():
    async def body(loop):
        order = []

        async def child(number):
            with anyio.CancelScope():
                try:
                    await anyio.sleep(100)
                finally:
                    order.append(number)

        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(child, number)
            await anyio.sleep(1)
            group.cancel_scope.cancel()
        return order

    assert in_world(body) == list(range(30))


def test_the_date_in_sse_pings_is_the_worlds():
    async def body(loop):
        await asyncio.sleep(90)
        return sse.datetime.now(UTC)

    assert in_world(body) == EPOCH + timedelta(seconds=90)


def test_tasks_hash_by_number_so_that_sets_of_tasks_iterate_alike():
    async def body(loop):
        tasks = {asyncio.create_task(asyncio.sleep(1)) for _ in range(20)}
        return [task.get_name() for task in tasks]

    assert in_world(body) == in_world(body)


def test_the_sse_watcher_leaves_no_task_behind():
    async def body(loop):
        sse._ensure_watcher_started_on_this_loop()
        await loop.settle()
        return len(asyncio.all_tasks())

    assert in_world(body) == 1


def test_a_version_without_the_patched_name_is_refused_with_the_package(monkeypatch):
    monkeypatch.delattr(sse, "_ensure_watcher_started_on_this_loop")

    async def body(loop):
        return None

    with pytest.raises(RuntimeError, match=r"sse-starlette .*requirements\.lock"):
        in_world(body)
    assert os.urandom is vars(os)["urandom"]


def test_nothing_is_patched_at_import():
    import lasttick.engine.patches

    assert lasttick.engine.patches.__name__ in sys.modules
    assert os.urandom.__module__ == "posix"


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "pop", "clear"]), st.integers(0, 5))))
def test_insertion_set_is_a_set_in_insertion_order(steps):
    got, want, order = InsertionSet(), set(), []
    for what, item in steps:
        if what == "add":
            got.add(item)
            if item not in want:
                order.append(item)
            want.add(item)
        elif what == "discard":
            got.discard(item)
            want.discard(item)
            order = [old for old in order if old != item]
        elif what == "clear":
            got.clear()
            want.clear()
            order = []
        elif order:
            assert got.pop() == order[0]
            want.discard(order.pop(0))
    assert set(got) == want
    assert list(got) == order == list(got.copy())
    assert len(got) == len(want)


def test_replaced_restores_absence():
    class Owner:
        pass

    with replaced(Owner, "name", 1):
        assert Owner.name == 1
    assert not hasattr(Owner, "name")
