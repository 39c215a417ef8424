"""The official MCP conformance suite: what it calls, told by our own client; and the suite itself, before the door.

In virtual mode our client asks what the suite asks. In process mode the suite itself does, through the bearer door.
"""

from __future__ import annotations

import base64
import os
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.client import McpClient

ERAS = ("handshake", "modern")
SIMPLE_TEXT = "This is a simple text response for testing."
ERROR_TEXT = "This tool intentionally returns an error for testing"
NEEDED = {
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool",
    "test_missing_capability",
    "test_logging_tool",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    *(
        f"test_input_required_result_{name}"
        for name in (
            "elicitation",
            "sampling",
            "list_roots",
            "request_state",
            "multiple_inputs",
            "multi_round",
            "tampered_state",
            "capabilities",
        )
    ),
}
OWN_TOOLS = 11
CAN = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


async def built(world: World, **options: Any) -> Any:
    """A host agent as the suite meets it: with its fixtures, answering in event streams."""
    return await world.hostagent(fixtures=True, sse=True, **options)


def contents(reply: Any) -> list[dict[str, Any]]:
    assert reply.error is None, f"expected a result, got {reply.error}"
    return list(reply.result["content"])


def notes(reply: Any, method: str) -> list[dict[str, Any]]:
    """The notifications of that method on the stream of this call, before its answer."""
    return [message["params"] for message in reply.messages if message.get("method") == method]


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_what_the_suite_lists_is_described_and_whole(world: World, era: str) -> None:
    """The tools, resources and prompts that the suite looks for, beside the eleven of the devices. Each has a
    description, each tool an object schema, and a schema of JSON Schema 2020-12 keeps every keyword."""
    client = (await (await built(world)).client("suite", era=era)).raw
    tools = {tool["name"]: tool for tool in (await client.list_tools()).result["tools"]}
    assert tools.keys() >= NEEDED, f"missing: {sorted(NEEDED - tools.keys())}"
    assert len([name for name in tools if "test_" not in name and not name.startswith("json_")]) == OWN_TOOLS
    for name, tool in tools.items():
        assert tool.get("description"), f"{name} must have a description"
        assert tool["inputSchema"]["type"] == "object", f"{name} must take an object"
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$defs"]["address"]["$anchor"]
    assert schema["additionalProperties"] is False
    assert {"allOf", "if", "then", "else"} <= schema.keys()
    assert any("anyOf" in one for one in schema["allOf"])

    resources = {one["uri"]: one for one in (await client.request("resources/list", {})).result["resources"]}
    assert {"test://static-text", "test://static-binary", "test://watched-resource"} <= resources.keys()
    prompts = {one["name"]: one for one in (await client.request("prompts/list", {})).result["prompts"]}
    assert {"test_simple_prompt", "test_prompt_with_arguments", "test_prompt_with_image"} <= prompts.keys()
    for uri, one in (resources | prompts).items():
        assert one.get("description"), f"{uri} must have a description"


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_the_fixture_tools_say_what_the_suite_expects(world: World, era: str) -> None:
    """Text, image, sound and embedded resources. The two texts are compared to the letter, since the suite also passes
    on a server that has no such tool; a tool that fails says so in its result, not as a protocol error."""
    client = (await (await built(world)).client("suite", era=era)).raw
    assert contents(await client.call("test_simple_text")) == [{"type": "text", "text": SIMPLE_TEXT}]
    failing = await client.call("test_error_handling")
    assert contents(failing) == [{"type": "text", "text": ERROR_TEXT}]
    assert failing.result["isError"] is True
    unknown = await client.call("test_no_such_tool")
    assert unknown.error is not None, f"an unknown tool must be an error, got {unknown.result}"
    assert unknown.error.code == -32602

    (image,) = contents(await client.call("test_image_content"))
    assert image["mimeType"] == "image/png"
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    (sound,) = contents(await client.call("test_audio_content"))
    assert sound["mimeType"] == "audio/wav"
    assert base64.b64decode(sound["data"])[8:12] == b"WAVE"
    (inner,) = contents(await client.call("test_embedded_resource"))
    assert inner["resource"]["text"] == "This is an embedded resource content."
    mixed = contents(await client.call("test_multiple_content_types"))
    assert [one["type"] for one in mixed] == ["text", "image", "resource"]


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_progress_comes_on_the_stream_of_its_call(world: World, era: str) -> None:
    """A call with a progress token: 0, 50 and 100 of 100, in order and before the answer, on the call's own stream. A
    call without a token is told nothing."""
    client = (await (await built(world)).client("suite", era=era)).raw
    params = {"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p-1"}}
    told = notes(await client.request("tools/call", params), "notifications/progress")
    assert [(one["progressToken"], one["progress"], one["total"]) for one in told] == [
        ("p-1", 0, 100),
        ("p-1", 50, 100),
        ("p-1", 100, 100),
    ]
    assert notes(await client.call("test_tool_with_progress"), "notifications/progress") == []


