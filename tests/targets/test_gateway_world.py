"""A gateway in a virtual world: one turn from end to end, what the handle shows of it, its trouble, its parts' life."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import pytest

from lasttick.model.secret_fence import AGENT_SECRET, MCP_TOOLS
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick_fakes.model import BadScript, Call
from lasttick_fakes.thirdparty import BadTrouble

from .worlds import play, told

LOOKUP = Call.one("order_lookup__lookup", order_id="A-1")


async def ready(world: Any, **options: Any) -> Any:
    """A gateway with one organisation that may look up the order A-1, and a model that does so when asked for one."""
    gateway = await world.gateway(**{"flag": True, **options})
    await gateway.org("org-a", bindings=["order_lookup"], skills={"orders": ["order_lookup"]})
    await gateway.third_party.put_order("A-1", status="nonce-7")
    await gateway.model.script("order", LOOKUP, "It is {result}")
    return gateway


async def one_turn(world: Any) -> None:
    gateway = await ready(world)
    answer = await gateway.chat("org-a", "Where is my order?", skill="orders")
    assert "nonce-7" in answer.text


# -- one turn


def test_the_trace_tells_a_turn_in_order_under_one_run() -> None:
    events = play(one_turn)
    (run_id,) = [event.data["run_id"] for event in told(events, "chat.end")]
    assert [(event.actor, event.kind) for event in events if event.ref == run_id] == [
        ("agent", "agent.wire"),
        ("hermes", "hermes.start"),
        ("hermes", "child.start"),
        ("model", "model.request"),
        ("platform", "gateway.call"),
        ("third-party", "third.request"),
        ("third-party", "third.answer"),
        ("platform", "gateway.answer"),
        ("model", "model.request"),
        ("hermes", "hermes.end"),
    ]
    (asked, _) = told(events, "model.request")
    assert asked.data["tools"] == ["mcp__humanwork__order_lookup__lookup"]
    assert asked.data["prompt"] == "Where is my order?"
    (answered,) = told(events, "gateway.answer")
    assert (answered.data["status"], answered.data["code"]) == (200, None)


def test_the_same_seed_gives_the_same_trace_and_another_seed_other_secrets() -> None:
    first, again, other = play(one_turn), play(one_turn), play(one_turn, seed=2)
    assert [event.hashed() for event in first] == [event.hashed() for event in again]
    assert told(first, "chat.end")[0].data["run_id"] != told(other, "chat.end")[0].data["run_id"]


def test_what_the_handle_shows_of_a_turn() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        answer = await gateway.chat("org-a", "Where is my order?", skill="orders")
        (turn,) = await gateway.hermes_turns()
        assert turn.run_id == answer.run_id
        assert turn.argv[-5:] == ("-Q", "-t", "humanwork", "-q", "Where is my order?")
        assert turn.env[MCP_TOOLS] == "order_lookup:lookup"
        assert turn.env[AGENT_SECRET] == gateway.secrets.agent_secret
        assert turn.status == 0
        (child,) = turn.children
        assert child.argv[-1] == "lasttick.reference.gateway.humanwork"
        assert child.env[AGENT_SECRET] == gateway.secrets.agent_secret
        (wire,) = await gateway.wires()
        assert json.loads(wire)["mcp_tools"] == ["order_lookup:lookup"]
        (row,) = await gateway.ledger("org-a")
        assert row["outcome"] == "OK"
        assert (await gateway.run(answer.run_id))["state"] == "finished"
        assert [run["id"] for run in await gateway.runs("org-a")] == [answer.run_id]
        (seen,) = await gateway.third_party.log()
        assert seen.header("X-Correlation-Id") == answer.run_id
        assert len(await gateway.model.requests()) == 2
        assert len(await gateway.model.requests(after=1)) == 1
        assert b"humanwork" in gateway.config_path.read_bytes()
        assert list(gateway.pids) == ["platform", "agent", "third_party", "model"]

    play(story)


def test_without_a_skill_or_with_the_flag_off_there_is_no_tool() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        await gateway.model.script("order", "I can not look.")
        assert (await gateway.chat("org-a", "My order?")).text == "I can not look."
        await gateway.change_org("org-a", flags={"tool_dispatch_enabled": False})
        assert (await gateway.chat("org-a", "My order?", skill="orders")).text == "I can not look."
        for turn in await gateway.hermes_turns():
            assert "-t" not in turn.argv
            assert AGENT_SECRET not in turn.env
            (child,) = turn.children
            assert child.env[AGENT_SECRET] == "${AGENT_SERVICE_SECRET}"
        assert await gateway.third_party.log() == []

    play(story)


def test_regenerating_consulting_and_staff() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        again = await gateway.chat("org-a", "My order?", skill="orders", regenerate=True, conversation_id="c-1")
        assert "nonce-7" in again.text
        await gateway.model.script("order", "no tools here")
        assert (await gateway.consult("org-a", "My order?")).text == "no tools here"
        assert (await gateway.chat(None, "My order?", skill="orders", channel="phone")).run_id is None
        wires = [json.loads(wire) for wire in await gateway.wires()]
        assert [wire.get("mcp_tools") for wire in wires] == [["order_lookup:lookup"], None, None]
        assert wires[0]["conversation_id"] == "c-1"

    events = play(story)
    assert [event.data["site"] for event in told(events, "chat.start")] == ["regenerate", "consultations", "messages"]
    assert [event.actor for event in told(events, "chat.start")] == ["org-a", "org-a", "staff"]


@pytest.mark.parametrize(("version", "name"), [("0.17.0", "mcp_humanwork_"), ("0.19.0", "mcp__humanwork__")])
def test_either_version_of_the_agent_program(version: str, name: str) -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, hermes_version=version)
        await gateway.chat("org-a", "My order?", skill="orders")
        assert (await gateway.model.requests())[0].tools == (f"{name}order_lookup__lookup",)

    play(story)


# -- secrets


def test_no_secret_stands_in_the_trace_in_any_disguise() -> None:
    secrets: list[str] = []

    async def story(world: Any) -> None:
        gateway = await ready(world, credentials={"order_lookup": {"api_key": "the-key-of-the-shop"}})
        secrets.extend([gateway.secrets.agent_secret, gateway.secrets.admin_token, gateway.chat_token("org-a")])
        token = gateway.token("org-a")
        secrets.append(token)
        leaky = base64.b64encode(gateway.secrets.agent_secret.encode()).decode()
        secrets.append(leaky.rstrip("=")[:-1])
        await gateway.chat("org-a", f"order {token} {leaky} {secrets[1]} the-key-of-the-shop", skill="orders")
        await gateway.execute({"x-agent-secret": secrets[0]}, {"orgId": secrets[0], "runId": secrets[1]})
        with pytest.raises(AssertionError, match="gave HTTP 400"):
            await gateway.org("org-b", flags={"x": 1}, bindings=[{"slug": secrets[0]}])

    events = play(story)
    text = "\n".join(event.hashed().decode() for event in events)
    for secret in [*secrets, "the-key-of-the-shop"]:
        assert secret not in text
    assert "[agent-secret]" in text
    assert "[credential]" in text


def test_a_runners_token_is_what_the_scenario_says() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        body = {"orgId": "", "runId": run.id, "toolName": "order_lookup", "action": "lookup", "input": {}}

        async def status(**claims: Any) -> int:
            token = gateway.token(**{"org_id": "org-a", **claims})
            return int((await gateway.execute({"authorization": f"Bearer {token}"}, body)).http_status)

        assert await status() == 404, "a body's org of its own is not the caller's"
        body["orgId"] = "org-a"
        assert await status() == 502
        for wrong in ({"exp": None}, {"exp": int(world.wall_s)}, {"aud": ["runner"]}, {"role": "x"}, {"key": "k" * 32}):
            assert await status(**wrong) == 401, wrong
        await run.end()

    play(story)


# -- runs that are held open


def test_a_run_is_active_until_it_is_ended() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders", text="wait for me")
        assert (run.wire["text"], run.wire["mcp_tools"]) == ("wait for me", ["order_lookup:lookup"])
        for door in ("internal", "runner"):
            got = await run.call("order_lookup:lookup", {"order_id": "A-1"}, door=door)
            assert got.result == {"order": {"order_id": "A-1", "status": "nonce-7"}}
        assert (await run.call("order_lookup:lookup", org_id="org-b")).code == "RUN_NOT_FOUND"
        assert (await run.call("order_lookup:lookup", body_org_id="org-b", door="runner")).code == "RUN_NOT_FOUND"
        await gateway.set_manifest(run.id, [])
        assert (await run.call("order_lookup:lookup")).code == "NOT_IN_MANIFEST"
        assert (await run.end("over")).text == "over"
        assert (await run.call("order_lookup:lookup")).code == "RUN_NOT_ACTIVE"

    play(story)


def test_two_runs_are_held_apart_and_one_is_finished_by_the_operator() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        one, two = await gateway.open_run("org-a", skill="orders"), await gateway.open_run("org-a", skill="orders")
        assert one.id != two.id
        await gateway.finish(one.id)
        assert (await one.call("order_lookup:lookup")).code == "RUN_NOT_ACTIVE"
        assert (await two.call("order_lookup:lookup", {"order_id": "A-1"})).ok
        assert (await two.end("two")).answer == "two"
        assert (await one.end("one")).answer == "one"

    play(story)


def test_a_run_left_open_does_not_keep_the_world_from_ending() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        await gateway.open_run("org-a", skill="orders")

    play(story)


def test_only_a_chat_that_broke_off_is_broken_off() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        await run.end()
        with pytest.raises(AssertionError, match="expected a chat that broke off"):
            await run.broken_off()

    play(story)


def test_a_chat_that_never_comes_to_the_agent_says_why() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        with pytest.raises(AssertionError, match=r"without a turn of the agent.*http_status=400"):
            await gateway.open_run("org-a", channel="")

    play(story)


def test_open_run_needs_the_stand_in() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        with pytest.raises(AssertionError, match='agent="held"'):
            await gateway.open_run("org-a")

    play(story)


# -- options


def test_registry_credentials_and_flag_are_for_every_organisation() -> None:
    registry = {"crm": {"kind": "http", "actions": [{"name": "find", "accessClass": "read"}], "credentials": ["key"]}}

    async def story(world: Any) -> None:
        gateway = await world.gateway(flag=True, registry=registry, credentials={"crm": {"key": "v"}}, agent="held")
        await gateway.org("org-a", bindings=[{"slug": "crm", "state": "published"}], skills={"s": ["crm"]})
        await gateway.org("org-b", bindings=["crm"], skills={"s": ["crm"]}, credentials={}, flags={"x": 1})
        document = await gateway.document("org-a")
        assert document["credentials"] == {"crm": {"key": "v"}}
        assert document["flags"] == {"tool_dispatch_enabled": True}
        assert (await gateway.document("org-b"))["flags"] == {"x": 1}
        run = await gateway.open_run("org-a", skill="s")
        assert run.wire["mcp_tools"] == ["crm:find"]
        await run.call("crm:find", {})
        (seen,) = await gateway.third_party.log()
        assert seen.header("x-key") == "v"

    play(story)


def test_without_the_option_the_flag_is_not_there_at_all() -> None:
    async def story(world: Any) -> None:
        gateway = await world.gateway(agent="held")
        await gateway.org("org-a")
        assert (await gateway.document("org-a"))["flags"] == {}

    play(story)


def test_the_operators_config_is_there_before_the_first_boot() -> None:
    text = "# mine\nmodel: {default: scripted-model, provider: custom, base_url: '{model_url}/v1', api_key: k}\n"

    async def story(world: Any) -> None:
        gateway = await ready(world, config_yaml=text)
        kept = gateway.config_path.read_text()
        assert kept.startswith("# mine\n")
        assert gateway.model.url in kept
        assert "nonce-7" in (await gateway.chat("org-a", "My order?", skill="orders")).text

    play(story)


def test_a_config_that_can_not_be_merged_gives_an_agent_without_tools() -> None:
    text = "model: {default: m, base_url: '{model_url}/v1', api_key: k}\nmcp_servers: [\n"

    async def story(world: Any) -> None:
        gateway = await world.gateway(config_yaml=text.encode(), flag=True)
        assert "humanwork" not in gateway.config_path.read_text()

    play(story)


def test_a_server_that_is_no_humanwork_does_not_start_in_a_virtual_world() -> None:
    text = (
        "model: {default: m, provider: custom, base_url: '{model_url}/v1', api_key: k}\n"
        "mcp_servers: {other: {command: cat, args: []}}\n"
    )

    async def story(world: Any) -> None:
        gateway = await ready(world, config_yaml=text)
        assert "nonce-7" in (await gateway.chat("org-a", "My order?", skill="orders")).text
        (turn,) = await gateway.hermes_turns()
        assert [child.argv[0] for child in turn.children].count("cat") == 4, "it is tried four times"

    play(story)


def test_the_environments_of_the_containers() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(
            world, agent_environ={"HERMES_X": "1", "MY_PASSWORD": "2"}, platform_environ={"AGENT_SERVICE_SECRET": ""}
        )
        answer = await gateway.chat("org-a", "My order?", skill="orders")
        assert answer.http_status == 502, "the agent knows a secret, the platform none"
        direct = await gateway.execute({"x-agent-secret": ""}, {"orgId": "org-a"})
        assert direct.http_status == 401

    play(story)


@pytest.mark.parametrize(
    "options",
    [
        {"platform_environ": {"RUNNER_JWT_SECRET": "short"}},
        {"platform_environ": {"DATABASE_URL": "no url"}},
        {"agent_environ": {"PLATFORM_API_URL": "no url"}},
    ],
)
def test_a_part_that_refuses_to_start(options: dict[str, Any]) -> None:
    async def story(world: Any) -> None:
        with pytest.raises(StartRefused, match="expected"):
            await world.gateway(**options)

    play(story)


def test_another_agent_program_needs_processes() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(Inconclusive, match="in process mode only"):
            await world.gateway(hermes_command="hermes")

    play(story)


def test_an_option_that_does_not_exist() -> None:
    async def story(world: Any) -> None:
        with pytest.raises(TypeError, match="hermes_verison"):
            await world.gateway(hermes_verison="0.17.0")

    play(story)


def test_two_gateways_of_a_world_have_nothing_in_common() -> None:
    async def story(world: Any) -> None:
        one, two = await ready(world), await ready(world, flag=False)
        assert one.platform_url != two.platform_url
        assert one.secrets != two.secrets
        await one.chat("org-a", "My order?", skill="orders")
        assert len(await one.ledger("org-a")) == 1
        assert await two.ledger("org-a") == []
        assert await two.third_party.log() == []

    play(story)


# -- trouble


@pytest.mark.parametrize(
    ("kind", "options", "status", "code"),
    [
        ("5xx", {"status": 503}, 503, None),
        ("garbage", {"shape": "half"}, 200, None),
        ("redirect", {"to": "http://127.0.0.1:7102/order_lookup/lookup"}, 307, None),
        ("slow", {"s": 5.0}, 200, None),
    ],
)
def test_the_gateway_in_trouble_as_its_caller_sees_it(kind: str, options: Any, status: int, code: str | None) -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        await gateway.trouble(kind, **options)
        got = await run.call("order_lookup:lookup", {"order_id": "A-1"})
        assert (got.http_status, got.code) == (status, code)
        assert world.now_s == (5.0 if kind == "slow" else 0.0)
        assert len(await gateway.third_party.log()) == (1 if kind == "slow" else 0)
        if kind == "redirect":
            assert ("location", options["to"]) in got.headers
        await gateway.heal()
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).ok

    events = play(story)
    assert [event.data["what"] for event in told(events, "trouble")] == [f"gateway {kind}", "gateway heal"]


def test_a_gateway_that_is_down_in_a_turn_is_a_tool_error_and_the_turn_goes_on() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        await gateway.trouble("down", count=1)
        answer = await gateway.chat("org-a", "My order?", skill="orders")
        assert "GATEWAY_UNREACHABLE" in answer.text
        assert "nonce-7" in (await gateway.chat("org-a", "My order?", skill="orders")).text

    play(story)


def test_no_such_trouble() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        with pytest.raises(BadTrouble, match="unknown trouble 'odd'"):
            await gateway.trouble("odd")
        with pytest.raises(AssertionError, match="the redirect is not complete"):
            await gateway.trouble("redirect")
        with pytest.raises(AssertionError, match="unknown trouble 'odd'"):
            await gateway.third_party.trouble("odd")
        with pytest.raises(BadScript, match="0 steps"):
            await gateway.model.script("word")

    play(story)


def test_the_third_party_in_trouble() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held", upstream_s=3.0)
        run = await gateway.open_run("org-a", skill="orders")
        await gateway.third_party.trouble("slow", s=10.0)
        got = await run.call("order_lookup:lookup", {"order_id": "A-1"})
        assert (got.http_status, got.code, world.now_s) == (504, "UPSTREAM_TIMEOUT", 3.0)
        await gateway.third_party.heal()
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).ok
        assert await gateway.third_party.order("A-1") == {"order_id": "A-1", "status": "nonce-7"}

    play(story)


def test_a_turn_is_bounded() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, turn_s=8.0)
        await gateway.model.script("order", Call.one("order_lookup__lookup", after_s=100.0))
        answer = await gateway.chat("org-a", "My order?", skill="orders")
        assert (answer.http_status, world.now_s) == (504, 8.0)
        (turn,) = await gateway.hermes_turns()
        assert turn.status is None

    play(story)


# -- life of the parts


def test_the_platform_keeps_what_it_knows_over_a_restart_and_ends_open_runs() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        await run.call("order_lookup:lookup", {"order_id": "A-1"})
        await gateway.restart()
        assert (await run.ended()).body["code"] == "PLATFORM_STOPPING"
        assert (await gateway.run(run.id))["state"] == "finished"
        assert (await run.call("order_lookup:lookup", {"order_id": "A-1"})).code == "RUN_NOT_ACTIVE"
        assert [row["outcome"] for row in await gateway.ledger("org-a")] == ["OK", "RUN_NOT_ACTIVE"]

    events = play(story)
    assert [(event.actor, event.kind) for event in events if event.kind.startswith("part.")] == [
        ("gateway", "part.start"),
        ("platform", "part.stop"),
        ("platform", "part.start"),
    ]


def test_an_agent_that_goes_in_a_turn_ends_the_run() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        await gateway.restart("agent")
        assert (await run.ended()).http_status == 502
        assert (await gateway.run(run.id))["state"] == "finished"

    play(story)


def test_an_agent_that_boots_again_changes_no_byte_of_its_configuration() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        before = gateway.config_path.read_bytes()
        await gateway.restart("agent")
        assert gateway.config_path.read_bytes() == before
        assert "nonce-7" in (await gateway.chat("org-a", "My order?", skill="orders")).text

    play(story)


def test_after_its_end_nobody_answers() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world, agent="held")
        run = await gateway.open_run("org-a", skill="orders")
        await gateway.shut()
        assert (await run.ended()).body["code"] == "PLATFORM_STOPPING"
        for url in (gateway.platform_url, gateway.agent_url, gateway.third_party.url, gateway.model.url):
            with pytest.raises(httpx.ConnectError):
                await world.get(url)

    play(story)


def test_nobody_is_killed_in_one_process() -> None:
    async def story(world: Any) -> None:
        gateway = await ready(world)
        with pytest.raises(Inconclusive, match="in process mode only"):
            await gateway.kill("platform")

    play(story)
