"""What does a whole cloud control plane do? It knows hosts by their heartbeats, and hands queued tasks to their polls.

Fidelity. Models: registration, heartbeats with a sequence number, long polls, delivery at most once as far as the cloud
can see it, idempotent results, attempts, the loss of a host, a restart that forgets every view, trouble on heartbeats.
Does not model: users and authentication (a host is believed), storage (tasks live as long as the `Cloud` object, so
that they survive a restart is by decree), several cloud nodes, priorities, cancelling a task, and an answer that was
sent but never arrived (such an assignment stays `running` until its host is lost or starts anew).
Shown by tests/fakes/cloud. Contract: hostagent "Parts" (cloud), D8, HA-08, HA-09; world "Cloud wire".

A synchronous state machine: what a host does here takes one step of the event loop. It never calls a host. The wire is
in `wire.py`, tasks and attempts in `ledger.py`, the rule of who may get what in `scheduler.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import lasttick_fakes.cloud.scheduler as scheduler
from lasttick.ports import Clock
from lasttick_fakes.cloud.ledger import Ledger
from lasttick_fakes.cloud.polls import Poll
from lasttick_fakes.cloud.problem import unknown_host
from lasttick_fakes.cloud.records import Assignment, Happened, Heartbeat, HostView, Received, Task, view
from lasttick_fakes.cloud.trouble import HeartbeatTrouble, TroubleList

ResultStatus = Literal["succeeded", "failed"]
LOST_AFTER_PERIODS = 3


class Cloud:
    """The control plane. Serve `asgi(cloud)`; drive it with `submit`, `task_done`, `trouble`, `restart`, `stop`.

    `heartbeat_s`: the period hosts promise; a host is lost after three of them without a good heartbeat.
    `on_event(kind, data)`: called for cloud.heartbeat, cloud.assign, cloud.result and trouble, for a world's trace.
    `keep`: how many request bodies and how many events are kept; older ones are forgotten.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        heartbeat_s: float = 30.0,
        on_event: Callable[[str, dict[str, Any]], None] | None = None,
        keep: int = 20_000,
    ) -> None:
        self.clock = clock
        self.on_event = on_event
        self.up = True
        # When this cloud began, unless that is the start of the clock itself: the same in every run of one seed.
        self._life = f"{began_ns}-" if (began_ns := clock.now_ns()) else ""
        self.lost_after_ns = round(heartbeat_s * 1e9) * LOST_AFTER_PERIODS
        self.received: deque[Received] = deque(maxlen=keep)
        self.log: deque[Happened] = deque(maxlen=keep)
        self._counts: dict[str, int] = {}
        self._ledger = Ledger(clock.now_ns, self._next_id, self._happened)
        self._views: dict[str, HostView] = {}
        self._forgotten_ns: dict[str, int] = {}
        """host id -> since when a restarted cloud waits for it to register again."""
        self._polls: list[Poll] = []
        self._troubles = TroubleList()
        self._background: list[asyncio.Task[None]] = []
        self._watching = False

    # -- what a scenario does

    def submit(
        self,
        *,
        goal: str | None = None,
        workflow: Sequence[Mapping[str, Any]] | None = None,
        device_id: str | None = None,
        attempts: int = 1,
    ) -> Task:
        """Queue a task: a goal or a workflow `[{tool, arguments}]`, for one device or any. ValueError: both or none."""
        task = self._ledger.submit(goal, workflow, device_id, attempts)
        self.dispatch()
        return task

    def task(self, task_id: str) -> Task:
        """The task with its history and assignments. Raises Problem (404)."""
        return self._ledger.task(task_id)

    def tasks(self) -> list[Task]:
        """Every task ever submitted, oldest first."""
        return self._ledger.tasks()

    async def task_done(self, task_id: str) -> Task:
        """Wait until the task succeeded or failed for good. No time-out of its own."""
        return await self._ledger.done(task_id)

    def trouble(self, trouble: HeartbeatTrouble) -> None:
        """From the next heartbeat on, let this happen to some."""
        self._troubles.add(trouble)
        self._happened("trouble", asdict(trouble))

    def heal(self) -> None:
        """No more trouble with heartbeats."""
        self._troubles.clear()
        self._happened("trouble", {"kind": "heal"})

    def stop(self) -> None:
        """Go down: forget every view (none is persisted), close every poll, answer 503 until `start`."""
        self.up = False
        self._forgotten_ns.update(dict.fromkeys(self._views, 0))
        self._views.clear()
        self._close_polls()
        for assignment in list(self._ledger.taken.values()):
            self._ledger.take_back(assignment)
        self._happened("trouble", {"kind": "stop"})

    def start(self) -> None:
        self.up = True
        self._forgotten_ns = dict.fromkeys(self._forgotten_ns, self.clock.now_ns())
        self._happened("trouble", {"kind": "start"})

    def restart(self) -> None:
        """Stop and start at once: hosts get 404 and register again; tasks and running assignments are still known."""
        self.stop()
        self.start()

    async def close(self) -> None:
        """End every open poll and what runs in the background: late heartbeats, the watch for lost hosts."""
        self._close_polls()
        background = list(self._background)
        for job in background:
            job.cancel()
        await asyncio.gather(*background, return_exceptions=True)

    # -- what a test reads

    def host_ids(self) -> list[str]:
        return sorted(self._views)

    def host(self, host_id: str) -> HostView:
        """The view the scheduler has now. Raises Problem (404)."""
        if host_id not in self._views:
            raise unknown_host(host_id)
        return self._views[host_id]

    def is_lost(self, host_id: str) -> bool:
        return scheduler.lost(self.host(host_id), self.clock.now_ns(), self.lost_after_ns)

    def heartbeat_bodies(self, host_id: str | None = None) -> list[bytes]:
        """Each heartbeat as the bytes of its request, in order of arrival, the troubled ones too."""
        wanted = "/heartbeat" if host_id is None else f"/{host_id}/heartbeat"
        return [received.body for received in self.received if received.path.endswith(wanted)]

    # -- what hosts do, called by the wire

    def keep_request(self, path: str, body: bytes) -> None:
        self.received.append(Received(self.clock.now_ns(), path, body))

    def register(self, host_id: str | None, devices: Sequence[Mapping[str, Any]]) -> str:
        """Know a host (again). A host that sent heartbeats and now registers began anew: what it ran is over."""
        if host_id is None:
            host_id = self._next_id("host")
            while host_id in self._views:
                host_id = self._next_id("host")
        before = self._views.get(host_id)
        self._forgotten_ns.pop(host_id, None)
        now_ns, registration = self.clock.now_ns(), self._count("registration")
        self._views[host_id] = view(host_id, devices, None, seq=None, seen_ns=now_ns, registration=registration)
        if before is not None and before.seq is not None:
            self._spend_all_of(host_id, "host started anew")
        self.dispatch()
        return host_id

    def heartbeat(self, host_id: str, heartbeat: Heartbeat, trouble: str | None = None) -> bool:
        """Take it for the newest view, unless it is older than that or a repetition; True when taken. Problem (404)."""
        before = self.host(host_id)
        taken = before.seq is None or heartbeat.seq > before.seq
        if taken:
            self._views[host_id] = view(
                host_id,
                heartbeat.devices,
                heartbeat.mcp_busy_device_ids,
                seq=heartbeat.seq,
                seen_ns=self.clock.now_ns(),
                registration=before.registration,
            )
        self.tell_heartbeat(host_id, heartbeat, taken, trouble)
        if taken:
            self.dispatch()
        return taken

    def meet_trouble(self, host_id: str) -> HeartbeatTrouble | None:
        """Count a heartbeat that arrives, and say what is to happen to it."""
        return self._troubles.meet(host_id)

    def heartbeat_later(self, host_id: str, heartbeat: Heartbeat, delay_s: float, trouble: str) -> None:
        """Take it `delay_s` from now, if the host is then still known under the registration it has now."""
        registration = self.host(host_id).registration

        async def take() -> None:
            await self.clock.sleep(delay_s)
            known = self._views.get(host_id)
            if known is not None and known.registration == registration:
                self.heartbeat(host_id, heartbeat, trouble)

        self._spawn(take())

    def tell_heartbeat(self, host_id: str, heartbeat: Heartbeat, taken: bool, trouble: str | None) -> None:
        busy = heartbeat.mcp_busy_device_ids
        data: dict[str, Any] = {"host_id": host_id, "seq": heartbeat.seq, "taken": taken, "trouble": trouble}
        data["mcp_busy_device_ids"] = None if busy is None else list(busy)
        self._happened("cloud.heartbeat", data)

    def poll(self, host_id: str) -> Poll:
        """Open a long poll; it may be answered at once. Raises Problem (404)."""
        self.host(host_id)
        poll = Poll(host_id)
        self._polls.append(poll)
        self.dispatch()
        return poll

    def leave(self, poll: Poll) -> None:
        """The poll is over. What it was offered and did not send goes back, at no cost."""
        if poll in self._polls:
            self._polls.remove(poll)
        offered = poll.offered()
        if offered is not None:
            self._ledger.take_back(offered)
            self.dispatch()

    def delivered(self, assignment: Assignment) -> None:
        """The answer that carries it was sent."""
        if self._ledger.delivered(assignment) and not self._watching:
            self._watching = True
            self._spawn(self._watch_for_lost_hosts())

    def result(self, assignment_id: str, status: ResultStatus, failure_reason: str | None) -> Assignment:
        """The host's word on an assignment; the first counts, and only while it runs. Raises Problem (404)."""
        assignment = self._ledger.assignment(assignment_id)
        self.delivered(assignment)  # a result proves delivery, also when it overtakes the end of our own sending
        if assignment.over:
            return assignment
        self._not_busy_with(assignment)
        if status == "succeeded":
            self._ledger.succeed(assignment)
        else:
            self._ledger.spend(assignment, failure_reason, by="host")
        self.dispatch()
        return assignment

    # -- who gets what

    def dispatch(self) -> None:
        """Offer queued tasks, oldest first, to open polls, oldest first, until nothing fits any more."""
        for task in list(self._ledger.queue):
            waiting: dict[str, Poll] = {}
            for poll in self._polls:
                if poll.waiting and poll.host_id in self._views:
                    waiting.setdefault(poll.host_id, poll)
            if not waiting:
                return
            chosen = scheduler.choose(task, [self._views[host_id] for host_id in waiting], self._may(task))
            if chosen is not None:
                poll = waiting[chosen[0]]
                self._polls.remove(poll)
                poll.resolve(self._ledger.offer(task, *chosen))

    def _may(self, task: Task) -> Callable[[HostView, str], bool]:
        now_ns, taken = self.clock.now_ns(), self._ledger.taken

        def may(known: HostView, candidate: str) -> bool:
            return scheduler.matches(
                task.device_id,
                known,
                candidate,
                running=(known.host_id, candidate) in taken,
                now_ns=now_ns,
                lost_after_ns=self.lost_after_ns,
            )

        return may

    def _not_busy_with(self, assignment: Assignment) -> None:
        """A heartbeat sent during the assignment said `busy`; its result ends that, before the next heartbeat."""
        known = self._views.get(assignment.host_id)
        device = None if known is None else known.devices.get(assignment.device_id)
        if known is not None and device is not None and device["status"] == "busy":
            devices = {**known.devices, assignment.device_id: {**device, "status": "idle"}}
            self._views[assignment.host_id] = replace(known, devices=devices)

    def _spend_all_of(self, host_id: str, reason: str) -> None:
        for assignment in self._ledger.running_on(host_id):
            self._ledger.spend(assignment, reason, by="cloud")

    async def _watch_for_lost_hosts(self) -> None:
        """Runs while assignments run, so that an idle cloud has no timer."""
        try:
            while hosts := self._ledger.hosts_at_work():
                now_ns = self.clock.now_ns()
                due_ns = min(map(self._loss_ns, hosts))
                if now_ns < due_ns:
                    await self.clock.sleep((due_ns - now_ns) / 1e9)
                    continue
                for host_id in hosts:
                    if self._loss_ns(host_id) <= now_ns:
                        self._spend_all_of(host_id, "host lost")
                self.dispatch()
        finally:
            self._watching = False

    def _loss_ns(self, host_id: str) -> int:
        """When the host is lost if it stays silent. A cloud that is down judges nobody."""
        if not self.up:
            return self.clock.now_ns() + self.lost_after_ns
        known = self._views.get(host_id)
        seen_ns = self._forgotten_ns[host_id] if known is None else known.seen_ns
        return seen_ns + self.lost_after_ns

    # -- book-keeping

    def _close_polls(self) -> None:
        for poll in self._polls:
            poll.close()
        self._polls.clear()

    def _happened(self, kind: str, data: dict[str, Any]) -> None:
        self.log.append(Happened(self._count("event"), self.clock.now_ns(), kind, data))
        if self.on_event is not None:
            self.on_event(kind, data)

    def _count(self, what: str) -> int:
        self._counts[what] = self._counts.get(what, 0) + 1
        return self._counts[what]

    def _next_id(self, what: str) -> str:
        """`task-1`, `assignment-1`, `host-1`: never random, and never used again, not even after a restart.

        Nor by a cloud that starts from nothing later: a host that kept running refuses assignments that have ended.
        """
        return f"{what}-{self._life}{self._count(what)}"

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        job = asyncio.create_task(work)
        self._background.append(job)
        job.add_done_callback(self._background.remove)
