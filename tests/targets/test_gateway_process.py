"""A gateway as real processes: who they are, what they inherit, how they end. Slow: each turn starts two programs.

Where lasttick is not installed from this checkout, the agent program's MCP server would be another checkout's.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import lasttick
from lasttick.engine.trace import Event, Trace
from lasttick.model.secret_fence import AGENT_SECRET
from lasttick.mutants import Mutant, catalogue
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.process import ProcessWorld
from lasttick_fakes.model import Call

from .worlds import told

LOOKUP = Call.one("order_lookup__lookup", order_id="A-1")
CANARY = "LASTTICK_CANARY"


@cache
def installed_here() -> bool:
    """`-I` takes no PYTHONPATH: is the lasttick that such an interpreter finds this one?"""
    found = subprocess.run(
        [sys.executable, "-I", "-c", "import lasttick; print(lasttick.__file__)"], capture_output=True, text=True
    )
    return found.stdout.strip() == lasttick.__file__


whole_turns = pytest.mark.skipif("not installed_here()", reason="lasttick is not installed from this checkout")


def play(story: Callable[[Any], Awaitable[Any]], mutant: Mutant | None = None) -> list[Event]:
    trace = Trace()

    async def main(folder: str) -> None:
        world = ProcessWorld(seed=1, trace=trace, path=Path(folder), mutant=mutant)
        try:
            await story(world)
        except BaseException:
            await world.abandon()
            raise
        else:
            await world.close()
        finally:
            world.write_history()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(folder))
    return trace.events


async def ready(world: Any, **options: Any) -> Any:
    gateway = await world.gateway(**{"flag": True, **options})
    await gateway.org("org-a", bindings=["order_lookup"], skills={"orders": ["order_lookup"]})
    await gateway.third_party.put_order("A-1", status="nonce-7")
    await gateway.model.script("order", LOOKUP, "It is {result}")
    return gateway


@whole_turns
def test_a_turn_runs_in_six_processes_and_the_trace_tells_it_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CANARY, "1")
    secrets: list[str] = []

    async def story(world: Any) -> None:
        gateway = await ready(world, agent_environ={CANARY: "2"})
        answer = await gateway.chat("org-a", "Where is my order?", skill="orders")
        assert "nonce-7" in answer.text
        (turn,) = await gateway.hermes_turns()
        (child,) = turn.children
        pids = [*gateway.pids.values(), turn.program.pid, child.pid]
        assert len(dict.fromkeys(pids)) == 6, pids
        assert os.getpid() not in pids
        assert turn.env[AGENT_SECRET] == child.env[AGENT_SECRET] == gateway.secrets.agent_secret
        assert CANARY not in turn.env, "neither the test process's variable nor the container's passes the fence"
        assert sorted(name for name in child.env if name.startswith("HUMANWORK_")) == [
            "HUMANWORK_MCP_TOOLS",
            "HUMANWORK_ORG_ID",
            "HUMANWORK_RUN_ID",
        ]
        (wire,) = await gateway.wires()
        assert '"mcp_tools":["order_lookup:lookup"]' in wire
        secrets.extend([gateway.secrets.agent_secret, gateway.secrets.admin_token])

    events = play(story)
    (run_id,) = [event.data["run_id"] for event in told(events, "chat.end")]
    assert [event.kind for event in events if event.ref == run_id] == [
        "agent.wire",
        "hermes.start",
        "child.start",
        "model.request",
        "gateway.call",
        "third.request",
        "gateway.answer",
        "model.request",
        "hermes.end",
    ]
    text = "\n".join(event.hashed().decode() for event in events)
    assert not any(secret in text for secret in secrets)


def test_a_run_held_open_trouble_and_the_ends_of_the_parts() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held", upstream_s=1.0)
        run = await gateway.open_run("org-a", skill="orders")
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).ok
        await gateway.trouble("5xx", count=1)
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).http_status == 503
        await gateway.third_party.trouble("slow", s=5, count=1)
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).code == "UPSTREAM_TIMEOUT"
        assert (await run.end("over")).text == "over"

        left = await gateway.open_run("org-a", skill="orders")
        await gateway.kill("platform")
        await left.broken_off()
        await gateway.restart("platform")
        assert (await gateway.run(left.id))["state"] == "finished"
        assert (await left.call("order_lookup:lookup")).code == "RUN_NOT_ACTIVE"
        stopped = await gateway.open_run("org-a", skill="orders")
        before_s = world.now_s
        await gateway.restart("platform")
        assert (await stopped.ended()).body["code"] == "PLATFORM_STOPPING"
        assert world.now_s - before_s < 8, "an open turn does not keep the platform from stopping"
        let_go = await gateway.open_run("org-a", skill="orders")
        await gateway.restart("agent")
        assert (await let_go.ended()).body["code"] == "AGENT_ERROR"
        await gateway.open_run("org-a", skill="orders")  # left open to the world's end

    events = play(story)
    assert [event.kind for event in events if event.kind.startswith("part.")] == [
        "part.start",
        "part.kill",
        "part.start",
        "part.stop",
        "part.start",
        "part.stop",
        "part.start",
    ]
    assert len(told(events, "agent.wire")) == 5


@whole_turns
def test_a_mutant_is_one_in_every_process_that_runs_our_code() -> None:
    (mutant, *_) = catalogue()

    async def story(world: Any) -> None:
        gateway = await ready(world)
        assert f'"--mutant", "{mutant.id}"' in gateway.config_path.read_text()
        assert "nonce-7" in (await gateway.chat("org-a", "Where is my order?", skill="orders")).text
        (turn,) = await gateway.hermes_turns()
        assert turn.children[0].argv[-4:] == ("serve", "humanwork", "--mutant", mutant.id)

    play(story, mutant)


def test_another_agent_program_in_the_fakes_place() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, hermes_command=f"{sys.executable} -c 'import sys; print(sys.argv[1:])'")
        answer = await gateway.chat("org-a", "hi", skill="orders")
        assert answer.text == "['chat', '-Q', '-t', 'humanwork', '-q', 'hi']"
        (turn,) = await gateway.hermes_turns()
        assert (turn.argv[0], turn.status) == (sys.executable, 0)

    play(story)


def test_what_process_mode_refuses() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(StartRefused, match="RUNNER_JWT_SECRET is too short"):
            await world.gateway(agent="held", platform_environ={"RUNNER_JWT_SECRET": "short"})
        assert not world._gateway._children["agent"].running, "what had started already is stopped"
        with pytest.raises(Inconclusive, match="a second gateway exists in virtual mode only"):
            world.gateway_part(None, 1, None)

    play(story)
