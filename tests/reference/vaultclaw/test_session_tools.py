"""Sessions per scope, and the one of the environment. Source: contract vaultclaw 6, rulings 14 and 17; VC-04."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from .core_rig import TOKEN, Rig, with_rig


def test_configure_status_clear() -> None:
    async def body(rig: Rig) -> list[Any]:
        return [
            (await rig.call("session_status"))["data"],
            (await rig.configure(base_url=" http://v.test/ ", timeout_ms=7.9))["data"],
            (await rig.call("session_status"))["data"],
            (await rig.call("session_clear"))["data"],
            (await rig.call("session_status"))["data"],
            (await rig.call("session_clear"))["data"],
        ]

    configured = {
        "configured": True,
        "base_url": "http://v.test/",
        "timeout_ms": 7,
        "token": TOKEN[:3] + "***" + TOKEN[-3:],
    }
    assert with_rig(body) == [
        {"configured": False},
        configured,
        configured,
        {"cleared": True},
        {"configured": False},
        {"cleared": True},
    ]


@pytest.mark.parametrize("timeout", [None, 0, -5, "7", True, 0.9])
def test_defaults(timeout: Any) -> None:
    data = with_rig(lambda rig: rig.configure(timeout_ms=timeout))["data"]
    assert (data["base_url"], data["timeout_ms"]) == ("http://127.0.0.1:8080", 20000)


@pytest.mark.parametrize("token", [None, "", " \u3000", 7, ["x"]])
def test_a_blank_token_is_refused_and_changes_nothing(token: Any) -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure()
        refused = await rig.call("session_configure", {"token": token})
        return refused, await rig.call("session_status")

    refused, status = with_rig(body)
    assert refused["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert status["data"]["configured"] is True


def test_each_scope_has_its_own() -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure(scope="acme")
        return [(await rig.call("session_status", scope=s))["data"]["configured"] for s in ("acme", "ACME", "default")]

    assert with_rig(body) == [True, False, False]


def test_without_a_session_required_arguments_are_looked_at_first() -> None:
    async def body(rig: Rig) -> Any:
        return [
            (await rig.call("connector_get", arguments))["error"]["code"]
            for arguments in ({}, {"connector_id": "google"})
        ]

    assert with_rig(body) == ["MCP_VALIDATION_ERROR", "MCP_SESSION_NOT_CONFIGURED"]


ENVIRON = {"VC_AGENT_TOKEN": f" {TOKEN} ", "VC_BASE_URL": "http://env.test", "VC_TIMEOUT_MS": "123"}


def test_the_environments_session_comes_back_after_clear() -> None:
    async def body(rig: Rig) -> Any:
        first = (await rig.call("session_status"))["data"]
        await rig.call("session_clear")
        await rig.call("connectors_list")
        return first, (await rig.call("session_status"))["data"], rig.vault.asked[0].headers["authorization"]

    first, again, sent = with_rig(body, **ENVIRON)
    assert first == again
    assert (first["base_url"], first["timeout_ms"]) == ("http://env.test", 123)
    assert sent == f"Bearer {TOKEN}"


def test_the_environments_token_is_no_other_tenants() -> None:
    async def body(rig: Rig) -> Any:
        status = await rig.call("session_status", scope="acme")
        used = await rig.call("connectors_list", scope="acme")
        return status["data"], used["error"]["code"], rig.vault.asked

    assert with_rig(body, **ENVIRON) == ({"configured": False}, "MCP_SESSION_NOT_CONFIGURED", [])


def test_a_call_keeps_the_session_it_began_with() -> None:
    """Reconfigured while the policy is looked up: the validation still goes with the first token (VC-20)."""

    async def body(rig: Rig) -> Any:
        async def answer(request: httpx.Request) -> Any:
            if request.method == "GET":
                await asyncio.sleep(1)
            return {"policy_hash": "h", "valid": True}

        rig.vault.answer = answer
        await rig.configure("token-of-the-first-kind")
        request = {"connector_id": "google", "verb": "google.gmail.x"}
        running = asyncio.ensure_future(rig.call("connector_execute", {"request": request}))
        await asyncio.sleep(0.5)
        await rig.configure("token-of-the-second-kind")
        await running
        return [request.headers["authorization"] for request in rig.vault.asked]

    assert with_rig(body) == ["Bearer token-of-the-first-kind"] * 3


def test_a_hostile_vault_may_echo_what_it_likes() -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure("other-T0ken-77dd88ee99ff00aa", scope="other")
        await rig.configure()
        answers = []
        for status in (200, 401):
            said = f"Bearer {TOKEN} and other-T0ken-77dd88ee99ff00aa"
            error = {"code": TOKEN, "message": said, "details": {TOKEN: [said]}}
            rig.vault.answer = lambda request, s=status, e=error: httpx.Response(s, json={"error": e})
            answers.append(await rig.rpc("tools/call", {"name": "vaultclaw_connectors_list"}))
        return str(answers)

    text = with_rig(body)
    assert "Bearer ***" in text
    assert TOKEN not in text
    assert "77dd88ee" not in text


def test_the_token_of_a_remote_source_is_cut_out_too() -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure()
        rig.tokens.learn("source-T0ken-0123456789")
        rig.vault.answer = lambda request: {"echo": "source-T0ken-0123456789"}
        return (await rig.call("connectors_list"))["data"]

    assert with_rig(body) == {"echo": "***"}
