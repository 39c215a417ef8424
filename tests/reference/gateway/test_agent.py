"""The agent's HTTP surface: who may ask for a turn, what comes back, and what happens at its start."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.ports import Finished
from lasttick.reference.gateway.agent import AgentConfig, AgentConfigError, TrustedAgent

from .platform_rig import send

SECRET = "agent-secret-AbCdEf-0123456789"
ENVIRON = {"AGENT_SERVICE_SECRET": SECRET, "PLATFORM_API_URL": "http://platform.test:8000", "PATH": "/usr/bin"}
WIRE = {"conversation_id": "c-1", "text": "hello", "org_id": "org-a", "run_id": "run-1"}
HEADER = {"x-agent-secret": SECRET}
BEARER = {"authorization": f"Bearer {SECRET}"}


class Program:
    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.takes_s = 0.0

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        self.runs.append(list(argv))
        await asyncio.sleep(self.takes_s)
        return Finished(0, "good day\n", "")


class Bench:
    def __init__(self, loop: VirtualLoop, **environ: str) -> None:
        environ = {**ENVIRON, **environ}
        self.program = Program()
        config = AgentConfig.from_env(environ, register_home=None)
        self.agent = TrustedAgent(config, program=self.program, environ=environ, clock=VirtualClock(loop))

    async def ask(
        self,
        headers: Any = (),
        body: Any = None,
        method: str = "POST",
        path: str = "/v1/chat",
        raw: bytes | None = None,
    ) -> tuple[int, Any]:
        content = json.dumps(WIRE if body is None else body).encode() if raw is None else raw
        response = await send(self.agent.app, method, path, headers, [content])
        return response.status, response.json


def asked(headers: Any = HEADER, *, environ: Mapping[str, str] = {}, **request: Any) -> tuple[int, Any, int]:
    """Status, body, and how many programs ran."""

    async def main(loop: VirtualLoop) -> tuple[int, Any, int]:
        bench = Bench(loop, **environ)
        status, body = await bench.ask(headers, **request)
        return status, body, len(bench.program.runs)

    return run_virtual(main)


@pytest.mark.parametrize("headers", [HEADER, BEARER, {**HEADER, **BEARER}, {"X-AGENT-SECRET": SECRET}])
def test_whoever_has_the_secret_gets_a_turn(headers: dict[str, str]) -> None:
    assert asked(headers) == (200, {"answer": "good day"}, 1)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        {"x-agent-secret": "wrong"},
        {"x-agent-secret": ""},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {SECRET}"},
        {"authorization": SECRET},
        [(b"x-agent-secret", SECRET.encode())] * 2,
        [(b"authorization", f"Bearer {SECRET}".encode())] * 2,
        [(b"x-agent-secret", b"\xff")],
        {"x-agent-secret": "a" * 60_000},
    ],
)
def test_nobody_else_does(headers: Any) -> None:
    status, body, runs = asked(headers)
    assert (status, body["code"], runs) == (401, "UNAUTHENTICATED", 0)


def test_without_a_secret_nobody_does() -> None:
    for headers in ((), {"x-agent-secret": ""}, {"authorization": "Bearer "}, HEADER):
        assert asked(headers, environ={"AGENT_SERVICE_SECRET": ""})[0] == 401


@pytest.mark.parametrize(
    "raw", [b"", b"x", b"[]", b"1", b'{"a":' * 65 + b"1" + b"}" * 65, b"\xff", b'{"text": NaN}', b'{"text": 1e999}']
)
def test_a_body_that_is_no_turn_is_400(raw: bytes) -> None:
    status, body, runs = asked(raw=raw)
    assert (status, body["code"], runs) == (400, "BAD_REQUEST", 0)
    assert asked((), raw=raw)[0] == 401, "and nothing is told to a stranger"


def test_a_body_that_is_too_long_is_413() -> None:
    assert asked(raw=b" " * ((1 << 20) + 1))[:2][0] == 413


def test_a_list_of_tools_that_can_not_be_told_apart_is_400() -> None:
    tools = {"toolsets": ["humanwork"], "mcp_tools": ["a-b:c", "a_b:c"]}
    status, body, runs = asked(body={**WIRE, **tools})
    assert (status, body["code"], runs) == (400, "BAD_TOOL_NAMES", 0)
    assert "'a-b:c' and 'a_b:c'" in body["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/chat", 405), ("POST", "/v1/chat/", 404), ("POST", "/", 404)]
)
def test_there_is_nothing_else(method: str, path: str, status: int) -> None:
    got, body, runs = asked(method=method, path=path)
    assert (got, runs) == (status, 0)
    assert set(body) == {"code", "message"}


def test_turns_run_beside_each_other_and_their_time_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main(loop: VirtualLoop) -> float:
        bench = Bench(loop)
        bench.program.takes_s = 3.0
        with caplog.at_level(logging.INFO):
            assert await asyncio.gather(*(bench.ask(HEADER) for _ in range(3))) == [(200, {"answer": "good day"})] * 3
        return loop.time()

    assert run_virtual(main) == 3
    assert "the turn of run run-1 took 3.000 s" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("url", ["", "platform.test", "ftp://platform.test", "http://"])
def test_the_platform_must_be_a_url(url: str) -> None:
    with pytest.raises(AgentConfigError, match="PLATFORM_API_URL"):
        AgentConfig.from_env({**ENVIRON, "PLATFORM_API_URL": url})


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(AgentConfigError, match="empty command"):
        AgentConfig.from_env(ENVIRON, command=())


def test_a_configuration_shows_no_secret() -> None:
    assert SECRET not in repr(AgentConfig.from_env(ENVIRON))


def started(agent: TrustedAgent) -> list[str]:
    """The messages of the ASGI lifespan."""

    async def main() -> list[str]:
        sent: list[str] = []
        messages = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> dict[str, str]:
            return {"type": next(messages)}

        async def collect(message: dict[str, Any]) -> None:
            sent.append(message["type"])

        await agent.app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, collect)
        return sent

    return asyncio.run(main())


class Clock:
    def now_ns(self) -> int:
        return 0

    def wall(self) -> Any:
        raise NotImplementedError

    def sleep(self, seconds: float) -> Coroutine[Any, Any, None]:
        raise NotImplementedError


def test_its_start_registers_the_server(tmp_path: Path) -> None:
    config = AgentConfig.from_env({**ENVIRON, "HERMES_HOME": str(tmp_path)}, interpreter="/opt/python")
    agent = TrustedAgent(config, program=Program(), environ=ENVIRON, clock=Clock())
    assert started(agent) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    first = (tmp_path / "config.yaml").read_text()
    assert yaml.safe_load(first)["mcp_servers"]["humanwork"]["command"] == "/opt/python"
    started(agent)
    assert (tmp_path / "config.yaml").read_text() == first
    assert SECRET not in first


def test_its_start_goes_on_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.yaml").write_text("- a list\n")
    config = AgentConfig.from_env(ENVIRON, register_home=tmp_path)
    agent = TrustedAgent(config, program=Program(), environ=ENVIRON, clock=Clock())
    assert started(agent) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert (tmp_path / "config.yaml").read_text() == "- a list\n"
    assert "humanwork is not registered" in caplog.text
