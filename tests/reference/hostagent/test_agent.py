"""The host agent as a whole, over in-memory HTTP: its doors, its order of start and stop, and what the cloud sees."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import SystemEntropy, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.mutants import find
from lasttick.reference.hostagent import agent as agent_module
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.config import ConfigError, HostAgentConfig, default_identity_dir
from lasttick.reference.hostagent.instance_lock import InstanceLockError
from lasttick.reference.hostagent.rack_client import RackClient
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.hostagent.tokens import McpTokenStoreError
from lasttick.targets.transports import memory_transport
from lasttick_fakes.cloud import Cloud, asgi
from lasttick_fakes.devices import Rack, Trouble, parse_devices, rack_app

TAP = {"device_id": "phone-1", "x": 1, "y": 2}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Site:
    """A rack, a cloud and any number of host agents on one in-memory network."""

    def __init__(self, loop: VirtualLoop, folder: Path) -> None:
        self.loop = loop
        self.folder = folder
        self.clock = VirtualClock(loop)
        self.network = Network()
        self.transport = memory_transport(self.network)
        self.rack = Rack(self.clock, parse_devices("phone-1,phone-2"))
        self.cloud = Cloud(self.clock)
        self.network.serve("127.0.0.1:7001", rack_app(self.rack))
        self.network.serve("127.0.0.1:7002", asgi(self.cloud))
        self.http = httpx.AsyncClient(base_url="http://127.0.0.1:8765", transport=self.transport)
        self.sessions = 0

    def agent(self, **options: Any) -> HostAgent:
        config = HostAgentConfig(identity_dir=self.folder, **options)
        agent = HostAgent(
            config,
            drivers=RackClient("http://127.0.0.1:7001", transport=self.transport),
            clock=self.clock,
            entropy=SystemEntropy(),
            cloud_transport=self.transport,
        )
        self.network.serve("127.0.0.1:8765", agent.app)
        return agent

    async def post(self, agent: HostAgent, message: Any, session: str | None = None, path: str = "/mcp") -> Any:
        headers = {"authorization": f"Bearer {agent.token}", "accept": "application/json, text/event-stream"}
        if session is not None:
            headers["mcp-session-id"] = session
        return await self.http.post(path, json={"jsonrpc": "2.0", **message}, headers=headers)

    async def session(self, agent: HostAgent) -> str:
        answer = await self.post(agent, {"id": 0, "method": "initialize", "params": INITIALIZE})
        assert answer.status_code == 200, answer.text
        session = str(answer.headers["mcp-session-id"])
        await self.post(agent, {"method": "notifications/initialized"}, session)
        return session

    async def call(self, agent: HostAgent, session: str, tool: str, id: int = 1, **arguments: Any) -> Any:
        params = {"name": tool, "arguments": arguments}
        return (await self.post(agent, {"id": id, "method": "tools/call", "params": params}, session)).json()

    async def status(self) -> dict[str, Any]:
        password = json.loads((self.folder / "host_console.json").read_text())["password"]
        assert (await self.http.post("/login", json={"password": password})).status_code == 200
        answer = await self.http.get("/api/status")
        assert answer.status_code == 200
        return dict(answer.json())


def run(folder: Path, body: Callable[[Site], Awaitable[None]]) -> None:
    async def main(loop: VirtualLoop) -> None:
        site = Site(loop, folder)
        try:
            await body(site)
        finally:
            await site.cloud.close()
            site.rack.close()

    run_virtual(main)


# -- doors


def test_both_spellings_answer_200_and_nothing_redirects(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as agent:
            for path in ("/mcp", "/mcp/"):
                answer = await site.post(agent, {"id": 0, "method": "initialize", "params": INITIALIZE}, path=path)
                assert answer.status_code == 200

    run(tmp_path, body)


def test_the_mutant_mount_redirects_is_visible(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as agent:
            answer = await site.post(agent, {"id": 0, "method": "initialize", "params": INITIALIZE}, path="/mcp/")
            assert answer.status_code == 307
            assert await site.session(agent), "who uses the one spelling must not notice"

    with find("hostagent/mount-redirects").applied():
        run(tmp_path, body)


def test_the_token_and_the_cookie_open_one_door_each(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as agent:
            bearer = {"authorization": f"Bearer {agent.token}"}
            assert (await site.http.get("/api/status", headers=bearer)).status_code == 401
            await site.status()  # logs in: the client has the cookie now
            for method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
                for path in ("/mcp", "/mcp/"):
                    assert (await site.http.request(method, path)).status_code == 401, (method, path)
            assert (await site.http.get("/nowhere")).status_code == 404

    run(tmp_path, body)


def test_a_lease_shows_in_the_status_and_goes_after_the_ttl(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as agent:
            session = await site.session(agent)
            assert "result" in await site.call(agent, session, "tap", **TAP)
            await site.loop.advance(15)
            seen = await site.status()
            assert seen["host_id"] == agent.host_id
            assert seen["ttl_s"] == 60.0
            assert [(d["device_id"], d["status"], d["owner"]) for d in seen["devices"]] == [
                ("phone-1", "busy", "mcp"),
                ("phone-2", "idle", None),
            ]
            (row,) = seen["mcp_busy_devices"]
            assert row == {
                "device_id": "phone-1",
                "session": session[:8],
                "held_s": 15.0,
                "ttl_left_s": 45.0,
                "in_flight": 0,
            }
            assert session not in json.dumps(seen)
            assert agent.token not in json.dumps(seen)
            await site.loop.advance(45)
            assert (await site.status())["mcp_busy_devices"] == []

    run(tmp_path, body)


@pytest.mark.parametrize(
    ("host", "name"), [("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"), ("localhost", "localhost"), ("127.0.0.1", "[::1]")]
)
def test_every_loopback_host_that_may_be_given_is_served(tmp_path: Path, host: str, name: str) -> None:
    """Whoever listens at 127.0.0.2 answers under that name, at both doors, and still under no foreign one (HA-01)."""

    async def body(site: Site) -> None:
        async with site.agent(host=host).running() as agent:
            for served, status in ((name, 200), ("evil.example", 421), ("127.0.0.3", 421)):
                site.http.headers["host"] = f"{served}:8765"
                assert (await site.http.get("/")).status_code == status, served
                answer = await site.post(agent, {"id": 0, "method": "initialize", "params": INITIALIZE})
                assert answer.status_code == status, served

    run(tmp_path, body)


# -- start


def test_the_order_of_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Lock, token, endpoint, heartbeat (HA-23); the token's path is in the log, the token is not."""
    caplog.set_level(logging.DEBUG)

    async def body(site: Site) -> None:
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            assert (tmp_path / "host_agent.pid").read_text() == f"{os.getpid()}\n"
            assert site.cloud.heartbeat_bodies() == []
            await site.loop.settle()
            assert len(site.cloud.heartbeat_bodies()) == 1
            assert agent.token not in caplog.text
        assert not (tmp_path / "host_agent.pid").exists()

    run(tmp_path, body)
    told = [r.getMessage() for r in caplog.records if r.name.startswith("lasttick.") and r.levelno == logging.INFO]
    assert told == [
        f"MCP token generated at {tmp_path / 'host_mcp_token.json'}",
        "MCP endpoint /mcp is up, 2 devices",
    ]


