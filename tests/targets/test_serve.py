"""`lasttick serve` as a real process: the official SDK's client in both eras, stops, and refusals.

Slow: each host agent takes two seconds of imports, so one serves all tests that leave it as it was.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from lasttick.cli import execute
from lasttick.targets import serve, server
from lasttick_fakes.client import McpClient

REPOSITORY = Path(__file__).parents[2]
HANDLE = "lasttick/lease-handle"
TTL_S = 3.0
DEADLINE_S = 60.0
TOOLS = [
    "describe_screen",
    "device_status",
    "find_icon",
    "find_text",
    "get_ui_tree",
    "input_text",
    "launch_app",
    "list_devices",
    "swipe",
    "take_screenshot",
    "tap",
]


class Served:
    """`lasttick ARGUMENTS` as a process; its standard error in a file."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.log = folder / f"{time.monotonic_ns()}.log"
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY / "harness"), str(REPOSITORY / "fakes")])
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lasttick", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**environ, **environment},
            )

    def said(self) -> str:
        return self.log.read_text()

    def ready(self) -> dict[str, Any]:
        """The ready line."""

        def line() -> str | None:
            assert self.process.poll() is None, self.said()
            return next((line for line in self.said().splitlines(keepends=True) if line.startswith('{"name"')), None)

        return dict(json.loads(until(line)))

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Send the signal; exit code, and the seconds it took."""
        began_s = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        return code, time.monotonic() - began_s

    def refusal(self) -> str:
        """Wait for its end, which must be a refusal: exit code 2 and one message. Returns that."""
        out, _ = self.process.communicate(timeout=DEADLINE_S)
        said = self.said()
        assert (self.process.returncode, out) == (2, b""), said
        assert said.startswith("lasttick: "), said
        assert said.count("lasttick: ") == 1, said
        assert "Traceback" not in said
        return said


def until(look: Callable[[], Any]) -> Any:
    """Ask again until there is an answer; fails after a deadline."""
    end_s = time.monotonic() + DEADLINE_S
    while not (answer := look()):
        assert time.monotonic() < end_s, "nothing came in time"
        time.sleep(0.02)
    return answer


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Starts processes and kills what is left of them."""
    folder = tmp_path_factory.mktemp("logs")
    all_of_them: list[Served] = []

    def start(*arguments: str, **environment: str) -> Served:
        all_of_them.append(Served(folder, *arguments, **environment))
        return all_of_them[-1]

    yield start
    for served in all_of_them:
        if served.process.poll() is None:
            served.process.kill()
        served.process.communicate()


