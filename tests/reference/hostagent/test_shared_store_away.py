"""What does a host agent say and do while its lease store cannot be asked, and after?

Nobody knows who holds a device then: nothing is driven, nothing is shown as free, and all is well again by itself.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import SystemEntropy, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.model.lease import Decision, Holder, LeaseView
from lasttick.ports import StoreUnavailable
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.assignments import Assignment, AssignmentExecutor, Call, Outcome
from lasttick.reference.hostagent.config import HostAgentConfig
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.rack_client import RackClient
from lasttick.reference.hostagent.start_error import StartError
from lasttick.targets.transports import memory_transport
from lasttick_fakes.cloud import Cloud, asgi
from lasttick_fakes.devices import Rack, parse_devices, rack_app

HOST = "http://127.0.0.1:8765"
TAP = {"device_id": "phone-1", "x": 1, "y": 2}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class FarStore(MemoryLeaseStore):
    """A store that may be away. The host agent uses these transitions."""

    away = False

    def _reach(self) -> None:
        if self.away:
            raise StoreUnavailable("no connection")

    async def begin_use(self, device_id: str, holder: Holder) -> Decision:
        self._reach()
        return await super().begin_use(device_id, holder)

    async def end_use(self, device_id: str, holder: Holder) -> bool:
        self._reach()
        return await super().end_use(device_id, holder)

    async def end_holder(self, holder: Holder) -> list[str]:
        self._reach()
        return await super().end_holder(holder)

    async def snapshot(self) -> list[LeaseView]:
        self._reach()
        return await super().snapshot()

    async def fence_above(self, device_id: str, seen: int) -> None:
        self._reach()
        await super().fence_above(device_id, seen)


class Site:
    """A rack, a cloud and one host agent whose store may be away."""

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        self.loop = loop
        self.folder = folder
        clock, network = VirtualClock(loop), Network()
        transport = memory_transport(network)
        self.rack = Rack(clock, parse_devices("phone-1,phone-2"))
        self.cloud = Cloud(clock)
        network.serve("127.0.0.1:7001", rack_app(self.rack))
        network.serve("127.0.0.1:7002", asgi(self.cloud))
        self.store = FarStore(clock, 60.0)
        self.agent = HostAgent(
            HostAgentConfig(identity_dir=folder, cloud_url="http://127.0.0.1:7002"),
            drivers=RackClient("http://127.0.0.1:7001", transport=transport),
            clock=clock,
            entropy=SystemEntropy(),
            cloud_transport=transport,
            store=self.store,
        )
        network.serve("127.0.0.1:8765", self.agent.app)
        self.http = httpx.AsyncClient(base_url=HOST, transport=transport)
        self.headers: dict[str, str] = {}

    async def post(self, id: int, method: str, params: Any) -> httpx.Response:
        self.headers |= {"authorization": f"Bearer {self.agent.token}", "accept": "application/json, text/event-stream"}
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        return await self.http.post("/mcp", json=body, headers=self.headers)

    async def log_in(self) -> None:
        opened = await self.post(0, "initialize", HELLO)
        self.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        password = json.loads((self.folder / "host_console.json").read_text())["password"]
        await self.http.post("/login", json={"password": password})

    async def call(self, tool: str, **arguments: Any) -> Any:
        return (await self.post(1, "tools/call", {"name": tool, "arguments": arguments})).json()

    def beats(self) -> list[dict[str, Any]]:
        return [event.data for event in self.cloud.log if event.kind == "cloud.heartbeat"]


def play(folder: Path, body: Any) -> None:
    async def main(loop: VirtualLoop) -> None:
        site = Site(loop, folder)
        try:
            async with site.agent.running():
                await site.log_in()
                await body(site)
        finally:
            await site.cloud.close()
            site.rack.close()

    run_virtual(main)


def test_calls_and_status_say_so_and_recover(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        site.store.away = True
        for tool, arguments in (("tap", TAP), ("device_status", {"device_id": "phone-1"}), ("list_devices", {})):
            error = (await site.call(tool, **arguments))["error"]
            assert (error["code"], error["data"]["reason"]) == (-32000, "store_unavailable")
            assert error["data"].get("device_id") == arguments.get("device_id")
        answer = await site.http.get("/api/status")
        assert answer.status_code == 503
        assert list(answer.json()) == ["error"]
        for path in ("/", "/api/events"):
            away = await site.http.get(path)
            assert away.status_code == 503, path
            assert "Lease store away" in away.text or away.json() == answer.json()
            assert "content-security-policy" in away.headers
        assert answer.json()["error"].startswith("the lease store cannot be reached")
        assert [entry for entry in site.rack.log.entries() if entry.kind == "start"] == []
        site.store.away = False
        assert "result" in await site.call("tap", **TAP)
        assert (await site.http.get("/api/status")).json()["mcp_busy_devices"][0]["device_id"] == "phone-1"

    play(tmp_path, body)


def test_no_heartbeat_shows_a_device_free_that_may_be_held(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lasttick.reference.hostagent.heartbeat")

    async def body(site: Site) -> None:
        await site.call("tap", **TAP)
        await site.loop.advance(1)
        before = len(site.beats())
        site.store.away = True
        await site.loop.advance(95)
        assert len(site.beats()) == before
        site.store.away = False
        await site.loop.advance(30)
        assert len(site.beats()) == before + 1

    play(tmp_path, body)
    assert [record.getMessage() for record in caplog.records] == [
        "heartbeat failed: no connection",
        "heartbeat works again",
    ]


def test_the_end_of_a_session_is_answered_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(site: Site) -> None:
        await site.call("tap", **TAP)
        site.store.away = True
        answer = await site.http.delete("/mcp", headers=site.headers)
        assert answer.status_code == 200
        site.store.away = False

    play(tmp_path, body)
    assert [r.levelname for r in caplog.records if "is not in the lease store yet" in r.getMessage()] == ["WARNING"]


@pytest.mark.parametrize("ends_away", [False, True])
def test_an_assignment_ends_well_whatever_the_store_says(tmp_path: Path, ends_away: bool) -> None:
    """Away from the beginning; or away only when the device has done its work and is given back."""

    async def body(site: Site) -> None:
        executor = AssignmentExecutor(store=site.store, manager=site.agent.manager, calls=site.agent._calls)
        work = Assignment("assignment-1", "phone-1", (Call("tap", {"x": 1, "y": 2}),))
        if not ends_away:
            site.store.away = True
            assert await executor.execute(work) == Outcome("failed", "lease store unavailable")
            return

        async def away_now(*_: Any) -> bool:
            site.store.away = True
            raise StoreUnavailable("no connection")

        site.store.end_use = away_now  # type: ignore[method-assign]
        assert await executor.execute(work) == Outcome("succeeded")

    play(tmp_path, body)


def test_a_store_that_is_away_at_the_start_refuses_it(tmp_path: Path) -> None:
    async def main(loop: VirtualLoop) -> None:
        site = Site(loop, tmp_path)
        site.store.away = True
        try:
            with pytest.raises(StartError, match=r"the lease store does not answer: no connection; expected .*; see"):
                async with site.agent.running():
                    raise AssertionError("it started")
        finally:
            await site.cloud.close()
            site.rack.close()

    run_virtual(main)
