"""`lasttick serve recorder|hop|dummy` as real processes on real sockets, and what they refuse."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lasttick.cli import execute
from lasttick.laws.servers import serving
from lasttick.laws.servers.hop_options import HopOptions
from lasttick.targets.children import Child

Start = Callable[..., tuple[Child, str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("recorder", ...)`: the child and the URL of its ready line. What is left is killed."""
    children: list[Child] = []

    def begin(*arguments: str) -> tuple[Child, str]:
        child = Child([*arguments, "--port", "0"], tmp_path / f"{len(children)}.log")
        children.append(child)
        while (ready := child.poll_ready()) is None:
            time.sleep(0.02)
        assert list(ready) == ["name", "url", "pid"]
        assert (ready["name"], ready["pid"]) == (arguments[0], child.pid)
        return child, str(ready["url"])

    yield begin
    for child in children:
        if child.running:
            child.kill()


def stopped(child: Child) -> None:
    """It ends with 0 within 5 s, and said nothing but its ready line."""
    began_s = time.monotonic()
    child.stop()
    assert time.monotonic() - began_s < 5
    assert len(child.said().splitlines()) == 1, child.said()


def client(**options: Any) -> httpx.Client:
    return httpx.Client(trust_env=False, timeout=20, **options)


def test_a_recorder_behind_a_hop(start: Start) -> None:
    """Both eras of MCP and a body in chunks through two processes; headers changed on the way."""
    recorder, url = start("recorder")
    options = ["--add-header", "x-tenant=blue=1", "--drop-header", "authorization", "--drop-header", "x-b"]
    hop, through = start("hop", "--to", url, *options)

    async def mcp(mode: str) -> None:
        async with (
            httpx2.AsyncClient(trust_env=False, headers={"authorization": "Bearer a"}) as http,
            Client(streamable_http_client(f"{through}/mcp", http_client=http), mode=mode) as session,
        ):
            assert not (await session.call_tool("ltwrite", {"mark": f"lt-{mode}"})).is_error

    for mode in ("legacy", "2026-07-28"):
        asyncio.run(mcp(mode))
    with client() as http:
        parts = (part for part in [b'{"mark": ', b'"lt-parts"}'])
        answer = http.post(f"{through}/write", content=parts, headers={"x-b": "1"})
        assert (answer.status_code, answer.json()) == (200, {"ok": True, "mark": "lt-parts"})
        assert len(answer.headers.get_list("date")) == 1
        effects = http.get(f"{url}/effects").json()["effects"]
        assert [effect["mark"] for effect in effects] == ["lt-legacy", "lt-2026-07-28", "lt-parts"]
        for effect in effects:
            assert effect["headers"]["x-tenant"] == "blue=1"
            assert effect["headers"]["host"] == url.removeprefix("http://")
            assert not {"authorization", "x-b"} & set(effect["headers"])
        now_s = time.clock_gettime(time.CLOCK_MONOTONIC)
        assert 0 <= now_s - effects[0]["at"] < 60, "the machine's monotonic clock, in seconds"
        recorder.kill()
        answer = http.post(f"{through}/write", json={"mark": "gone"})
        assert (answer.status_code, "gave no whole answer: ConnectError" in answer.json()["error"]) == (502, True)
    stopped(hop)


@pytest.mark.parametrize(
    ("arguments", "path", "status"), [(["recorder"], "/write", 200), (["dummy", "liar"], "/lease.use", 403)]
)
def test_a_stop_answers_what_is_held(start: Start, arguments: list[str], path: str, status: int) -> None:
    child, url = start(*arguments)

    async def body() -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=20) as http:
            call = asyncio.ensure_future(http.post(url + path, json={"mark": "a", "hold_s": 500}))
            while not (await http.get(f"{url}/effects")).json()["effects"]:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(stopped, child)
            assert (await call).status_code == status

    asyncio.run(body())