def test_a_second_agent_on_the_folder_is_refused_and_touches_nothing(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as agent:
            before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(tmp_path.glob("host_*.json"))}
            with pytest.raises(InstanceLockError, match=str(os.getpid())):
                async with site.agent().running():
                    pass
            after = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(tmp_path.glob("host_*.json"))}
            assert before == after
            assert agent.token

    run(tmp_path, body)


def test_a_start_that_fails_gives_the_folder_back(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        (tmp_path / "host_mcp_token.json").write_text("{")
        (tmp_path / "host_mcp_token.json").chmod(0o600)
        with pytest.raises(McpTokenStoreError):
            async with site.agent().running():
                pass
        (tmp_path / "host_mcp_token.json").unlink()
        async with site.agent().running():
            pass

    run(tmp_path, body)


def test_a_rack_that_is_away_is_said_in_three_parts(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        site.network.serve("127.0.0.1:7001", rack_app(site.rack)).up = False
        with pytest.raises(StartError, match=r"rack cannot be reached.*; expected a rack .*; start the rack first"):
            async with site.agent().running():
                pass

    run(tmp_path, body)


def test_an_agent_runs_once_and_knows_nothing_before(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        agent = site.agent()
        with pytest.raises(RuntimeError, match="has not started"):
            _ = agent.token
        assert (await site.http.post("/mcp", headers={"authorization": "Bearer x"})).status_code == 401
        async with agent.running():
            pass
        with pytest.raises(RuntimeError, match="build one"):
            async with agent.running():
                pass

    run(tmp_path, body)


def test_the_apps_own_lifespan_starts_it_unless_it_runs(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        agent = site.agent()
        async with agent.app.router.lifespan_context(agent.app):
            assert agent.token
            assert await site.session(agent)
        assert not (tmp_path / "host_agent.pid").exists()
        other = site.agent()
        async with other.running(), other.app.router.lifespan_context(other.app):
            assert await site.session(other)

    run(tmp_path, body)


# -- stop and restart


def test_it_stops_within_5_s_with_an_open_stream_and_a_call_under_way(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        site.rack.device("phone-1").trouble(Trouble("slow", "tap", 900))
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            session = await site.session(agent)
            headers = {
                "authorization": f"Bearer {agent.token}",
                "accept": "text/event-stream",
                "mcp-session-id": session,
            }
            stream = asyncio.create_task(site.http.get("/mcp", headers=headers))
            call = asyncio.create_task(site.call(agent, session, "tap", **TAP))
            await site.loop.advance(20)
            assert not stream.done()
            assert not call.done()
            left_s = site.loop.time()
        assert site.loop.time() - left_s < 5
        await asyncio.wait((stream, call), timeout=5)
        assert stream.done()
        assert call.done()

    run(tmp_path, body)


def test_a_part_that_does_not_end_does_not_hold_up_the_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stubborn(_: LeasedCalls) -> None:
        await asyncio.sleep(1_000)

    monkeypatch.setattr(LeasedCalls, "aclose", stubborn)

    async def body(site: Site) -> None:
        async with site.agent().running():
            pass
        assert site.loop.time() == agent_module.PART_STOP_S

    run(tmp_path, body)
    assert "driver calls did not end within 1 s of the stop" in caplog.text


def test_after_a_restart_leases_are_gone_and_the_token_is_the_same(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent().running() as first:
            session = await site.session(first)
            await site.call(first, session, "tap", **TAP)
            token, host_id = first.token, first.host_id
        async with site.agent().running() as second:
            assert (second.token, second.host_id) == (token, host_id)
            assert (await site.status())["mcp_busy_devices"] == []
            gone = await site.post(second, {"id": 1, "method": "ping"}, session)
            assert gone.status_code == 404
            other = await site.session(second)
            assert "result" in await site.call(second, other, "tap", **TAP)

    run(tmp_path, body)


def test_a_killed_agent_leaves_the_folder_free(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        up = asyncio.Event()

        async def main() -> None:
            async with site.agent(cloud_url="http://127.0.0.1:7002").running():
                up.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(main())
        await up.wait()
        await site.loop.settle()
        task.cancel()
        await site.loop.settle()
        assert task.done()
        async with site.agent().running():
            pass

    run(tmp_path, body)


# -- the cloud


def test_the_cloud_hears_of_leases_and_leaves_the_device_alone(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            session = await site.session(agent)
            await site.call(agent, session, "tap", **TAP)
            await site.loop.until(31)
            heartbeat = json.loads(site.cloud.heartbeat_bodies()[-1])
            assert heartbeat["mcp_busy_device_ids"] == ["phone-1"]
            assert session[:8] not in json.dumps(heartbeat)
            task = site.cloud.submit(goal="open Notes")
            await site.loop.settle()
            assert site.cloud.task(task.task_id).state == "succeeded"
            starts = [e for e in site.rack.log.entries() if e.kind == "start" and e.tool == "launch_app"]
            assert [e.device_id for e in starts] == ["phone-2"]

    run(tmp_path, body)


def test_in_the_heartbeats_window_the_assignment_fails_fast_and_the_device_is_untouched(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            await site.loop.until(1)
            session = await site.session(agent)
            await site.call(agent, session, "tap", **TAP)
            task = site.cloud.submit(goal="open Notes", device_id="phone-1", attempts=1)
            await site.loop.settle()
            assert site.loop.time() == 1.0
            done = site.cloud.task(task.task_id)
            assert (done.state, done.failure_reason) == ("failed", "device held by active MCP session")
            assert [e.tool for e in site.rack.log.entries() if e.kind == "start"] == ["tap"]

    run(tmp_path, body)


def test_while_an_assignment_runs_an_mcp_session_is_busy(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        site.rack.device("phone-1").trouble(Trouble("slow", "launch_app", 90))
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            await site.loop.until(1)
            site.cloud.submit(goal="open Notes", device_id="phone-1")
            await site.loop.until(80)
            session = await site.session(agent)
            answer = await site.call(agent, session, "tap", **TAP)
            assert answer["error"]["code"] == -32000
            assert answer["error"]["data"]["busy_owner"] == "cloud_assignment"
            (phone, _) = (await site.status())["devices"]
            assert (phone["status"], phone["owner"]) == ("busy", "cloud")
            await site.loop.until(92)
            assert "result" in await site.call(agent, session, "tap", 2, **TAP)

    run(tmp_path, body)


def test_a_cloud_that_restarts_or_is_away_changes_nothing_for_mcp(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        site.cloud.stop()
        async with site.agent(cloud_url="http://127.0.0.1:7002").running() as agent:
            session = await site.session(agent)
            assert "result" in await site.call(agent, session, "tap", **TAP)
            await site.loop.until(31)
            site.cloud.start()
            await site.loop.until(61)
            assert site.cloud.host_ids() == [agent.host_id]
            site.cloud.restart()
            await site.loop.until(91)
            assert site.cloud.host_ids() == [agent.host_id]
            task = site.cloud.submit(goal="open Notes")
            await site.loop.advance(60)
            assert site.cloud.task(task.task_id).state == "succeeded"

    run(tmp_path, body)


# -- options


def test_another_host_needs_both_switches(tmp_path: Path) -> None:
    variable = {"HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK": "1"}
    for environ, flag in (({}, False), ({}, True), (variable, False), ({next(iter(variable)): "true"}, True)):
        with pytest.raises(ConfigError, match="both --allow-non-loopback and HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK=1"):
            HostAgentConfig.from_env(environ, identity_dir=tmp_path, host="0.0.0.0", allow_non_loopback=flag)
    HostAgentConfig.from_env(variable, identity_dir=tmp_path, host="0.0.0.0", allow_non_loopback=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_hosts_need_none(tmp_path: Path, host: str) -> None:
    assert HostAgentConfig.from_env({}, identity_dir=tmp_path, host=host).host == host


@pytest.mark.parametrize("host", ["", " ", "0.0.0.0", "::", "192.168.1.2", "example.com", "127.1", "localhost.evil"])
def test_other_hosts_are_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigError):
        HostAgentConfig.from_env({}, identity_dir=tmp_path, host=host)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ttl_s", 0),
        ("ttl_s", -1.0),
        ("ttl_s", float("nan")),
        ("ttl_s", float("inf")),
        ("ttl_s", True),
        ("ttl_s", 1e308),
        ("ttl_s", "60"),
        ("heartbeat_s", 0),
        ("max_call_s", 0),
        ("session_idle_s", -5),
        ("port", -1),
        ("port", 65_536),
        ("port", True),
        ("port", 80.0),
        ("claim_wait_s", 301),
        ("assignments_max", 0),
        ("cloud_url", ""),
        ("cloud_url", "cloud:80"),
        ("cloud_url", "ftp://cloud"),
        ("cloud_url", "http://"),
        ("cloud_url", "http://[::1"),
        ("cloud_url", "http://127.0.0.1:99999"),
    ],
)
def test_bad_values_are_named(tmp_path: Path, name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^{name} is .*; expected .*; correct {name}"):
        HostAgentConfig.from_env({}, identity_dir=tmp_path, **{name: value})


def test_the_contracts_defaults(tmp_path: Path) -> None:
    config = HostAgentConfig(identity_dir=tmp_path)
    assert (config.host, config.port) == ("127.0.0.1", 8765)
    assert (config.ttl_s, config.heartbeat_s, config.max_call_s) == (60.0, 30.0, 300.0)


def test_the_default_folder() -> None:
    assert default_identity_dir({"HOST_AGENT_IDENTITY_PATH": "/srv/tasks/me.json"}) == Path("/srv/tasks")
    assert default_identity_dir({"HOST_AGENT_IDENTITY_PATH": ""}) == Path.home() / ".lasttick" / "hostagent"
    assert HostAgentConfig.from_env({"HOST_AGENT_IDENTITY_PATH": "/srv/tasks/me.json"}).identity_dir == Path(
        "/srv/tasks"
    )


def test_the_agent_checks_its_options_itself(tmp_path: Path) -> None:
    async def body(site: Site) -> None:
        with pytest.raises(ConfigError):
            site.agent(ttl_s=0)

    run(tmp_path, body)
