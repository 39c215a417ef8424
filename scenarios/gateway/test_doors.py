"""Who may come in: two doors, and what closes only one of them. Source: contract gateway, RunnerTokenGuard."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_doors import ORDER, ORG, REFUND, open_door, refused

HOUR_S = 3600


@scenario("GW-01")
@pytest.mark.parametrize("header", ["x-agent-secret", "X-Agent-Secret", "X-AGENT-SECRET"])
async def test_the_agents_secret_and_an_org_open_the_internal_door(world: World, header: str) -> None:
    """The valid secret, in any spelling of the header's name, with the org of a run: the call is made as the internal
    agent of that org, and recorded so."""
    door = await open_door(world)
    answer = await door.knock({header: door.secret})
    assert answer.ok, answer.body
    (row,) = await door.rows()
    assert (row["door"], row["org_id"], row["sub"]) == ("internal", ORG, f"internal-agent:{ORG}")
    await door.run.end()


@scenario("GW-01")
async def test_the_org_is_taken_as_it_stands(world: World) -> None:
    """An org id with blanks around it is another org, not a sloppy spelling: admitted, and no run of it is found."""
    door = await open_door(world)
    answer = await door.knock({"x-agent-secret": door.secret}, door.body(orgId=f" {ORG} "))
    assert refused(answer, 404), answer.body
    (row,) = await door.gateway.ledger(f"%20{ORG}%20")
    assert row["sub"] == f"internal-agent: {ORG} "
    await door.run.end()


@scenario("GW-02")
@given(
    org_id=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: (
            st.lists(inner | st.just(ORG), max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=3,
    )
)
@settings(max_examples=6)
@example(org_id="")
@example(org_id="  ")
@example(org_id={"orgId": "org-a"})
@example(org_id=["org-a"])
async def test_an_org_that_is_no_text_closes_the_internal_door(world: World, org_id: Any) -> None:
    """orgId of any other JSON type, or blank: the secret alone admits nobody; with a runner's token the runner door
    answers, and a body whose org is not the token's is answered as a run that is not there."""
    door = await open_door(world)
    secret = {"x-agent-secret": door.secret}
    assert refused(await door.knock(secret, door.body(orgId=org_id)))
    both = await door.knock({**secret, **door.bearer()}, door.body(orgId=org_id))
    assert both.http_status in (400, 404), both.body
    for row in await door.rows():
        assert row["door"] == "runner"
    await door.run.end()


@scenario("GW-02")
@pytest.mark.parametrize(
    "presented", ["", "wrong", "short", "{secret}x", "x{secret}", "{SECRET}", "ünïcode", "x" * 60_000]
)
async def test_a_wrong_secret_closes_only_its_own_door(world: World, presented: str) -> None:
    """A secret that is wrong, blank, longer, in other letters or not ASCII: 401 alone, and admitted by the runner door
    beside a valid token."""
    door = await open_door(world)
    value = presented.replace("{secret}", door.secret).replace("{SECRET}", door.secret.upper())
    wrong = ("x-agent-secret", value.encode())
    assert refused(await door.knock([wrong]))
    answer = await door.knock([wrong, *door.bearer().items()])
    assert answer.ok, answer.body
    assert [row["door"] for row in await door.rows()] == ["runner"]
    await door.run.end()


@scenario("GW-02", rung="memory")
@pytest.mark.parametrize("blank", [" ", "\t", "   "])
async def test_a_blank_secret_is_no_secret(world: World, blank: str) -> None:
    """Blanks only, which no client of a real socket sends: the internal door stays closed, the runner door does not."""
    door = await open_door(world)
    assert refused(await door.knock({"x-agent-secret": blank}))
    assert (await door.knock({"x-agent-secret": blank, **door.bearer()})).ok
    await door.run.end()


@scenario("GW-02")
async def test_the_secret_twice_is_nobodys_honest_request(world: World) -> None:
    """The header sent twice, both valid: the internal door stays closed; a valid token still admits."""
    door = await open_door(world)
    twice = [("x-agent-secret", door.secret), ("X-Agent-Secret", door.secret)]
    assert refused(await door.knock(twice))
    assert (await door.knock([*twice, *door.bearer().items()])).ok
    await door.run.end()


@scenario("GW-02")
@pytest.mark.parametrize("bearer", ["Bearer garbage", "Bearer ", "Basic eDp5", "Bearer a.b.c"])
async def test_a_garbage_bearer_does_not_close_the_internal_door(world: World, bearer: str) -> None:
    """The agent's client sends both (ruling 1): what its bearer is worth is nobody's business at this door."""
    door = await open_door(world)
    answer = await door.knock({"x-agent-secret": door.secret, "authorization": bearer})
    assert answer.ok, answer.body
    assert [row["door"] for row in await door.rows()] == ["internal"]
    await door.run.end()