def test_a_hop_leaves_when_its_client_does(start: Start) -> None:
    """The call is given up at the recorder's door; also with the call open the hop stops in time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hop, through = start("hop", "--to", f"http://127.0.0.1:{silent.getsockname()[1]}", "--cut-idle", "300")
        silent.settimeout(20)
        with client() as http, pytest.raises(httpx.ReadTimeout):
            http.get(f"{through}/x", timeout=0.5)
        accepted, _ = silent.accept()
        with accepted:
            accepted.settimeout(20)
            assert accepted.recv(65_536).startswith(b"GET /x HTTP/1.1\r\n")
            assert accepted.recv(1) == b"", "the hop has hung up"
        with socket.create_connection(("127.0.0.1", int(through.rpartition(":")[2]))) as open_one:
            open_one.sendall(b"GET /y HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            second, _ = silent.accept()
            with second:
                began_s = time.monotonic()
                hop.stop()
                assert time.monotonic() - began_s < 5
    assert "Traceback" not in hop.said()


def test_a_dead_dummy(start: Start) -> None:
    dummy, url = start("dummy", "dead")
    with client() as http:
        for _ in range(3):
            with pytest.raises(httpx.TransportError):
                http.post(f"{url}/lease.use", json={"mark": "a"})
    stopped(dummy)


# -- the door


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:7003", "localhost:1", "[::1]:7003", "127.9.9.9"])
def test_a_name_of_this_machine_is_answered(host: str) -> None:
    assert ask(host) == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7003", "127.0.0.1.evil.example", "", "0.0.0.0", "[::1"])
def test_another_name_is_not(host: str) -> None:
    """A page that has made its own name point here could read what was recorded."""
    assert ask(host) == 421


def ask(host: str) -> int:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> int:
        transport = httpx.ASGITransport(serving.LoopbackHostOnly(app))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport) as http:
            return (await http.get("http://x/", headers={"host": host})).status_code

    return asyncio.run(main())


# -- refusals


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["recorder", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["hop", "--to", "http://127.0.0.1:1", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["dummy", "dead", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["hop"], "Missing option '--to'"),
        (["hop", "--to", ""], "--to is ''"),
        (["hop", "--to", "http://127.0.0.1:1,"], "--to is ''"),
        (["hop", "--to", "http://127.0.0.1:1/mcp"], "leave the path out"),
        (["hop", "--to", "http://lab:1"], "add --allow-host lab"),
        (["hop", "--to", "http://127.0.0.1:1,http://lab:1", "--allow-host", "lab2"], "add --allow-host lab"),
        (["hop", "--to", "http://127.0.0.1:1", "--add-header", "x"], "--add-header is 'x'"),
        (["hop", "--to", "http://127.0.0.1:1", "--add-header", "a b=1"], "'a b' is no header name"),
        (["hop", "--to", "http://127.0.0.1:1", "--drop-header", "connection"], "frames the message"),
        (["hop", "--to", "http://127.0.0.1:1", "--cut-idle", "0"], "--cut-idle is 0.0"),
        (["hop", "--to", "http://127.0.0.1:1", "--delay", "-1"], "--delay is -1.0"),
        (["hop", "--to", "http://127.0.0.1:1", "--delay", "nan"], "--delay is nan"),
        (["dummy"], "Missing argument"),
        (["dummy", "polite"], "no dummy 'polite'"),
    ],
)
def test_what_cannot_be_served_is_one_message(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert execute(["serve", *arguments, "--port", "0"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("lasttick: ")
    assert says in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize("arguments", [["recorder"], ["hop", "--to", "http://127.0.0.1:1"], ["dummy", "allow"]])
def test_a_taken_port(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert execute(["serve", *arguments, "--port", str(port)]) == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_a_replica_elsewhere_may_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And every option of the command reaches the hop."""
    asked: list[Any] = []
    monkeypatch.setattr(serving, "hop_app", lambda options: asked.append(options) or Nothing())
    monkeypatch.setattr(serving, "listen_on_loopback", lambda host, port: asked.append((host, port)))

    async def serve_app(name: str, app: Any, listener: Any, **options: Any) -> None:
        asked.append((name, options))

    monkeypatch.setattr(serving, "serve_app", serve_app)
    words = "--to http://lab:1,http://127.0.0.1:2 --allow-host lab --cut-idle 3 --buffer-sse --delay 4 --port 5"
    headers = ["--add-header", "A=1", "--add-header", "A=2=3", "--drop-header", "B", "--host", "::1"]
    assert execute(["serve", "hop", *words.split(), *headers]) == 0
    options = HopOptions(
        to=("http://lab:1", "http://127.0.0.1:2"),
        add_headers=(("A", "1"), ("A", "2=3")),
        drop_headers=("B",),
        cut_idle_s=3.0,
        buffer_sse=True,
        delay_s=4.0,
    )
    assert asked == [options, ("::1", 5), ("hop", {"own_headers": False})]


class Nothing:
    async def aclose(self) -> None:
        pass