class Agent:
    """A running host agent, its folder and its ready line."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served = served
        self.folder = folder
        self.ready = served.ready()
        self.token = json.loads((folder / "host_mcp_token.json").read_text())["token"]

    @asynccontextmanager
    async def sdk(self, mode: str, token: str | None = None) -> AsyncIterator[Client]:
        """The official client, with the bearer header."""
        headers = {"authorization": f"Bearer {token or self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=DEADLINE_S) as http,
            Client(streamable_http_client(self.ready["url"], http_client=http), mode=mode) as client,
        ):
            yield client

    async def console(self) -> httpx.AsyncClient:
        client = httpx.AsyncClient(base_url=self.ready["console"], trust_env=False, timeout=DEADLINE_S)
        password = json.loads((self.folder / "host_console.json").read_text())["password"]
        assert (await client.get("/api/status")).status_code == 401
        assert (await client.post("/login", json={"password": password})).is_success
        return client


@pytest.fixture(scope="module")
def agent(started: Callable[..., Served], tmp_path_factory: pytest.TempPathFactory) -> Agent:
    folder = tmp_path_factory.mktemp("identity")
    options = ["--port", "0", "--identity-dir", str(folder), "--ttl", str(TTL_S), "--devices", "phone-1,ipad-1=ios@2"]
    return Agent(started("serve", "hostagent", *options), folder)


# -- a host agent that runs


def test_the_ready_line(agent: Agent) -> None:
    port = agent.ready["url"].rpartition(":")[2].removesuffix("/mcp")
    assert agent.ready == {
        "name": "hostagent",
        "url": f"http://127.0.0.1:{port}/mcp",
        "pid": agent.served.process.pid,
        "console": f"http://127.0.0.1:{port}",
    }
    assert int(port) > 0


def test_the_official_client_with_a_session(agent: Agent) -> None:
    """List, call, see the lease in the status, see it go after the TTL, and be refused meanwhile."""

    async def body() -> None:
        console = await agent.console()

        async def busy() -> list[str]:
            status = (await console.get("/api/status")).json()
            return [row["device_id"] for row in status["mcp_busy_devices"]]

        async with agent.sdk("legacy") as alice, agent.sdk("legacy") as bob:
            assert sorted(tool.name for tool in (await alice.list_tools()).tools) == TOOLS
            began_s = time.monotonic()
            answer = await alice.call_tool("tap", {"device_id": "phone-1", "x": 5, "y": 5})
            assert not answer.is_error
            assert await busy() == ["phone-1"]
            with pytest.raises(MCPError) as refused:
                await bob.call_tool("tap", {"device_id": "phone-1", "x": 6, "y": 6})
            assert (refused.value.code, refused.value.data["reason"]) == (-32000, "device_busy")
            assert refused.value.data["busy_owner"].startswith("mcp_session:")
            while await busy():
                assert time.monotonic() - began_s < TTL_S + DEADLINE_S
                await asyncio.sleep(0.05)
            assert time.monotonic() - began_s >= TTL_S
            assert not (await bob.call_tool("tap", {"device_id": "phone-1", "x": 6, "y": 6})).is_error
        assert await busy() == [], "the SDK's client ends its session by DELETE, and its lease goes with it"
        await console.aclose()

    asyncio.run(body())


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
def test_the_official_client_without_a_session(agent: Agent, mode: str) -> None:
    async def body() -> None:
        async with agent.sdk(mode) as client:
            assert sorted(tool.name for tool in (await client.list_tools()).tools) == TOOLS
            devices = await client.call_tool("list_devices", {})
            assert [row["device_id"] for row in devices.structured_content["devices"]] == ["ipad-1", "phone-1"]
            tap = ("tap", {"device_id": "phone-1", "x": 5, "y": 5})
            first = await client.call_tool(*tap)
            assert first.meta is not None
            handle = {HANDLE: first.meta[HANDLE]}
            with pytest.raises(MCPError) as refused:
                await client.call_tool(*tap)
            assert (refused.value.code, refused.value.data["reason"]) == (-32000, "device_busy")
            assert not (await client.call_tool(*tap, meta=handle)).is_error
            await asyncio.sleep(TTL_S + 0.1)
            with pytest.raises(MCPError) as refused:
                await client.call_tool(*tap, meta=handle)
            assert (refused.value.code, refused.value.data["reason"]) == (-32000, "unknown_handle")

    asyncio.run(body())


def test_without_the_token_there_is_no_answer(agent: Agent) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}):
        answer = httpx.post(agent.ready["url"], json={}, headers=headers, trust_env=False)
        assert (answer.status_code, answer.json()) == (401, {"error": "invalid token"})


def test_mcp_token_prints_the_token_of_the_folder(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["mcp-token", "--identity-dir", str(agent.folder)]) == 0
    assert capsys.readouterr().out == f"{agent.token}\n"


def test_a_second_agent_on_the_folder_is_refused(agent: Agent, started: Callable[..., Served]) -> None:
    """Also on the same port, where the folder is the better reason."""
    token_file = (agent.folder / "host_mcp_token.json").read_bytes()
    port = agent.ready["console"].rpartition(":")[2]
    second = started("serve", "hostagent", "--port", port, "--identity-dir", str(agent.folder))
    assert f"another host agent (pid {agent.served.process.pid}) runs in {agent.folder}" in second.refusal()
    assert (agent.folder / "host_mcp_token.json").read_bytes() == token_file


def test_the_log_of_its_own_rack_can_be_read_and_nothing_else_of_the_rack(agent: Agent) -> None:
    async def tap() -> None:
        async with agent.sdk("legacy") as client:
            assert not (await client.call_tool("tap", {"device_id": "ipad-1", "x": 7, "y": 8})).is_error

    asyncio.run(tap())
    with httpx.Client(base_url=agent.ready["console"], trust_env=False) as http:
        answer = http.get("/devices/v1/log")
        assert (answer.status_code, answer.json()["dropped"]) == (200, 0)
        start, end = [line for line in answer.json()["log"] if line["device_id"] == "ipad-1"]
        assert (start["kind"], end["kind"]) == ("start", "end")
        assert (start["tool"], start["arguments"]) == ("tap", {"x": 7, "y": 8})
        later = http.get(f"/devices/v1/log?after={start['seq']}").json()["log"]
        assert later == [end]
        assert http.get("/devices/v1/log?after=x").status_code == 400
        for method in ("POST", "PUT", "DELETE"):
            assert http.request(method, "/devices/v1/log").status_code == 404
        for path in ("/devices", "/devices/v1/devices", "/devices/v1/devices/phone-1", "/devices/v1/log/", "/v1/log"):
            assert http.get(path).status_code == 404, path
        perform = {"tool": "tap", "arguments": {"x": 1, "y": 1}}
        assert http.post("/devices/v1/devices/phone-1/perform", json=perform).status_code == 404
        assert http.delete("/devices/v1/devices").status_code == 404


def test_the_log_of_a_rack_elsewhere_is_there(started: Callable[..., Served], tmp_path: Path) -> None:
    rack = started("serve", "devices", "--port", "0", "--devices", "phone-1").ready()["url"]
    options = ["--port", "0", "--identity-dir", str(tmp_path), "--devices", rack]
    console = started("serve", "hostagent", *options).ready()["console"]
    assert httpx.get(f"{console}/devices/v1/log", trust_env=False).status_code == 404
    assert httpx.get(f"{rack}/v1/log", trust_env=False).status_code == 200


def test_the_log_is_for_this_machine_only(started: Callable[..., Served], tmp_path: Path) -> None:
    """It has no door of its own: a host agent that others can reach does not show it."""
    options = ["--port", "0", "--identity-dir", str(tmp_path), "--host", "0.0.0.0", "--allow-non-loopback"]
    served = started("serve", "hostagent", *options, HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK="1")
    port = served.ready()["console"].rpartition(":")[2]
    assert httpx.get(f"http://127.0.0.1:{port}/devices/v1/log", trust_env=False).status_code == 404


def test_nothing_secret_was_said(agent: Agent) -> None:
    said = agent.served.said()
    assert agent.token not in said
    assert json.loads((agent.folder / "host_console.json").read_text())["password"] not in said
    assert "Traceback" not in said


# -- stops


def test_it_stops_with_an_open_stream_and_a_call_in_flight(started: Callable[..., Served], tmp_path: Path) -> None:
    served = started("serve", "hostagent", "--port", "0", "--identity-dir", str(tmp_path))
    agent = Agent(served, tmp_path)

    async def body() -> tuple[int, float]:
        client = McpClient(agent.ready["url"], token=agent.token)
        assert (await client.open()).ok
        stream = await client.open_stream()
        assert stream.refused is None
        points = {"x1": 1, "y1": 1, "x2": 9, "y2": 9, "duration_ms": 60_000}
        call = asyncio.ensure_future(client.call("swipe", device_id="phone-1", **points))
        status = await agent.console()
        while not (await status.get("/api/status")).json()["mcp_busy_devices"]:
            await asyncio.sleep(0.02)
        half_sent = [await half_a_request(agent.ready["console"], path, agent.token) for path in ("/mcp", "/login")]
        half_sent.append(await half_a_request(agent.ready["console"], "/mcp", agent.token, "upgrade: websocket\r\n"))
        ended = await asyncio.to_thread(served.end)
        told = await call
        assert (told.http_status, told.error.data["reason"]) == (503, "stopping")
        await client.close()
        await status.aclose()
        for writer in half_sent:
            writer.close()
        return ended

    code, took_s = asyncio.run(body())
    assert (code, took_s < 5) == (0, True), f"exit code {code} after {took_s:.1f} s\n{served.said()}"
    assert "Traceback" not in served.said()


async def half_a_request(origin: str, path: str, token: str, more: str = "") -> asyncio.StreamWriter:
    host, _, port = origin.removeprefix("http://").rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {path} HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer {token}\r\n"
    upgrade = f"connection: upgrade\r\n{more}" if more else ""
    writer.write(f"{head}{upgrade}content-length: 99\r\n\r\n{{".encode())
    await writer.drain()
    return writer


def test_cloud_and_devices(started: Callable[..., Served]) -> None:
    cloud = started("serve", "cloud", "--port", "0")
    rack = started("serve", "devices", "--port", "0", "--devices", "phone-1")
    for served, name in ((cloud, "cloud"), (rack, "devices")):
        ready = served.ready()
        assert list(ready) == ["name", "url", "pid"]
        assert (ready["name"], ready["pid"]) == (name, served.process.pid)
    task = httpx.post(f"{cloud.ready()['url']}/v1/tasks", json={"goal": "tap Settings", "attempts": 1}, trust_env=False)
    assert task.is_success
    devices = httpx.get(f"{rack.ready()['url']}/v1/devices", trust_env=False).json()["devices"]
    assert [device["device_id"] for device in devices] == ["phone-1"]
    for served, number in ((cloud, signal.SIGTERM), (rack, signal.SIGINT)):
        code, took_s = served.end(number)
        assert (code, took_s < 5) == (0, True), served.said()
        assert "Traceback" not in served.said()


def test_a_wrong_version_is_served_on_purpose(started: Callable[..., Served], tmp_path: Path) -> None:
    options = ["--port", "0", "--identity-dir", str(tmp_path), "--mutant", "hostagent/error-as-tool-result"]
    agent = Agent(started("serve", "hostagent", *options), tmp_path)

    async def body() -> None:
        client = McpClient(agent.ready["url"], token=agent.token)
        await client.open()
        reply = await client.call("tap", device_id="phone-9", x=1, y=1)
        assert reply.error is None
        assert reply.result["isError"] is True
        await client.close()

    asyncio.run(body())
    assert agent.served.end(signal.SIGINT)[0] == 0


# -- refusals, in this process: what a real one says was shown above


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`refused("hostagent", ...)`: the one message of a part that must refuse to start."""
    monkeypatch.setattr(serve, "log_to_stderr", lambda: None)
    monkeypatch.setenv("HOST_AGENT_IDENTITY_PATH", str(tmp_path / "identity" / "host_identity.json"))

    def run(*arguments: str) -> str:
        assert execute(["serve", *arguments]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("lasttick: ")
        assert "Traceback" not in told.err
        return told.err

    return run


def test_a_second_agent_on_a_free_port(agent: Agent, refused: Any) -> None:
    said = refused("hostagent", "--port", "0", "--identity-dir", str(agent.folder))
    assert f"another host agent (pid {agent.served.process.pid}) runs in {agent.folder}" in said


@pytest.mark.parametrize("part", ["hostagent", "cloud", "devices"])
def test_an_unknown_mutant(refused: Any, part: str, tmp_path: Path) -> None:
    said = refused(part, "--port", "0", "--mutant", "hostagent/wrapper-wait")
    assert "unknown mutant 'hostagent/wrapper-wait'; expected an id such as hostagent/wrapper-waits" in said
    assert not (tmp_path / "identity").exists()


@pytest.mark.parametrize("part", ["hostagent", "devices"])
@pytest.mark.parametrize("devices", ["phone-1=windows", "phone-1,phone-1", "phone 1", ",", "ipad-1=ios@7", "-x"])
def test_a_bad_device_list(refused: Any, part: str, devices: str) -> None:
    said = refused(part, "--port", "0", f"--devices={devices}")
    assert said.count(";") >= 2, said


def test_a_host_agent_without_devices(refused: Any) -> None:
    assert "device" in refused("hostagent", "--port", "0", "--devices", "")


@pytest.mark.parametrize("part", ["hostagent", "cloud", "devices"])
def test_a_taken_port(refused: Any, part: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        said = refused(part, "--port", str(port))
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said
    assert not (tmp_path / "identity").exists()


@pytest.mark.parametrize("part", ["hostagent", "cloud", "devices"])
@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70, ".."])
def test_a_host_that_is_not_this_machines(refused: Any, part: str, host: str) -> None:
    assert host in refused(part, "--port", "0", "--host", host)


