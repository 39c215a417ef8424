"""Did at most one holder drive each device at every instant, and did each caller take its own turn?

Judged only from what the devices wrote themselves (`driver.start`, `driver.end`). B's driver call may start only if
every other holder A's last driver call ended at least TTL ago, or A's session was over and its last call had ended. A
cloud assignment has no TTL: it holds from its first driver call to the end of its last.

Where hosts share a lease store, a host that stands still or is cut off from it can not keep its leases: they go a TTL
after it last kept them, which a host does `KEEPS_PER_TTL` times in each TTL. And a store that lost its memory knows of
no holder. Neither lets anybody in under a call that still runs, nor an old call in after a new holder's.
Source: contract world, "Devices are a part of their own, and the judge"; HA-05; ruling 12 for HA-13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lasttick.checks.history import DriverCall, History, Holder, Moment, Run, histories
from lasttick.checks.verdict import WORST_FIRST, Verdict, VerdictWord
from lasttick.engine.trace import Event

ONE_HOLDER = "expected one holder at every instant (HA-05)"
KEEPS_PER_TTL = 3
OWN_TURN = "expected the second call to wait its turn (HA-13, ruling 12)"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, or something that can not be told, in one example."""

    verdict: VerdictWord
    reason: str
    t_s: float | None = None


def exclusive(events: Iterable[Event]) -> Verdict:
    """HA-05 over a whole trace. Not applicable when no device was driven; inconclusive where a holder is not known."""
    return _judge("HA-05", events, _exclusive)


def own_turn(events: Iterable[Event]) -> Verdict:
    """HA-13: no two calls of one caller ever overlap on one device."""
    return _judge("HA-13", events, _own_turn)


STANDING: tuple[Callable[[Iterable[Event]], Verdict], ...] = (exclusive, own_turn)
"""The checks that judge every trace of the host agent, when it is made and when it is judged again."""


def _judge(id_: str, events: Iterable[Event], rule: Callable[[History], Iterator[Finding]]) -> Verdict:
    """The first of the worst findings, with the number of others; pass when there is none."""
    told = list(histories(events))
    if not any(history.calls for history in told):
        return Verdict(id_, "not_applicable", "no device was driven")
    found: list[Finding] = []
    for history in told:
        prefix = f"example {history.number}: " if len(told) > 1 else ""
        flaws = [Finding("inconclusive", f"the trace is damaged: {flaw}") for flaw in history.flaws]
        found += [Finding(item.verdict, prefix + item.reason, item.t_s) for item in (*flaws, *rule(history))]
    if not found:
        return Verdict(id_, "pass", "")
    first = min(found, key=lambda item: WORST_FIRST.index(item.verdict))
    others = sum(item.verdict == first.verdict for item in found) - 1
    more = f" ({others} more like it)" if others else ""
    return Verdict(id_, first.verdict, first.reason + more, first.t_s)


def _exclusive(history: History) -> Iterator[Finding]:
    for calls in history.by_device().values():
        yield from _exclusive_on(calls, history.losses)


def _exclusive_on(calls: list[DriverCall], losses: list[Moment]) -> Iterator[Finding]:
    """All driver calls of one device, in the order of their starts."""
    last_start = {call.holder: call.start for call in calls}
    # What may still stand against a new call: of each holder's calls so far, the one that ends last.
    standing: dict[Holder, DriverCall] = {}
    for call in calls:
        if call.caller is None:
            yield Finding(
                "inconclusive",
                f"{call.device}: {call.tool} at t={call.start.t_s:.3f} carries a mark that belongs to no caller, "
                "so its holder can not be told",
                call.start.t_s,
            )
            continue
        for holder in [holder for holder in standing if holder != call.holder]:
            finding = _conflict(standing[holder], call, last_start[holder], losses)
            if finding:
                yield finding
            else:
                del standing[holder]
        standing[call.holder] = _later(standing.get(call.holder, call), call)


def _later(a: DriverCall, b: DriverCall) -> DriverCall:
    if a.end is None or b.end is None:
        return a if a.end is None else b
    return a if b.end < a.end else b