@scenario("GW-02")
@pytest.mark.parametrize("presented", ["", "anything"])
async def test_an_empty_secret_opens_nothing(world: World, presented: str) -> None:
    """A platform without a configured secret has no internal door (ruling 6), also for the empty header."""
    door = await open_door(world, platform_environ={"AGENT_SERVICE_SECRET": ""})
    assert refused(await door.knock({"x-agent-secret": presented}))
    assert (await door.knock({"x-agent-secret": presented, **door.bearer()})).ok
    await door.run.end()


# -- the runner door -------------------------------------------------------------------------------------------------


@scenario("GW-03")
@given(ticks=st.integers(-3, 3))
@settings(max_examples=5)
@example(ticks=-1)
@example(ticks=0)
@example(ticks=1)
async def test_a_token_is_valid_until_its_last_tick(world: World, ticks: int) -> None:
    """A token that expires at t is admitted one tick before t by our clock, and not at t."""
    door = await open_door(world)
    tick_s = world.tick_s
    now_s = world.wall_s
    answer = await door.knock(door.bearer(exp=now_s - ticks * tick_s))
    # In real time the clock has gone on since it was read: only what has surely expired can be judged exactly.
    if world.mode == "virtual" or ticks >= 0:
        assert answer.ok == (ticks < 0), answer.body
    await door.run.end()


NO_RUNNERS: dict[str, dict[str, Any]] = {
    "no exp": {"exp": None},
    "exp is text": {"exp": "9999999999"},
    "exp is true": {"exp": True},
    "aud is a list": {"aud": ["runner"]},
    "another aud": {"aud": "agent"},
    "no aud": {"aud": None},
    "another role": {"role": "admin"},
    "no role": {"role": None},
    "no org": {"org_id": None},
    "blank org": {"org_id": " "},
    "org is a number": {"org_id": 7},
    "not yet valid": {"nbf": 1e11},
    "nbf is text": {"nbf": "now"},
    "another key": {"key": "k" * 40},
}


@scenario("GW-03")
@pytest.mark.parametrize("what", list(NO_RUNNERS))
async def test_a_token_that_is_not_a_runners_is_refused(world: World, what: str) -> None:
    """Each clause of the runner door by itself, beside a token that is admitted."""
    door = await open_door(world)
    assert refused(await door.knock(door.bearer(**NO_RUNNERS[what])))
    assert (await door.knock(door.bearer())).ok
    assert len(await door.rows()) == 1
    await door.run.end()


@scenario("GW-03")
@pytest.mark.parametrize("change", ["alg none", "no signature", "another payload", "twice"])
async def test_a_token_that_was_tampered_with_is_refused(world: World, change: str) -> None:
    """`alg: none`, a cut signature, another token's payload under the signature, and two Authorization headers."""
    door = await open_door(world)
    token = door.bearer()["authorization"].removeprefix("Bearer ")
    head, payload, signature = token.split(".")
    other = door.bearer(sub="runner-2")["authorization"].removeprefix("Bearer ").split(".")[1]
    none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"
    bad = {
        "alg none": [f"{none}.{payload}."],
        "no signature": [f"{head}.{payload}."],
        "another payload": [f"{head}.{other}.{signature}"],
        "twice": [token, token],
    }[change]
    answer = await door.knock([("authorization", f"Bearer {one}") for one in bad])
    assert refused(answer), answer.body
    await door.run.end()


# -- read class only -------------------------------------------------------------------------------------------------


@scenario("GW-05")
@pytest.mark.parametrize("as_internal_agent", [False, True])
async def test_a_write_goes_through_the_runner_door_only(world: World, as_internal_agent: bool) -> None:
    """A write action in the manifest: 403 by the internal door and done by the runner door, whatever the token's `sub`
    claims to be; the third party sees the one call."""
    door = await open_door(world)
    body = door.body(name_action=REFUND)
    inside = await door.knock({"x-agent-secret": door.secret}, body)
    assert refused(inside, 403), inside.body
    assert inside.body["code"] == "ACCESS_CLASS_FORBIDDEN"
    assert await door.gateway.third_party.log() == []
    sub = {"sub": f"internal-agent:{ORG}"} if as_internal_agent else {}
    outside = await door.knock(door.bearer(**sub), body)
    assert outside.ok, outside.body
    (seen,) = await door.gateway.third_party.log()
    assert seen.path == "/shop/refund"
    await door.run.end()


@scenario("GW-05")
async def test_a_read_goes_through_both_doors(world: World) -> None:
    """The same read action by each door; the ledger says which."""
    door = await open_door(world)
    assert (await door.knock({"x-agent-secret": door.secret}, door.body(name_action=ORDER))).ok
    assert (await door.knock(door.bearer(), door.body(name_action=ORDER))).ok
    assert [row["door"] for row in await door.rows()] == ["internal", "runner"]
    await door.run.end()