def test_a_port_is_taken_before_its_part_is_up() -> None:
    with server.listen("127.0.0.1", 0) as listener, pytest.raises(server.ServeError, match="Address already in use"):
        server.listen("127.0.0.1", listener.getsockname()[1])


@pytest.mark.parametrize("option", ["--ttl", "--heartbeat", "--max-call", "--session-idle"])
def test_more_seconds_than_a_clock_can_count(refused: Any, option: str) -> None:
    assert f"{option} is 1e+300" in refused("hostagent", "--port", "0", option, "1e300")


@pytest.mark.parametrize(
    ("switches", "environment"),
    [([], None), (["--allow-non-loopback"], None), ([], "1"), (["--allow-non-loopback"], "0")],
)
def test_a_non_loopback_host_needs_both_switches(
    refused: Any, monkeypatch: pytest.MonkeyPatch, switches: list[str], environment: str | None
) -> None:
    if environment is not None:
        monkeypatch.setenv("HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK", environment)
    said = refused("hostagent", "--port", "0", "--host", "0.0.0.0", *switches)
    assert "host '0.0.0.0' can be reached from other machines" in said
    assert "--allow-non-loopback and HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK=1" in said


@pytest.mark.parametrize("url", ["ftp://cloud", "cloud", "http://"])
def test_a_bad_cloud(refused: Any, url: str) -> None:
    assert f"cloud_url is '{url}'" in refused("hostagent", "--port", "0", "--cloud", url)


