"""Which seams does a scenario reach? A scenario that never enters what a mutant replaces cannot be changed by it.

Each mutant's patch is asked for its seams; then every seam is replaced by itself plus a mark, and the reference plays.
A seam that is not a function (a constant, a class) counts as reached by everybody. A forked child tells its marks
through a pipe, since its memory is lost, and it may be killed at any step.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from lasttick.mutants import Mutant, Seam

MARK_BYTES = 2
PIPE_BYTES = 65_536
"""What the pipe holds: more marks than a scenario's children can make, each telling a seam once."""


class _Asked(Seam):
    """Takes down what a patch would replace, and replaces nothing."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, str]] = []

    @contextmanager
    def replace(self, owner: Any, name: str, value: Any) -> Iterator[None]:
        self.found.append((owner, name))
        yield


def seams_of(mutant: Mutant) -> list[tuple[Any, str]]:
    """Owner and attribute of everything that the mutant replaces."""
    asked = _Asked()
    with mutant.patch(asked):
        return asked.found


def key(owner: Any, name: str) -> str:
    """`lasttick.model.lease:held`, the same in every process."""
    where = getattr(owner, "__qualname__", None)
    return f"{owner.__module__}.{where}:{name}" if where else f"{owner.__name__}:{name}"


def _is_function(owner: Any, name: str) -> bool:
    found = vars(owner).get(name)
    return isinstance(found, staticmethod | classmethod) or (callable(found) and not isinstance(found, type))


class Reach:
    """While `watching`, the keys of the seams that are entered are taken down; `take` them after each scenario."""

    def __init__(self, mutants: Iterable[Mutant]) -> None:
        asked = {mutant.id: seams_of(mutant) for mutant in mutants}
        self._seams = {key(*seam): seam for seams in asked.values() for seam in seams}
        self._keys = {mutant_id: [key(*seam) for seam in seams] for mutant_id, seams in asked.items()}
        self._constants = {name for name, seam in self._seams.items() if not _is_function(*seam)}
        self._numbers = {name: number for number, name in enumerate(self._seams)}
        self._names = list(self._seams)
        self._pid = os.getpid()
        self._told, self._tell = -1, -1
        self.reached: dict[str, None] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            self._told, self._tell = os.pipe()
            for end in (self._told, self._tell):
                os.set_blocking(end, False)
                stack.callback(os.close, end)
            for name, (owner, attribute) in self._seams.items():
                stack.enter_context(self._watched(name, owner, attribute))
            yield

    def take(self) -> list[str]:
        """What was reached since the last take, in this process and in its children, which have ended."""
        with suppress(BlockingIOError):
            told = os.read(self._told, PIPE_BYTES)
            for start in range(0, len(told), MARK_BYTES):
                self.reached[self._names[int.from_bytes(told[start : start + MARK_BYTES])]] = None
        reached, self.reached = list(self.reached), {}
        return reached

    def changeable_by(self, reached: Iterable[str]) -> list[str]:
        """Ids of the mutants that can change a scenario which reached these seams, in the order they were given."""
        known = {*reached, *self._constants}
        return [id_ for id_, keys in self._keys.items() if not known.isdisjoint(keys)]

    def _reach(self, name: str) -> None:
        if name in self.reached:
            return
        self.reached[name] = None
        if os.getpid() != self._pid:
            os.write(self._tell, self._numbers[name].to_bytes(MARK_BYTES))

    def _watched(self, name: str, owner: Any, attribute: str) -> Any:
        found = vars(owner).get(attribute)
        if isinstance(found, staticmethod | classmethod):
            return Seam().replace(owner, attribute, type(found)(self._marked(name, found.__func__)))
        if _is_function(owner, attribute):
            return Seam().replace(owner, attribute, self._marked(name, found))
        return nullcontext()

    def _marked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            self._reach(name)
            return function(*args, **kwargs)

        @functools.wraps(function)
        async def marked_async(*args: Any, **kwargs: Any) -> Any:
            self._reach(name)
            return await function(*args, **kwargs)

        # Frameworks run what does not look like a coroutine function in a thread.
        return marked_async if inspect.iscoroutinefunction(function) else marked