@scenario("HA-21")
async def test_log_lines_come_as_the_revision_has_it(world: World) -> None:
    """A tool that logs three lines, in both eras. With a session they come on the call's own stream; in 2026-07-28
    they come to the request that asks for them, and nothing to one that does not."""
    host = await built(world)
    client = (await host.client("suite")).raw
    assert (await client.request("logging/setLevel", {"level": "info"})).result == {}
    lines = notes(await client.call("test_tool_with_logging"), "notifications/message")
    assert [line["data"] for line in lines] == [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ]
    modern = (await host.client("modern", era="modern")).raw
    silent = await modern.call("test_logging_tool")
    assert contents(silent)
    assert notes(silent, "notifications/message") == []
    asking = {"name": "test_logging_tool", "arguments": {}, "_meta": {LOG_LEVEL: "info"}}
    assert len(notes(await modern.request("tools/call", asking), "notifications/message")) == 3


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_resources_prompts_and_completions_are_read(world: World, era: str) -> None:
    """What the suite reads: a text, an image, a template, four prompts, a completion; a session also pings and
    subscribes. The texts are those that the suite describes."""
    client = (await (await built(world)).client("suite", era=era)).raw

    async def read(uri: str) -> dict[str, Any]:
        (found,) = (await client.request("resources/read", {"uri": uri})).result["contents"]
        assert found["uri"] == uri
        return dict(found)

    assert (await read("test://static-text"))["text"] == "This is the content of the static text resource."
    assert base64.b64decode((await read("test://static-binary"))["blob"]).startswith(b"\x89PNG")
    assert '"id":"123"' in (await read("test://template/123/data"))["text"]

    async def prompt(name: str, **arguments: str) -> list[dict[str, Any]]:
        reply = await client.request("prompts/get", {"name": name, "arguments": arguments})
        return [message["content"] for message in reply.result["messages"]]

    assert (await prompt("test_simple_prompt"))[0]["text"] == "This is a simple prompt for testing."
    filled = (await prompt("test_prompt_with_arguments", arg1="hello", arg2="world"))[0]["text"]
    assert filled == "Prompt with arguments: arg1='hello', arg2='world'"
    inner = await prompt("test_prompt_with_embedded_resource", resourceUri="test://example")
    assert inner[0]["resource"]["uri"] == "test://example"
    assert (await prompt("test_prompt_with_image"))[0]["type"] == "image"
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    argument = {"name": "arg1", "value": "par"}
    reply = await client.request("completion/complete", {"ref": ref, "argument": argument})
    assert reply.result["completion"]["values"] == ["paris", "park", "party"]
    if era == "handshake":
        watched = {"uri": "test://watched-resource"}
        for method, params in (("ping", {}), ("resources/subscribe", watched), ("resources/unsubscribe", watched)):
            assert (await client.request(method, params)).result == {}, f"{method} must be answered with nothing"