def test_a_rack_that_is_not_there(refused: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    assert "the rack cannot be reached" in refused("hostagent", "--port", "0", "--devices", url)


@pytest.mark.parametrize("url", ["http://", "http://[::1", "http://127.0.0.1:99999"])
def test_a_rack_that_can_be_nowhere(refused: Any, url: str) -> None:
    assert f"--devices is {url!r}" in refused("hostagent", "--port", "0", "--devices", url)


def test_a_device_that_the_rack_has_not(refused: Any) -> None:
    said = refused("hostagent", "--port", "0", "--devices", "phone-1", "--only", "phone-1,phone-2")
    assert "the rack has no device phone-2" in said


@pytest.mark.parametrize("name", ["host_mcp_token.json", "host_identity.json", "host_console.json"])
def test_a_corrupt_file_is_left_alone(refused: Any, name: str, tmp_path: Path) -> None:
    file = tmp_path / "identity" / name
    file.parent.mkdir()
    file.write_text('{"version": 1')
    file.chmod(0o600)
    assert name in refused("hostagent", "--port", "0")
    assert file.read_text() == '{"version": 1'


def test_an_identity_folder_that_is_a_file(refused: Any, tmp_path: Path) -> None:
    (tmp_path / "identity").write_text("mine")
    assert "identity" in refused("hostagent", "--port", "0")
    assert (tmp_path / "identity").read_text() == "mine"


def test_mcp_token_makes_the_token_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOST_AGENT_IDENTITY_PATH", str(tmp_path / "new" / "host_identity.json"))
    assert [execute(["mcp-token"]), execute(["mcp-token"])] == [0, 0]
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert len(first) == 43
    assert stat.S_IMODE((tmp_path / "new" / "host_mcp_token.json").stat().st_mode) == 0o600
    (tmp_path / "new" / "host_mcp_token.json").write_text("[]")
    assert execute(["mcp-token"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "host_mcp_token.json" in told.err
