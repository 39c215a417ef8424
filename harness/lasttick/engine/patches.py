"""The five patches without which the same seed does not give the same trace; entered and left per world.

Third-party modules are looked up by name, and only when they are loaded already: the engine depends on none of them.
Nothing is patched at import: a patch left behind by another test module once made runs under xdist differ.
Source: contract engine, "Patches for an identical trace".
"""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, tzinfo
from types import SimpleNamespace
from typing import Any

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock

_MISSING = object()


class InsertionSet(set[Any]):
    """A set that iterates, copies and pops in insertion order: cancel order must not follow memory addresses."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__()
        self._order: dict[Any, None] = {}
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        super().add(item)
        self._order[item] = None

    def discard(self, item: Any) -> None:
        super().discard(item)
        self._order.pop(item, None)

    def remove(self, item: Any) -> None:
        super().remove(item)
        self._order.pop(item, None)

    def pop(self) -> Any:
        if not self._order:
            raise KeyError("pop from an empty set")
        item = next(iter(self._order))
        self.remove(item)
        return item

    def clear(self) -> None:
        super().clear()
        self._order.clear()

    def copy(self) -> InsertionSet:
        return InsertionSet(self._order)

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for item in other:
                self.add(item)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)


@contextmanager
def deterministic(chance: Chance, clock: VirtualClock) -> Iterator[None]:
    """All five patches for the time of one world. Re-entrant; tested to leave every attribute as it was."""
    with ExitStack() as stack:
        for target, name, value in _patches(chance, clock):
            stack.enter_context(replaced(target, name, value))
        yield


@contextmanager
def replaced(target: Any, name: str, value: Any) -> Iterator[None]:
    """Put `value` at `target.name`, and afterwards exactly what was there, the absence included."""
    before = vars(target).get(name, _MISSING)
    setattr(target, name, value)
    try:
        yield
    finally:
        if before is _MISSING:
            delattr(target, name)
        else:
            setattr(target, name, before)


def _patches(chance: Chance, clock: VirtualClock) -> Iterator[tuple[Any, str, Any]]:
    # 1. uuid4 reads os.urandom, secrets reads random._urandom.
    yield os, "urandom", chance.token_bytes
    yield random, "_urandom", chance.token_bytes
    # 2. anyio keeps tasks and child scopes in sets and cancels by iterating them.
    if "anyio" in sys.modules:
        backend = importlib.import_module("anyio._backends._asyncio")
        for kind, attributes in (("CancelScope", ("_tasks", "_child_scopes")), ("TaskGroup", ("_tasks",))):
            owner = getattr(backend, kind)
            yield owner, "__init__", _with_insertion_sets(owner.__init__, kind, attributes)
        # 3. Worker threads run inline.
        yield backend.AsyncIOBackend, "run_sync_in_worker_thread", classmethod(_run_inline)
    # 4. and 5. sse-starlette: the date in ping comments, and a watcher that never ends.
    if "sse_starlette.sse" in sys.modules:
        sse = importlib.import_module("sse_starlette.sse")
        yield sse, "datetime", SimpleNamespace(now=_wall_now(clock))
        _require(sse, "_ensure_watcher_started_on_this_loop", "sse-starlette")
        yield sse, "_ensure_watcher_started_on_this_loop", lambda: None


def _with_insertion_sets(init: Callable[..., None], kind: str, attributes: tuple[str, ...]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        for name in attributes:
            _require(self, name, "anyio", kind)
            setattr(self, name, InsertionSet())

    return __init__


async def _run_inline(_backend: Any, func: Callable[..., Any], args: tuple[Any, ...], *_: Any, **__: Any) -> Any:
    return func(*args)


def _wall_now(clock: VirtualClock) -> Callable[..., datetime]:
    def now(tz: tzinfo | None = None) -> datetime:
        return clock.wall().astimezone(tz)

    return now


def _require(owner: Any, name: str, package: str, where: str = "") -> None:
    """A new version of a patched package must not silently lose determinism."""
    if not hasattr(owner, name):
        raise RuntimeError(
            f"{package} has no {where or getattr(owner, '__name__', owner)}.{name}, which lasttick patches so that "
            f"equal seeds give equal traces (contract engine); install the {package} of requirements.lock"
        )