def _conflict(held: DriverCall, new: DriverCall, last_start: Moment, losses: list[Moment]) -> Finding | None:
    """What speaks against `new` starting, given that another holder made the call `held` before; None: nothing.

    `last_start` is when the last driver call of the older holder starts, which is later than `new` when it goes on;
    `losses`: when the lease store forgot its leases.
    """
    now = new.start
    if held.end is None or now < held.end:
        return _overlap(held, new)
    if held.is_cloud:
        return _inside_assignment(held, new) if now < last_start else None
    if held.session is not None and held.session.end is not None and held.session.end < now:
        return None
    over = [run.end is not None and run.end < now for run in held.runs]
    if over and all(over):
        return None
    if not over:
        return _unknown(held, new, "no part.start of a host tells the TTL")
    if any(held.sent < loss < now for loss in losses):
        return None
    left_ns = [_free_ns(held.end, held.sent, run) - now.t_ns for run in held.runs]
    if max(left_ns) <= 0:
        return None
    if min(left_ns) <= 0 or any(over):
        return _unknown(held, new, "several hosts ran and the session does not name its own")
    return Finding(
        "fail",
        f"{new.device} went to {new.caller} at t={now.t_s:.3f}, {min(left_ns) / 1e9:.3f} s before the lease of "
        f"{held.caller} ended (its last call ended at t={held.end.t_s:.3f}); {ONE_HOLDER}",
        now.t_s,
    )


def _free_ns(end: Moment, sent: Moment, run: Run) -> int:
    """When a lease may be free whose last driver call was asked for at `sent` and ended at `end`.

    A TTL after that; or, when the host stood still from a moment in or before that call on, a TTL after it last kept
    the lease, if it stood still as long as that. A call that was asked for after a pause owes nothing to it.
    """
    free_ns = end.t_ns + run.ttl_ns
    for pause in run.pauses:
        lost_ns = pause.start.t_ns + run.ttl_ns - run.ttl_ns // KEEPS_PER_TTL
        is_of_the_call = pause.start.t_ns <= end.t_ns + run.ttl_ns // 20 and (pause.end is None or sent < pause.end)
        if is_of_the_call and (pause.end is None or lost_ns <= pause.end.t_ns):
            free_ns = min(free_ns, lost_ns)
    return free_ns


def _overlap(held: DriverCall, new: DriverCall) -> Finding:
    ends = [call.end.t_ns for call in (held, new) if call.end]
    long = f"{(min(ends) - new.start.t_ns) / 1e9:.3f} s" if ends else "the rest of the trace"
    return Finding(
        "fail",
        f"two holders of {new.device} for {long}, from t={new.start.t_s:.3f}: {new.tool} of {new.caller} began "
        f"during {held.tool} of {held.caller}; {ONE_HOLDER}",
        new.start.t_s,
    )


def _inside_assignment(held: DriverCall, new: DriverCall) -> Finding:
    return Finding(
        "fail",
        f"two holders of {new.device} at t={new.start.t_s:.3f}: {new.tool} of {new.caller} began between two calls of "
        f"{held.caller}; {ONE_HOLDER}",
        new.start.t_s,
    )


def _unknown(held: DriverCall, new: DriverCall, why: str) -> Finding:
    return Finding(
        "inconclusive",
        f"{new.device} went from {held.caller} to {new.caller} at t={new.start.t_s:.3f}, but {why}",
        new.start.t_s,
    )


def _own_turn(history: History) -> Iterator[Finding]:
    for device, calls in history.by_device().items():
        running: list[DriverCall] = []
        for call in calls:
            running = [other for other in running if other.end is None or call.start < other.end]
            for other in running:
                if call.caller is not None and other.caller == call.caller:
                    yield Finding(
                        "fail",
                        f"{call.tool} of {call.caller} on {device} began at t={call.start.t_s:.3f} during its own "
                        f"{other.tool}; {OWN_TURN}",
                        call.start.t_s,
                    )
            running.append(call)