@scenario("HA-21")
@pytest.mark.parametrize("fixtures", [True, False], ids=["fixtures", "as-it-is"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_that_is_not_there_is_an_error(world: World, era: str, fixtures: bool) -> None:
    """A resource that nobody has is read, with and without fixtures. -32602 with its URI in the data, never a result of
    nothing."""
    host = await world.hostagent(fixtures=fixtures, sse=fixtures)
    client = (await host.client("suite", era=era)).raw
    reply = await client.request("resources/read", {"uri": "test://nowhere"})
    assert reply.error is not None, f"expected an error, got {reply.result}"
    assert reply.error.code == -32602
    assert reply.error.data["uri"] == "test://nowhere"


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_without_the_option_there_is_no_fixture(world: World, era: str) -> None:
    """A host agent as it is: eleven tools, no resources, no prompts, and lists that say so. No fixture can be called,
    completed or subscribed to."""
    host = await world.hostagent()
    client = (await host.client("suite", era=era)).raw
    assert len((await client.list_tools()).result["tools"]) == OWN_TOOLS
    for method, key in (
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ):
        reply = await client.request(method, {})
        assert reply.error is None, f"{method} must list nothing, got {reply.error}"
        assert reply.result[key] == []
    for tool in sorted(NEEDED):
        reply = await client.call(tool)
        assert reply.error is not None, f"{tool} was called: {reply.result}"
        assert reply.error.data["reason"] == "unknown_tool"
    assert (await client.request("prompts/get", {"name": "test_simple_prompt"})).error is not None
    assert (await client.request("completion/complete", {})).error is not None


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_fixtures_need_no_session_and_take_no_lease(world: World, era: str) -> None:
    """Every fixture tool is called by a client with and by one without a session. None is refused for want of a
    session, and no device is held or touched."""
    host = await built(world)
    client = (await host.client("suite", era=era)).raw
    for tool in sorted(NEEDED - {"test_sampling"} if era == "handshake" else NEEDED):
        reply = await client.call(tool, prompt="?", message="?")
        reason = (reply.error.data or {}).get("reason") if reply.error is not None else None
        assert reason not in ("no_session", "device_busy", "unknown_device"), f"{tool}: {reply.error}"
    assert await host.busy() == []
    assert world.device("phone-1").calls == 0


@scenario("HA-21")
async def test_what_the_server_asks_for_is_answered_in_the_next_round(world: World) -> None:
    """2026-07-28: a call is answered with a question, and comes again with the answer and the server's state. A changed
    state is refused; a client is asked only for what it can do, and told which capability it lacks."""
    client = (await (await built(world)).client("suite", era="modern")).raw

    async def call(tool: str, can: dict[str, Any], **more: Any) -> Any:
        name = f"test_input_required_result_{tool}"
        return await client.request("tools/call", {"name": name, "arguments": {}, "_meta": {CAN: can}, **more})

    can: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    first = (await call("elicitation", can)).result
    assert first["resultType"] == "input_required"
    assert first["inputRequests"]["user_name"]["method"] == "elicitation/create"
    answer = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}
    assert contents(await call("elicitation", can, inputResponses=answer)) == [{"type": "text", "text": "Hello, Ada!"}]
    again = (await call("elicitation", can, inputResponses={"other": answer["user_name"]})).result
    assert again["resultType"] == "input_required", "an answer to another question is no answer"

    state = (await call("request_state", can)).result["requestState"]
    confirm = {"confirm": {"action": "accept", "content": {"ok": True}}}
    good = await call("request_state", can, inputResponses=confirm, requestState=state)
    assert "state-ok" in contents(good)[0]["text"]
    for changed in (state[:-1] + ("0" if state[-1] != "0" else "1"), "A" + state[1:], state + "x", "nonsense", ""):
        bad = await call("tampered_state", can, inputResponses=confirm, requestState=changed)
        assert bad.error is not None, f"the state {changed!r} was believed: {bad.result}"
        assert bad.error.code == -32602

    asked = (await call("capabilities", {"sampling": {}})).result["inputRequests"].values()
    assert [one["method"] for one in asked] == ["sampling/createMessage"]
    lacking = await client.call("test_missing_capability")
    assert lacking.error is not None, "a capability that was not declared must not be relied on"
    assert (lacking.http_status, lacking.error.code) == (400, -32021)
    assert lacking.error.data["requiredCapabilities"] == {"sampling": {}}


@scenario("HA-21")
async def test_headers_and_envelope_of_2026_07_28_are_checked(world: World) -> None:
    """Requests whose headers or envelope do not fit, on a host agent as it is: 400 with -32020 for a header that says
    otherwise than the body, -32602 for a missing envelope, -32022 with what is supported for an unknown version, and
    404 with -32601 for methods that the revision does not have."""
    client = (await (await world.hostagent()).client("suite", era="modern")).raw

    async def refused(status: int, code: int, method: str, **how: Any) -> Any:
        reply = await client.request(method, how.pop("params", {}), **how)
        assert reply.error is not None, f"{method} {how}: expected an error, got {reply.result}"
        assert (reply.http_status, reply.error.code) == (status, code), f"{method} {how}: {reply.error}"
        return reply

    await refused(400, -32020, "tools/list", headers={"mcp-method": "tools/call"})
    call = {"name": "list_devices", "arguments": {}}
    await refused(400, -32020, "tools/call", params=call, headers={"mcp-name": "tap"})
    old = await refused(400, -32022, "server/discover", params=of_version("1999-01-01"), headers=version("1999-01-01"))
    assert "2026-07-28" in old.error.data["supported"]
    assert old.error.data["requested"] == "1999-01-01"
    await refused(400, -32020, "server/discover", headers=version("1999-01-01"))
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "unknown/method"):
        await refused(404, -32601, method)
    bare = b'{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}'
    reply = await client.post(bare, {**version("2026-07-28"), "mcp-method": "server/discover"})
    assert (reply.http_status, reply.error.code) == (400, -32602)
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        result = (await client.request(method, {})).result
        assert result["ttlMs"] >= 0, f"{method} must say for how long it holds"
        assert result["cacheScope"] in ("public", "private")


