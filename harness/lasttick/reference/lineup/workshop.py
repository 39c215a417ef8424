"""What all parts of the adapter share: ledger, clock, chance, tasks, and the one way to change anything.

A change is written and committed; only then do its effects run and its frames leave. What cannot be written ends the
adapter at that instant, because an answer that nobody recorded must not be given. Source: contract lineup C-8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

from lasttick.model.lineup.frames import MESSAGE
from lasttick.ports import Clock, Entropy
from lasttick.reference.lineup.ledger import TOLD, Ledger, Step

T = TypeVar("T")
Later: TypeAlias = list[Callable[[], None]]
"""Effects of a change, in order. They run after its commit, or never."""


class Workshop:
    """One adapter's own. `on_commit` is called after each change and its effects; `permission_life` None: as usual."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        entropy: Entropy,
        step: Step | None,
        permission_life: timedelta | None = None,
    ) -> None:
        self.permission_life = permission_life
        self.ledger = ledger
        self.clock = clock
        self._entropy = entropy
        self._step = step
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self.ended = asyncio.Event()
        self.on_commit: Callable[[], None] = lambda: None
        ledger.on_step(self.step)

    @contextmanager
    def writing(self, name: str) -> Iterator[Later]:
        """One transition. Raises whatever prevented its commit; the adapter is over then."""
        later: Later = []
        try:
            with self.ledger.writing(name):
                yield later
        except BaseException:
            self.abandon()
            raise
        for effect in later:
            effect()
        self.on_commit()

    def begin_epoch(self) -> None:
        """A new agent process begins to count its ids."""
        try:
            self.ledger.begin_epoch()
        except BaseException:
            self.abandon()
            raise

    def step(self, name: str) -> None:
        """An instant at which the adapter could be killed."""
        if self._step is None:
            return
        try:
            self._step(name)
        except BaseException:
            self.abandon()
            raise

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that ends with the adapter."""
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        return task

    def abandon(self) -> None:
        """As a killed process: nothing is written, sent or waited for any more. Idempotent."""
        if self.ended.is_set():
            return
        self.ended.set()
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()
        self.ledger.close()

    def token(self, prefix: str) -> str:
        """A new id: `prefix` and 32 hex digits."""
        return prefix + self._entropy.token_bytes(16).hex()

    # -- what several transitions write

    def say(self, conversation_id: str, role: str, text: str) -> None:
        """A text for the person, inside a transition."""
        payload = {"message_id": self.token("msg_"), "role": role, "text": text}
        self.ledger.message(conversation_id, "out", "host", MESSAGE, payload)

    def tell(self, conversation_id: str, text: str, **about: Any) -> None:
        """A system message with a note, so that no later start says it again. `about`: `turn` or `call_id`."""
        self.say(conversation_id, "system", text)
        self.ledger.message(conversation_id, "in", "adapter", TOLD, {**about, "text": text})
