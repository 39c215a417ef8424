"""A clock that only moves when told, and hosts that speak to the cloud over its ASGI app."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from lasttick_fakes.cloud import Cloud, asgi


class ManualClock:
    def __init__(self) -> None:
        self.ns = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = 0

    def now_ns(self) -> int:
        return self.ns

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.ns / 1e3)

    async def sleep(self, seconds: float) -> None:
        self._order += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.ns + round(seconds * 1e9), self._order, future))
        await future

    async def settle(self) -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    async def until(self, second: float) -> None:
        end_ns = round(second * 1e9)
        await self.settle()
        while self._sleepers and self._sleepers[0][0] <= end_ns:
            due_ns, _, future = heapq.heappop(self._sleepers)
            self.ns = max(self.ns, due_ns)
            if not future.done():
                future.set_result(None)
            await self.settle()
        self.ns = end_ns
        await self.settle()

    @property
    def waiting(self) -> int:
        return sum(1 for _, _, future in self._sleepers if not future.done())


class Bench:
    """One cloud, its clock, its events, and a plain HTTP client as the host."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.cloud = Cloud(self.clock, on_event=lambda kind, data: self.events.append((kind, data)), **options)
        self.app = asgi(self.cloud)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.app), base_url="http://cloud")
        self.seq = 0

    async def register(self, *devices: Any, host_id: str | None = None) -> str:
        body = {"devices": list(devices)} if host_id is None else {"host_id": host_id, "devices": list(devices)}
        answer = await self.http.post("/v1/hosts", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["host_id"]

    async def beat(self, host_id: str, *devices: Any, busy: list[str] | None = None, seq: int | None = None) -> Any:
        self.seq += 1
        body: dict[str, Any] = {"seq": self.seq if seq is None else seq, "devices": list(devices)}
        if busy is not None:
            body["mcp_busy_device_ids"] = busy
        return await self.http.post(f"/v1/hosts/{host_id}/heartbeat", json=body)

    async def host(self, *devices: Any, host_id: str | None = None, busy: list[str] | None = None) -> str:
        """Registered and heard of."""
        host_id = await self.register(*devices, host_id=host_id)
        assert (await self.beat(host_id, *devices, busy=busy)).status_code == 200
        return host_id

    async def claim(self, host_id: str, wait_s: float = 0) -> Any:
        """The assignment, or None for 204."""
        answer = await self.http.get(f"/v1/hosts/{host_id}/assignments", params={"wait_s": wait_s})
        assert answer.status_code in (200, 204), answer.text
        return answer.json() if answer.status_code == 200 else None

    async def result(self, assignment: Any, status: str = "succeeded", reason: str | None = None) -> Any:
        path = f"/v1/assignments/{assignment['assignment_id']}/result"
        return await self.http.post(path, content=json.dumps({"status": status, "failure_reason": reason}))

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        return [data for happened, data in self.events if happened == kind]


@pytest.fixture
def run() -> Callable[..., None]:
    """`run(body, **options of Cloud)`: the async test body gets a bench; nothing may be left running afterwards."""

    def runner(body: Callable[[Bench], Any], **options: Any) -> None:
        async def whole() -> None:
            bench = Bench(**options)
            await body(bench)
            await bench.cloud.close()
            await bench.clock.settle()
            left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            assert not left, left

        asyncio.run(whole())

    return runner