def version(name: str) -> dict[str, str]:
    return {"mcp-protocol-version": name}


def of_version(name: str) -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/protocolVersion": name}}


@scenario("HA-21")
@pytest.mark.parametrize("fixtures", [True, False], ids=["fixtures", "as-it-is"])
async def test_foreign_hosts_and_origins_are_refused(world: World, fixtures: bool) -> None:
    """DNS rebinding: a request whose Host or Origin is that of another site. Refused with the right token, with and
    without fixtures; loopback's own names pass."""
    host = await world.hostagent(fixtures=fixtures, sse=fixtures)
    client = (await host.client("suite")).raw
    port = client.url.port
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"host": f"evil.example:{port}"}):
        reply = await client.request("ping", {}, headers=headers)
        assert 400 <= reply.http_status < 500, f"{headers} was served with HTTP {reply.http_status}"
        assert reply.http_status != 401, "refused for its name, not for its token"
    for own in (f"127.0.0.1:{port}", f"localhost:{port}"):
        reply = await client.request("ping", {}, headers={"host": own, "origin": f"http://{own}"})
        assert reply.result == {}, f"{own} must be served"


METHODS: dict[str, tuple[str, ...]] = {
    "handshake": (
        "initialize",
        "ping",
        "logging/setLevel",
        "completion/complete",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
    ),
    "modern": (
        "server/discover",
        "completion/complete",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "subscriptions/listen",
    ),
}


@scenario("HA-21")
@pytest.mark.parametrize("era", ERAS)
async def test_fixtures_do_not_open_the_door(world: World, era: str) -> None:
    """Everything that the suite sends, to a host agent with fixtures, without the token: 401 each time. The door is
    opened by an option of its own."""
    host = await built(world)
    for token in (None, "not-the-token"):
        client = McpClient(host.url, token=token, transport=world.transport(), era=era)  # type: ignore[arg-type]
        replies = {method: await client.request(method, {}) for method in METHODS[era]}
        replies |= {verb: await client.send(verb) for verb in ("GET", "DELETE", "OPTIONS")}
        got = {what: reply.http_status for what, reply in replies.items() if reply.http_status != 401}
        assert not got, f"expected 401 with the token {token!r}, got {got}"
        await client.close()


@scenario("HA-21")
async def test_an_open_door_is_for_a_test_build_alone(world: World) -> None:
    """The switches of a test build. An open door without fixtures is refused at the start; with them it serves a client
    that has no token."""
    said = await world.refusal(open_door=True)
    assert "--conformance-fixtures" in said
    host = await built(world, open_door=True)
    client = McpClient(host.url, token=None, transport=world.transport(), era="modern")
    assert contents(await client.call("test_simple_text")) == [{"type": "text", "text": SIMPLE_TEXT}]
    await client.close()


@scenario("HA-21", rung="process")
@pytest.mark.parametrize(
    ("revision", "fixtures"),
    [("2025-11-25", True), ("2026-07-28", True), ("2026-07-28", False)],
    ids=["2025-11-25", "2026-07-28", "2026-07-28-as-it-is"],
)
async def test_the_official_suite_passes_through_the_door(world: World, revision: str, fixtures: bool) -> None:
    """The official suite itself, its newest version, with a doorman that adds the token. Every scenario passes that the
    revision requires; without fixtures those that need none."""
    from lasttick.conformance import play, toolbox
    from lasttick.conformance.doorman import doorman
    from lasttick.conformance.suite import Suite

    box = toolbox.look(toolbox.folder_of(os.environ))
    newest = toolbox.SUITES[-1]
    if (lacks := box.lacks(newest)) is not None or box.node is None:
        world.inconclusive(str(lacks))
    suite = Suite(box.node, box.suites[newest], newest)
    host = await world.hostagent(fixtures=fixtures, sse=fixtures)
    async with doorman(host.url, host.token) as url:
        run = await play.play(suite, revision, url, "a scenario", "hostagent", world.path, fixtures=fixtures)
    assert run is not None
    assert run.required, "the suite required nothing"
    wrong = {outcome.name: outcome.reason for outcome in run.outcomes if not outcome.ok}
    assert not wrong, f"{len(wrong)} of {len(run.required)} required scenarios did not pass: {wrong}"
