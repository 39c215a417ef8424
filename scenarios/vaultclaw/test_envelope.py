"""One envelope for every tool, whatever it is asked; and no token in it, whatever the vault says.

Source: contract vaultclaw 1, 4, 9; rulings 4, 7, 17.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_canary import canary, check, disguises, files_of, found
from .steps_tools import EXECUTING, OF_THE_CATALOG, OF_THE_SESSION, OF_THE_VAULT, TOOLS

ODD: tuple[Any, ...] = (None, "", "  ", True, 7, [], [[]])
"""What counts as absent for a text, and for an object."""
NO_CALL = {"request_id": "", "vault_http_status": 0, "vault_code": ""}
OWN_DATA = ("plan_unbounded_profile_preview", "unbounded_profile_resolve", "approval_wait", "passport_email_workflow")
"""Tools of the vault that put their own data together, from any number of calls."""
EXECUTES = ("connector_execute", "connector_execute_job", "plan_execute", "passport_email_workflow")
CALL_S = 4000.0
"""More than the longest wait that can be asked for."""

plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=12) | st.sampled_from(
    ["..", ".", "a/b", "shelf", "JOB", "OVERWRITE", "{}", "\u0000", "\u2028"]
)
anything = st.recursive(
    plain | texts, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)


@st.composite
def odd_calls(draw: Any) -> tuple[str, dict[str, Any]]:
    """A tool, and for its arguments any JSON under its own names and others."""
    tool = draw(st.sampled_from(sorted(TOOLS)))
    names = st.sampled_from([*TOOLS[tool].properties, "odd"])
    return tool, draw(st.dictionaries(names, anything, max_size=6))


@scenario("VC-02")
async def test_every_tool_answers_in_the_envelope(world: World) -> None:
    """All 40 tools, with arguments that they take: the shape of the answer is one, a request id and a status are those
    of the call to the vault, and the tools that make none say none."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    client = server.client("acme")
    await client.configure()
    tried = {**OF_THE_CATALOG, **OF_THE_VAULT, **OF_THE_SESSION}
    assert sorted(tried) == sorted(TOOLS)
    for tool, arguments in tried.items():
        seen = await vaultd.log()
        answer = await client.call(tool, arguments)
        calls = (await vaultd.log())[len(seen) :]
        if tool not in OF_THE_VAULT:
            assert not calls, f"{tool} called the vault"
            assert {**answer.meta, "resolver": ""} == {**NO_CALL, "resolver": ""}, (tool, answer.meta)
        elif answer.ok and tool not in OWN_DATA:
            assert calls, f"{tool} did not call the vault"
            sent = dict(calls[-1]["headers"])
            assert answer.meta["request_id"] == sent["x-request-id"], tool
            assert len(sent["x-request-id"]) == 32, tool
            assert answer.meta["vault_http_status"] == 200, tool
        elif not answer.ok:
            details = answer.details
            assert answer.meta["request_id"] == details.get("request_id", ""), tool
            assert answer.meta["vault_http_status"] == details.get("vault_http_status", 0), tool
    ids = [dict(seen["headers"])["x-request-id"] for seen in await vaultd.log()]
    assert len(dict.fromkeys(ids)) == len(ids), "a request id came twice"


@scenario("VC-02")
async def test_the_arguments_come_first_and_then_the_session(world: World) -> None:
    """Each required argument is asked for before the session is; what is another type counts as absent, what is unknown
    is ignored; a tool of the catalog needs no session."""
    client = (await world.vaultclaw()).client("acme")
    for tool, arguments in OF_THE_VAULT.items():
        answer = await client.call(tool, {**arguments, "odd": 1})
        assert (answer.code, answer.category) == ("MCP_SESSION_NOT_CONFIGURED", "auth"), tool
        assert (answer.error["retryable"], answer.error["vault_code"], answer.meta) == (False, "", NO_CALL), tool
        for name in TOOLS[tool].required:
            for odd in ODD:
                if isinstance(odd, list) and tool == "unbounded_profile_resolve" and odd:
                    continue
                answer = await client.call(tool, {**arguments, name: odd})
                assert (answer.code, answer.category) == ("MCP_VALIDATION_ERROR", "validation"), (tool, name, odd)
                assert (answer.error["retryable"], answer.error["vault_code"], answer.meta) == (False, "", NO_CALL)
    for tool, arguments in OF_THE_CATALOG.items():
        answer = await client.call(tool, arguments)
        assert answer.ok or answer.category != "auth", tool


@scenario("VC-02")
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_no_token_comes_out_of_an_echo(world: World, status: int) -> None:
    """A hostile vault shows the caller's token in code, message, details and body: raw, URL-encoded, in base64, in
    pieces of eight, in the name of a member. For no tool is any of it in an answer, on standard error, in the history
    or in a file. The search finds each disguise where it is."""
    vaultd = await world.vaultd()
    chance = world.random("canaries")
    tokens = {tenant: canary(chance, tenant) for tenant in ("acme", "globex")}
    for tenant, token in tokens.items():
        await vaultd.register(token, f"agent-{tenant}", tenant=tenant)
        for disguise in disguises(token):
            assert found(token, f"x{disguise}y"), "the search is blind"
    server = await world.vaultclaw()
    await vaultd.trouble("echo", status=status)
    answers = []
    for tenant, token in tokens.items():
        client = server.client(tenant)
        configured = await client.configure(token)
        answers += [("session_configure", configured), ("session_status", await client.call("session_status"))]
        for tool, arguments in OF_THE_VAULT.items():
            answers.append((tool, await client.call(tool, arguments)))
    echoed = json.dumps(await vaultd.log())
    assert all(found(token, echoed) == "raw" for token in tokens.values()), "the vault did not see the tokens"
    places = [(tool, json.dumps(answer.result, ensure_ascii=False)) for tool, answer in answers]
    places += [(f"{tool}, its text", answer.content[0]["text"]) for tool, answer in answers]
    check(tokens.values(), [*places, ("standard error", server.stderr()), *files_of(server.catalog_dir)])
    await server.stop()
    history = "\n".join(json.dumps(event.as_json(), ensure_ascii=False) for event in world.trace.events)
    check(tokens.values(), [("standard error", server.stderr()), ("the history", history)])


