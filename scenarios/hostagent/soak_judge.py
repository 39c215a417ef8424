"""Was every answer of a soak right, and did one holder drive each device? Judged while it runs, and then forgotten.

The plain model of leases is moved by the devices' own log alone: a call that starts is a use that begins, and must be
granted there and then; one that ends is a use that ends. Who called is told by the marks that each session taps with.
Each answer is compared with what the model said when the call was sent. Nothing of a call is kept once it is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lasttick import Answer
from lasttick.model.lease import Granted, Holder, LeaseView
from lasttick.model.lease_oracle import Op

from .fleet import Fleet

CLOUD_Y = 300.0
"""Where the cloud's workflows tap; sessions tap above."""
COLUMNS = 150
"""A phone is at least so many pixels wide. A mark is a column, and a fraction of a pixel down."""
LIFT_NS = 1_000_000_000
"""A device that acted for a killed host is seen to be idle at most this much later."""


@dataclass(slots=True)
class Seat:
    """One session as the judge knows it. `number` is its mark."""

    number: int
    holder: Holder
    life: int
    ended: bool = False
    """Its server knows that it is over."""
    left: bool = False
    """Its client is gone; the server may find out much later."""
    last_ns: int = 0
    began: tuple[str, int] | None = None
    """Where and when a device last began something for it."""

    @property
    def point(self) -> tuple[float, float]:
        """Where it taps, and nobody else."""
        return 1.0 + self.number % COLUMNS, 1.0 + self.number // COLUMNS / 100


def cloud_point(mark: int) -> tuple[float, float]:
    """Where a task of the cloud taps."""
    return 1.0 + mark / 10, CLOUD_Y


@dataclass(frozen=True, slots=True)
class Expected:
    """What the model said when a call was sent."""

    device_id: str
    seat: Seat
    at_ns: int
    lease: LeaseView | None
    left_over: bool
    troubles: int

    @property
    def holder(self) -> Holder:
        return self.seat.holder


