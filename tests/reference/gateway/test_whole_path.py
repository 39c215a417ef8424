"""The path of one read tool call, from a chat request to the third party and back into the answer, over real bytes.

Platform, agent, agent program, MCP server, model and third party, each with nothing but its wire to the others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.engine.pipes import pipe_pair
from lasttick.ports import Finished, LineStream
from lasttick.reference.gateway.agent import AgentConfig, TrustedAgent
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.humanwork import serve_humanwork
from lasttick.reference.gateway.platform import Platform
from lasttick.reference.gateway.registration import register
from lasttick.targets.transports import memory_transport
from lasttick_fakes.hermes import HABITS, run_hermes
from lasttick_fakes.model import Call, FakeModel, Say
from lasttick_fakes.thirdparty import ThirdParty

SECRET = "agent-secret-AbCdEf-0123456789"
PLATFORM_ENV = {
    "AGENT_SERVICE_SECRET": SECRET,
    "PLATFORM_ADMIN_TOKEN": "admin-token-0123456789",
    "AGENT_URL": "http://agent.test:9000",
    "THIRD_PARTY_URL": "http://third.test:7000",
    "DATABASE_URL": "sqlite://",
}
CONTAINER_ENV = {
    "PATH": "/usr/bin",
    "HOME": "/home/agent",
    "HERMES_HOME": "",
    "AGENT_SERVICE_SECRET": SECRET,
    "PLATFORM_API_TOKEN": "platform-token",
    "PLATFORM_API_URL": "http://platform.test:8000",
}
ORG: dict[str, Any] = {
    "chat_tokens": ["chat-token-of-org-a"],
    "bindings": [{"slug": "order_lookup", "state": "published"}],
    "skills": {"help": ["order_lookup"]},
    "flags": {"tool_dispatch_enabled": True},
}
CONFIG = 'model: {default: m, provider: custom, base_url: "http://model.test/v1", api_key: sk-test}\n'


class World:
    """All parts on one virtual loop. `hermes_env` and `child_env` are what the two programs were given."""

    def __init__(self, loop: VirtualLoop, home: Path, version: str) -> None:
        self.clock = VirtualClock(loop)
        self.network = Network()
        self.transport = memory_transport(self.network)
        self.model, self.third = FakeModel(self.clock), ThirdParty(self.clock)
        config = GatewayConfig.from_env(PLATFORM_ENV, identity_dir=home)
        self.platform = Platform(config, clock=self.clock, entropy=Chance(1), transport=self.transport)
        environ = {**CONTAINER_ENV, "HERMES_HOME": str(home)}
        agent_config = AgentConfig.from_env(environ, interpreter="/opt/python")
        self.agent = TrustedAgent(agent_config, program=self, environ=environ, clock=self.clock)
        self.agent.register()
        for origin, app in (
            ("platform.test:8000", self.platform.app),
            ("agent.test:9000", self.agent.app),
            ("third.test:7000", self.third),
            ("model.test:80", self.model),
        ):
            self.network.serve(origin, app)
        self.version = version
        self.argv: list[str] = []
        self.hermes_env: dict[str, str] = {}
        self.child_env: dict[str, str] = {}
        self._children: list[asyncio.Task[None]] = []

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        """`ports.AgentProgram`"""
        self.argv, self.hermes_env = list(argv), dict(env)
        finished = await run_hermes(
            argv,
            env,
            children=self,
            transport=self.transport,
            version=self.version,
            clock=self.clock,
            entropy=Chance(2),
        )
        await asyncio.gather(*self._children)
        return finished

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        """`ports.ChildPrograms`"""
        assert [command, *args] == ["/opt/python", "-I", "-m", "lasttick.reference.gateway.humanwork"]
        self.child_env = dict(env)
        ours, theirs = pipe_pair()
        self._children.append(asyncio.create_task(serve_humanwork(env, theirs, transport=self.transport)))
        return ours

    async def chat(self, text: str, skill: str | None = "help") -> httpx.Response:
        async with httpx.AsyncClient(transport=self.transport, base_url="http://platform.test:8000") as client:
            headers = {"authorization": "Bearer chat-token-of-org-a"}
            body = {"text": text, **({} if skill is None else {"skill": skill})}
            return await client.post("/v1/conversations/c-1/messages", json=body, headers=headers, timeout=None)


def in_world(home: Path, version: str, story: Any, config: str = CONFIG) -> None:
    (home / "config.yaml").write_text(config)

    async def main(loop: VirtualLoop) -> None:
        world = World(loop, home, version)
        world.model.script("order", Call.one("order_lookup__lookup", order_id="A-1"), Say("it says {result}"))
        world.third.put_order("A-1", status="shipped", nonce="n-77")
        async with world.platform.running():
            world.platform.catalogue.put_org("org-a", ORG)
            await story(world)

    run_virtual(main)


@pytest.mark.parametrize("version", HABITS)
def test_one_read_tool_call_end_to_end(tmp_path: Path, version: str) -> None:
    async def story(world: World) -> None:
        answer = await world.chat("where is my order?")
        assert answer.status_code == 200, answer.text
        assert "n-77" in answer.json()["answer"]
        run_id = answer.json()["run_id"]
        [seen] = [seen for seen in world.third.log() if seen.path == "/order_lookup/lookup"]
        [row] = world.platform.ledger.rows("org-a")
        assert (row["run_id"], row["outcome"]) == (run_id, "OK")
        assert world.argv == ["hermes", "chat", "-Q", "-t", "humanwork", "-q", "where is my order?"]
        assert world.child_env["HUMANWORK_RUN_ID"] == run_id
        assert world.child_env["AGENT_SERVICE_SECRET"] == SECRET
        assert "PLATFORM_API_TOKEN" not in {**world.hermes_env, **world.child_env}
        tools = world.model.requests()[-1].tools
        assert tools is not None
        assert [name.split("humanwork")[1].strip("_") for name in tools] == ["order_lookup__lookup"]
        assert SECRET not in json.dumps([world.model.requests()[-1].messages, answer.text, str(seen)])

    in_world(tmp_path, version, story)


@pytest.mark.parametrize("version", HABITS)
def test_a_turn_without_tools_holds_no_secret_and_adds_no_tool(tmp_path: Path, version: str) -> None:
    async def story(world: World) -> None:
        world.model.script("order", Say("I can not look"))
        answer = await world.chat("where is my order?", skill=None)
        assert answer.json()["answer"] == "I can not look"
        assert world.argv == ["hermes", "chat", "-Q", "-q", "where is my order?"]
        assert "AGENT_SERVICE_SECRET" not in world.hermes_env
        assert world.child_env["AGENT_SERVICE_SECRET"] == "${AGENT_SERVICE_SECRET}"
        assert world.child_env["HUMANWORK_MCP_TOOLS"] == "${HUMANWORK_MCP_TOOLS}"
        with_server = world.model.requests()[-1].tools
        (tmp_path / "config.yaml").write_text(CONFIG)
        await world.chat("where is my order?", skill=None)
        assert with_server == world.model.requests()[-1].tools, "as if it were not registered"
        assert world.third.log() == []
        assert world.platform.ledger.rows("org-a") == []

    in_world(tmp_path, version, story)


def test_a_refusal_reaches_the_model_with_its_code(tmp_path: Path) -> None:
    async def story(world: World) -> None:
        world.platform.catalogue.put_org("org-a", {**ORG, "policies": {"order_lookup:lookup": "deny"}})
        answer = await world.chat("where is my order?")
        assert "POLICY_DENIED" in answer.json()["answer"]
        assert [row["outcome"] for row in world.platform.ledger.rows("org-a")] == ["POLICY_DENIED"]
        assert world.third.log() == []

    in_world(tmp_path, "0.19.0", story)


def test_registering_twice_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    assert register(tmp_path, "/opt/python").changed
    first = (tmp_path / "config.yaml").read_text()
    assert first.startswith(CONFIG)
    assert not register(tmp_path, "/opt/python").changed
