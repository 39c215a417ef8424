"""What the agent's side sends, and to whom: seen by a platform that is not ours. Source: contract gateway, GW-14."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model import Call

from .steps_calls import ORG, SHOP

ASK = Call.one("order_lookup__lookup", order_id="A-1")
SECRET = "agent-secret-0123456789"
OPAQUE = {
    "==": lambda secret: secret == SECRET,
    "== itself": lambda secret: secret == secret,
    "!=": lambda secret: secret != SECRET,
    "hash": hash,
    "index": lambda secret: secret[0],
    "iteration": list,
    "in": lambda secret: "a" in secret,
    "length": len,
    "order": lambda secret: operator.lt(secret, SECRET),
    "truth": bool,
    "pickle": pickle.dumps,
}


@scenario("GW-04", rung="memory")
@pytest.mark.parametrize("what", list(OPAQUE))
async def test_the_secret_is_opaque(world: World, what: str) -> None:
    """Nothing but its constant-time test decides on the secret: everything else that could be asked of it raises, and
    its text shows nothing."""
    secret: Any = world.agent_secret(SECRET)
    with pytest.raises(TypeError):
        OPAQUE[what](secret)
    assert SECRET not in f"{secret!r} {secret}"
    assert secret.matches(SECRET)
    assert not secret.matches(SECRET[:-1])
    assert not secret.matches(SECRET + "x")


@scenario("GW-14", rung="memory")
async def test_the_client_sends_the_secret_in_both_headers(world: World) -> None:
    """With AGENT_SERVICE_SECRET: once in X-Agent-Secret, which opens the internal door, and once as the bearer."""
    rung = world.tool_client()
    end = await rung.call({"AGENT_SERVICE_SECRET": SECRET, "PLATFORM_API_TOKEN": "platform-token"})
    assert end.code is None, end
    (got,) = rung.gateway.got
    assert (got.method, got.path) == ("POST", "/v1/runtime/tools/execute")
    assert got.headers["x-agent-secret"] == [SECRET]
    assert got.headers["authorization"] == [f"Bearer {SECRET}"]


@scenario("GW-14", rung="memory")
@pytest.mark.parametrize("name", ["HUMANWORK_RUNNER_TOKEN", "PLATFORM_API_TOKEN", "HUMANWORK_MODEL_GATEWAY_TOKEN"])
@pytest.mark.parametrize("secret", ["", "${AGENT_SERVICE_SECRET}"])
async def test_without_the_secret_there_is_a_bearer_only(world: World, name: str, secret: str) -> None:
    """The secret is not set, or arrived as an unfilled placeholder: the platform's token is the bearer, and never
    stands in the secret's header."""
    rung = world.tool_client()
    end = await rung.call({"AGENT_SERVICE_SECRET": secret, name: "platform-token"})
    assert end.code is None, end
    (got,) = rung.gateway.got
    assert "x-agent-secret" not in got.headers
    assert got.headers["authorization"] == ["Bearer platform-token"]


@scenario("GW-14", rung="memory")
async def test_with_no_credential_nothing_is_sent(world: World) -> None:
    """Neither secret nor token: a tool error, and no request."""
    rung = world.tool_client()
    end = await rung.call({})
    assert end.code == "CREDENTIAL_NOT_CONFIGURED", end
    assert rung.gateway.got == []


@scenario("GW-14", rung="memory")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(world: World, status: int) -> None:
    """A platform that sends the client to another origin: nobody there is asked, and the call ends in a tool error."""
    rung = world.tool_client()
    rung.gateway.status, rung.gateway.headers = status, {"location": rung.elsewhere_url}
    end = await rung.call({"AGENT_SERVICE_SECRET": SECRET})
    assert end.code == "GATEWAY_REDIRECTS", end
    assert rung.elsewhere.got == []
    assert len(rung.gateway.got) == 1


@scenario("GW-14")
async def test_a_gateway_that_redirects_a_turn_hands_nobody_the_secret(world: World) -> None:
    """The same on the whole path: the platform answers a call of the model's with a redirect to the third party's own
    address. The third party is asked nothing, the model has a tool error, and the next turn is answered."""
    gateway = await world.gateway(flag=True)
    await gateway.third_party.put_order("A-1", status="shipped")
    await gateway.model.script("my order", ASK, "{results}")
    await gateway.org(ORG, **SHOP)
    await gateway.trouble("redirect", to=f"{gateway.third_party.url}/order_lookup/lookup")
    answer = await gateway.chat(ORG, "Where is my order?", skill="all")
    assert "GATEWAY_REDIRECTS" in answer.text
    assert await gateway.third_party.log() == []
    await gateway.heal()
    answer = await gateway.chat(ORG, "Where is my order?", skill="all")
    assert "shipped" in answer.text
    (seen,) = await gateway.third_party.log()
    assert seen.header("x-agent-secret") is None


@scenario("GW-14", rung="memory")
@pytest.mark.parametrize("bad", ["new\nline", "re\rturn", "ümlaut", "zero\0", "del\x7f", " blank"])
async def test_a_secret_that_is_no_header_value_is_not_sent(world: World, bad: str) -> None:
    """A newline would end the header and begin another: a tool error that does not hold the secret, and no request."""
    rung = world.tool_client()
    secret = f"{bad}-{SECRET}" if bad == " blank" else f"{SECRET}-{bad}-{SECRET}"
    end = await rung.call({"AGENT_SERVICE_SECRET": secret})
    assert end.code == "CREDENTIAL_UNUSABLE", end
    assert SECRET not in end.message
    assert rung.gateway.got == []