class Judge:
    """`problems` is what went wrong, in order; the first few are enough. `counts` is what happened."""

    def __init__(self, ttl_ns: int) -> None:
        self.problems: list[str] = []
        self.counts = dict.fromkeys(
            (
                "calls",
                "served",
                "refused",
                "failed",
                "lost",
                "left over",
                "handed over",
                "at the tick",
                "cloud",
                "cloud refused",
            ),
            0,
        )
        self.life = 0
        self.now_ns = 0
        self.fleet = Fleet(ttl_ns)
        self._ttl_ns = ttl_ns
        self.seats: dict[tuple[float, float], Seat] = {}
        self.left_over: dict[str, None] = {}
        """Devices that still act for a host that was killed."""
        self._lifted_ns: dict[str, int] = {}
        self._troubles: dict[str, int] = {}
        self._running: dict[tuple[str, int], tuple[Holder, int]] = {}
        self._last: dict[str, tuple[Holder, int]] = {}
        """By device: whose call was the last to end, and when."""
        self._tasks: dict[str, Holder | None] = {}
        """By task of the cloud: the assignment that has its device, None for one that was refused."""
        self._marks: dict[tuple[float, float], str] = {}
        self._mark_of: dict[str, tuple[float, float]] = {}

    def wrong(self, what: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(f"t={self.now_ns / 1e9:.3f}: {what}")

    # -- what sessions do

    def expect(self, seat: Seat, device_id: str, now_ns: int) -> Expected:
        """Before a call is sent."""
        self.now_ns = now_ns
        left_over = device_id in self.left_over or now_ns - self._lifted_ns.get(device_id, -LIFT_NS) < LIFT_NS
        lease = self.fleet.lease(device_id, now_ns)
        return Expected(device_id, seat, now_ns, lease, left_over, self._troubles.get(device_id, 0))

    def answered(self, told: Expected, answer: Answer, now_ns: int, *, is_ill: bool) -> None:
        """After it was answered. `is_ill`: the device is not well now."""
        self.now_ns = now_ns
        self.counts["calls"] += 1
        owner = None if told.lease is None else told.lease.holder
        who = f"{told.holder.id[:8]} on {told.device_id}, sent at t={told.at_ns / 1e9:.3f}"
        if answer.reason == "device_busy":
            self.counts["refused"] += 1
            said = answer.error.data.get("busy_owner") if answer.error is not None else None
            # Of two that come at one instant the model learns who was first when the device begins.
            now = self.fleet.lease(told.device_id, now_ns) if now_ns == told.at_ns else None
            owners = [holder for holder in (owner, now and now.holder) if holder is not None and holder != told.holder]
            if said not in map(_shown, owners):
                shown = "nobody" if owner is None else _shown(owner)
                self.wrong(f"{who} was refused for {said}; the model says that {shown} holds it")
        elif answer.reason == "driver_stuck":
            self.counts["left over"] += 1
            if not told.left_over:
                self.wrong(f"{who}: {answer.error}, but nothing of an earlier host ran there")
        elif owner is not None and owner != told.holder and told.seat.began != (told.device_id, told.at_ns):
            self.wrong(f"{who} got {answer.error or 'a result'}; the model says that {_shown(owner)} holds it")
        elif answer.reason == "driver_error":
            self.counts["failed"] += 1
            if not is_ill and told.troubles == self._troubles.get(told.device_id, 0):
                self.wrong(f"{who}: {answer.error}, but the device was well")
        elif answer.ok:
            self.counts["served"] += 1
        else:
            self.wrong(f"{who}: {answer.error} (HTTP {answer.http_status})")

    def lost(self, seat: Seat, now_ns: int, idle_ns: int | None) -> None:
        """A call came back without an answer. `idle_ns`: after how long the server ends a session by itself."""
        self.now_ns = now_ns
        self.counts["lost"] += 1
        idle = idle_ns is not None and now_ns - seat.last_ns >= idle_ns
        if not seat.ended and not seat.left and not idle:
            self.wrong(f"session {seat.holder.id[:8]} was lost, last used at t={seat.last_ns / 1e9:.3f}")

    def session_ended(self, seat: Seat, now_ns: int) -> None:
        seat.ended = True
        self.fleet.apply(Op("end_holder", seat.holder), now_ns)

    def host_gone(self) -> None:
        """Stopped or killed: its leases went with it, its sessions too, and the devices go on with what they do."""
        self.life += 1
        self.left_over = {device_id: None for device_id, _ in self._running}
        self.fleet = Fleet(self._ttl_ns)
        for seat in self.seats.values():
            seat.ended = True
        for task_id in self._tasks:
            self._tasks[task_id] = None

    def ill(self, device_id: str) -> None:
        self._troubles[device_id] = self._troubles.get(device_id, 0) + 1

    # -- what devices write

    def device_wrote(self, entry: Any) -> None:
        self.now_ns = entry.t_ns
        key = (entry.device_id, entry.call)
        if entry.kind == "start":
            self._started(entry, key)
            return
        holder, life = self._running.pop(key, (None, -1))
        if holder is None:
            return
        self._last[entry.device_id] = holder, entry.t_ns
        if life != self.life:
            self.left_over.pop(entry.device_id, None)
            self._lifted_ns[entry.device_id] = entry.t_ns
            return
        self.fleet.apply(Op("end_use", holder, entry.device_id), entry.t_ns)
        if holder.kind == "cloud":
            self._give_back(holder, entry.device_id)

    def _started(self, entry: Any, key: tuple[str, int]) -> None:
        point = entry.arguments["x"], entry.arguments["y"]
        seat = self.seats.get(point)
        holder = self._tasks.get(self._marks.get(point, "")) if seat is None else seat.holder
        self._running[key] = holder or Holder("mcp", "nobody"), self.life
        if holder is None:
            self.wrong(f"{entry.device_id} was driven by nobody who may: {dict(entry.arguments)}")
        elif seat is not None and (seat.ended or seat.life != self.life):
            self.wrong(f"{entry.device_id} was driven by {holder.id[:8]}, whose session has ended")
        elif entry.device_id in self.left_over:
            self.wrong(f"{entry.device_id} was driven while it still acted for a host that is gone")
        else:
            decision = self.fleet.apply(Op("begin_use", holder, entry.device_id), entry.t_ns)
            if not isinstance(decision, Granted):
                self.wrong(f"{entry.device_id} was driven by {_shown(holder)}: {decision}")
            elif seat is not None:
                seat.began = entry.device_id, entry.t_ns
            self._hand_over(holder, entry)

    def _hand_over(self, holder: Holder, entry: Any) -> None:
        before, ended_ns = self._last.get(entry.device_id, (holder, 0))
        if before != holder and entry.t_ns - ended_ns <= 10 * self._ttl_ns:
            self.counts["handed over"] += 1
            self.counts["at the tick"] += entry.t_ns - ended_ns == self._ttl_ns

    # -- what the cloud tells

    def task_submitted(self, mark: int, task_id: str) -> None:
        point = cloud_point(mark)
        self._marks[point], self._mark_of[task_id] = task_id, point

    def cloud_told(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "cloud.assign":
            holder = Holder("cloud", data["assignment_id"])
            lease = self.fleet.lease(data["device_id"], self.now_ns)
            self._tasks[data["task_id"]] = holder if lease is None else None
            if lease is None:
                self.fleet.apply(Op("begin_use", holder, data["device_id"]), self.now_ns)
        elif kind == "cloud.result":
            self.counts["cloud"] += 1
            holder_or_none = self._tasks.pop(data["task_id"], None)
            self._marks.pop(self._mark_of.pop(data["task_id"], (0.0, 0.0)), None)
            refused = str(data["failure_reason"]).startswith("device held by")
            self.counts["cloud refused"] += refused
            if data["by"] == "host" and refused == (holder_or_none is not None):
                self.wrong(f"assignment of {data['device_id']}: {data}, the model says {holder_or_none}")
            if holder_or_none is not None:
                self._give_back(holder_or_none, data["device_id"])
        elif kind == "cloud.heartbeat" and data["taken"]:
            views = self.fleet.snapshot(self.now_ns)
            busy = [view.device_id for view in views if view.holder.kind == "mcp"]
            if data["mcp_busy_device_ids"] != busy:
                self.wrong(f"a heartbeat says {data['mcp_busy_device_ids']} are busy, the model {busy}")

    def _give_back(self, holder: Holder, device_id: str) -> None:
        """The assignment is over, at its last driver call or its result: the hold ends, whichever comes first."""
        self.fleet.apply(Op("end_use", holder, device_id), self.now_ns)
        self.fleet.apply(Op("end_holder", holder), self.now_ns)

    # -- keeping it small

    def forget(self, now_ns: int) -> None:
        """Drop what nobody can ask about any more. For an instant at which no call is on its way."""
        self.fleet.forget(now_ns)
        self.seats = {point: seat for point, seat in self.seats.items() if not (seat.ended or seat.left)}
        self._last = {device: last for device, last in self._last.items() if now_ns - last[1] <= 10 * self._ttl_ns}
        self._lifted_ns.clear()
        self._troubles.clear()


def _shown(holder: Holder) -> str:
    """A holder as a refusal names it."""
    return "cloud_assignment" if holder.kind == "cloud" else f"mcp_session:{holder.id[:8]}"
