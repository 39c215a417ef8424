"""What does a shared lease store remember, and what does it forget when it fails over?

The records of `model.shared_lease`, the holders that have ended, and the largest fencing token given. Each step asks
the rule and stores what it says; the states before the latest steps are kept, since a store that fails over to a copy
goes on from one of them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from lasttick.model import shared_lease as rules
from lasttick.model.lease import Decision, Granted, Holder
from lasttick.model.shared_lease import Record, SharedLease, Take

STATES_MAX = 64


@dataclass(frozen=True, slots=True)
class State:
    """Everything in the store, as it was at one moment."""

    records: dict[str, SharedLease]
    ended: dict[Holder, None]
    last_fence: int


EMPTY = State({}, {}, 0)


class LeaseTable:
    """The steps of `ports.LeaseServer`, without wire and waiting. Times in microseconds."""

    def __init__(self) -> None:
        self._now = EMPTY
        self._before: deque[State] = deque(maxlen=STATES_MAX)

    def forget(self, steps: int | None = None) -> None:
        """The latest `steps` that changed anything never happened; all of them when None."""
        if steps is None:
            self._now = EMPTY
            self._before.clear()
            return
        if not 0 <= steps <= len(self._before):
            raise ValueError(
                f"cannot forget {steps} steps; expected 0 to {len(self._before)}, as many as changed anything lately; "
                "forget fewer, or all with None"
            )
        for _ in range(steps):
            self._now = self._before.pop()

    def take(self, ask: Take, now_us: int, ttl_us: int) -> Decision:
        record = self._now.records.get(ask.device_id)
        has_ended, last_fence = ask.holder in self._now.ended, self._now.last_fence
        after, decision = rules.take(record, has_ended, last_fence, ask, now_us, ttl_us)
        fence = decision.fence if isinstance(decision, Granted) else 0
        self._put(ask.device_id, after, last_fence=max(last_fence, fence))
        return decision

    def end_use(self, device_id: str, holder: Holder, pin: str, now_us: int, ttl_us: int) -> bool:
        after, was_held = rules.end_use(self._now.records.get(device_id), holder, pin, now_us, ttl_us)
        self._put(device_id, after)
        return was_held

    def keep(self, device_id: str, holder: Holder, host: str, now_us: int, ttl_us: int) -> bool:
        after, was_held = rules.keep(self._now.records.get(device_id), holder, host, now_us, ttl_us)
        self._put(device_id, after)
        return was_held

    def release(self, device_id: str, holder: Holder, now_us: int, ttl_us: int) -> bool:
        after, was_held = rules.give_back(self._now.records.get(device_id), holder, now_us, ttl_us)
        self._put(device_id, after)
        return was_held

    def end_holder(self, holder: Holder, now_us: int, ttl_us: int) -> list[str]:
        if holder in self._now.ended:
            return []
        records, held = dict(self._now.records), []
        for device_id, record in sorted(self._now.records.items()):
            after, was_held = rules.give_back(record, holder, now_us, ttl_us)
            _store(records, device_id, after)
            if was_held:
                held.append(device_id)
        self._change(State(records, {**self._now.ended, holder: None}, self._now.last_fence))
        return held

    def fence_above(self, seen: int) -> None:
        self._change(State(self._now.records, self._now.ended, max(self._now.last_fence, seen)))

    def records(self, now_us: int, ttl_us: int) -> list[SharedLease]:
        """What is held now, sorted by device id."""
        return [record for _, record in sorted(self._now.records.items()) if rules.held(record, now_us, ttl_us)]

    def _put(self, device_id: str, record: Record, *, last_fence: int | None = None) -> None:
        records = dict(self._now.records)
        _store(records, device_id, record)
        fence = self._now.last_fence if last_fence is None else last_fence
        self._change(State(records, self._now.ended, fence))

    def _change(self, state: State) -> None:
        if state != self._now:
            self._before.append(self._now)
            self._now = state


def _store(records: dict[str, SharedLease], device_id: str, record: Record) -> None:
    if record is None:
        records.pop(device_id, None)
    else:
        records[device_id] = record