@scenario("VC-02")
async def test_no_tenant_sees_another_ones_token(world: World) -> None:
    """A vault that tells one tenant the token of another is masked as well, in each disguise; what is no token is left
    as it is."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    token = canary(world.random("canaries"), "victim")
    await vaultd.register(token, "agent-victim", tenant="victim")
    await server.client("victim").configure(token)
    await server.client("victim").call("session_clear")
    client = server.client("acme")
    await client.configure()
    whole = [text for text, name in disguises(token).items() if "piece" not in name]
    pieces = [token[at : at + 8] for at in range(0, len(token) - 7, 8)]
    body = {"honest": "an honest text, 123456789", "n": 1.5, "all": whole, "pieces": pieces, f"key {token}": [token]}
    await vaultd.control("POST", "/control/answers", {"path": "/v0/connectors", "body": body})
    answer = await client.call("connectors_list")
    assert (answer.data["honest"], answer.data["n"]) == ("an honest text, 123456789", 1.5)
    check([token], [("the answer", json.dumps(answer.result, ensure_ascii=False))])


@scenario("VC-02")
async def test_no_token_of_a_source_comes_out(world: World) -> None:
    """The environment's token of a catalog source, echoed by a remote catalog as an error page, an index and a bundle,
    is in no answer, on no line of standard error and in no file of the catalog."""
    catalog = await world.catalog()
    token = canary(world.random("canaries"), "source")
    await catalog.control("PUT", "/control/token", {"token": token})
    server = await world.vaultclaw(environ={"SOURCE_TOKEN": token})
    client = server.client("acme")
    source = {
        "source_id": "src",
        "index_url": f"{catalog.url}/index.json",
        "auth_mode": "BEARER_ENV",
        "auth_env_var": "SOURCE_TOKEN",
    }
    answers = [await client.call("catalog_source_upsert", source=source)]
    item = {"cookbook_id": "leak", "version": "1.0.0", "title": token, "tags": [token[:8]], "summary": f"x{token}"}
    await catalog.control("POST", "/control/publish", {"bundle": {"title": token}, "listed": item})
    answers.append(await client.call("cookbooks_remote_list", source_id="src"))
    assert answers[-1].ok, "the catalog knows the token"
    answers.append(await client.call("cookbook_remote_install", source_id="src", cookbook_id="leak"))
    await catalog.control("PUT", "/control/index", {"type": f"Bearer {token}"})
    answers.append(await client.call("cookbooks_remote_list", source_id="src"))
    answers.append(await client.call("catalog_sources_list"))
    assert found(token, json.dumps(await catalog.log())), "the catalog did not see the token"
    places = [(f"answer {number}", json.dumps(answer.result)) for number, answer in enumerate(answers)]
    check([token], [*places, ("standard error", server.stderr()), *files_of(server.catalog_dir)])


@scenario("VC-02")
@settings(max_examples=6)
@given(calls=st.lists(odd_calls(), min_size=20, max_size=20))
@example(calls=[(tool, dict.fromkeys(TOOLS[tool].properties, odd)) for tool in sorted(TOOLS) for odd in ODD[::3]])
@example(
    calls=[(tool, {key: {"steps": [7, {}], "slots": 3} for key in TOOLS[tool].properties}) for tool in sorted(TOOLS)]
)
@example(calls=[(tool, {**OF_THE_VAULT.get(tool, {}), "\u0000": 1}) for tool in sorted(TOOLS) if tool not in EXECUTES])
async def test_any_arguments_are_answered(world: World, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever JSON is given as arguments, the tool answers in time and in the envelope, the server fails nowhere
    inside, nothing is executed, and the catalog has lost nothing."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    client = server.client("acme")
    await client.configure()
    before = (await client.call("cookbooks_list")).data["items"]
    assert before
    executing = [call for call in calls if call[0] in EXECUTES]
    for tool, arguments in [call for call in calls if call[0] not in EXECUTES]:
        if tool == "session_configure":
            continue  # a token that is a word would be masked wherever that word stands
        async with asyncio.timeout(CALL_S):
            await client.call(tool, arguments)
        if tool == "session_clear":
            await client.configure()
    assert not [call for call in await vaultd.calls() if call in EXECUTING]
    for tool, arguments in executing:
        await client.call(tool, arguments)
    assert await vaultd.effects() == []
    after = (await client.call("cookbooks_list")).data["items"]
    assert [item for item in before if item not in after] == []
    assert "failed inside" not in server.stderr()
    assert "Traceback" not in server.stderr()
    assert (await client.rpc("ping", id=1)) == {"jsonrpc": "2.0", "id": 1, "result": {}}
