"""Tenants do not mix: each call of the vault has the token of the scope that caused it, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from lasttick import World, scenario

from .steps_tenants import CONNECTORS, DENIED, JOBS, WAITING, begin_wait, jobs_answer, seen, token

MANY = 500
LIKE_EACH_OTHER = ["acme", "Acme", "acme ltd", "acme2", "default2", "ac%6de", "acme/1"]


@scenario("VC-20", needs=("schedule",))
async def test_five_hundred_tenants_at_once(world: World) -> None:
    """500 tenants wait, change their token or clear their session in mid-wait, and go on, in a seeded order of steps.

    Each wait ends with the token it began with; each later call has the new one, or none and never reaches the vault.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    await jobs_answer(vaultd, WAITING, times=MANY)
    await jobs_answer(vaultd, DENIED)
    draw = world.random("tenants")
    world.trouble.shuffle()  # type: ignore[attr-defined]
    world.trouble.delay(0.0, 0.3)  # type: ignore[attr-defined]
    names = [f"tenant-{number:03}" for number in range(MANY)]
    clears = {name: draw.random() < 0.3 for name in names}

    async def life(name: str) -> tuple[Any, Any]:
        client = server.client(name)
        await client.configure(token(name, 1))
        wait = begin_wait(world, client, timeout_ms=10_000)
        await asyncio.wait([wait], timeout=0.9)  # its first poll has left by then: that took two messages at most
        if clears[name]:
            await client.call("session_clear")
        else:
            await client.configure(token(name, 2))
        later = await client.call("connector_get", connector_id=name)
        return await wait, later

    lives = await asyncio.gather(*(world.start(life(name)) for name in names))
    log = await vaultd.log()
    polls, gets = seen(log, JOBS), seen(log, CONNECTORS)
    for name, (ended, later) in zip(names, lives, strict=True):
        assert ended.ok, f"the wait of {name}: {ended.error}"
        assert set(polls[name]) == {token(name, 1)}, f"the wait of {name} went with {polls[name]}"
        if clears[name]:
            assert later.code == "MCP_SESSION_NOT_CONFIGURED", f"{name} cleared its session: {later.envelope}"
            assert name not in gets, f"{name} has no session, and the vault saw {gets[name]}"
        else:
            assert gets.get(name) == [token(name, 2)], f"{name} changed to its second token, and sent {gets.get(name)}"
    assert sum(map(len, polls.values())) > MANY, "no wait polled twice: nothing was changed in mid-wait"
    assert set(polls) == set(names), "a job of somebody else was asked for"


@scenario("VC-20")
async def test_a_wait_keeps_the_session_it_began_with(world: World) -> None:
    """Tenants whose names are nearly alike wait. In mid-wait one changes its token, one clears, one has none at all.

    All polls of a wait carry its first token. Nobody's change is anybody else's, and no name is taken for another.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    await jobs_answer(vaultd, WAITING)
    clients = [server.client(name) for name in LIKE_EACH_OTHER]
    nobody = server.client()
    for number, client in enumerate(clients):
        await client.configure(token(str(number), 1))
    waits = [begin_wait(world, client, timeout_ms=2000, interval_ms=500) for client in clients]
    await world.advance(0.75)
    changed, cleared, *others = clients
    await changed.configure(token("0", 2))
    await cleared.call("session_clear")
    assert (await cleared.call("session_status")).data == {"configured": False}
    assert (await nobody.call("session_status")).data == {"configured": False}, "a tenant's session is everybody's"
    for client in (cleared, nobody):
        assert (await client.call("connectors_list")).code == "MCP_SESSION_NOT_CONFIGURED"
    for client in (changed, *others):
        await client.call("connector_get", connector_id="who")
    answers = [await wait for wait in waits]
    assert [answer.code for answer in answers] == ["MCP_WAIT_TIMEOUT"] * len(clients)
    log = await vaultd.log()
    polls = seen(log, JOBS)
    assert len(polls) == len(clients), sorted(polls)
    by_name = {"ac%256de": "ac%6de", "acme%2F1": "acme/1", "acme%20ltd": "acme ltd"}
    for name, tokens in polls.items():
        number = LIKE_EACH_OTHER.index(by_name.get(name, name))
        assert len(tokens) > 2, f"{name} polled {len(tokens)} times: nothing was changed in mid-wait"
        assert set(tokens) == {token(str(number), 1)}, f"the wait of {name} went with {tokens}"
    later = [token("0", 2), *(token(str(number), 1) for number in range(2, len(clients)))]
    assert seen(log, CONNECTORS).get("who") == later
    assert len(await vaultd.calls()) == sum(map(len, polls.values())) + len(later), "somebody without a session called"


@scenario("VC-20", needs=("scale",))
async def test_five_hundred_waits_are_one_wait_long(world: World) -> None:
    """500 tenants wait at once for a decision that falls after 1.5 s.

    Each polls at its own instants and ends at the first poll that sees the decision: nobody waits for anybody's turn.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    clients = [server.client(f"tenant-{number:03}") for number in range(MANY)]
    for client in clients:
        await client.configure(token(client.name, 1))
    begun_s = world.now_s
    await jobs_answer(vaultd, WAITING, times=2 * MANY)
    await jobs_answer(vaultd, DENIED)
    answers = [await wait for wait in [begin_wait(world, one, timeout_ms=600_000) for one in clients]]
    assert world.now_s - begun_s == 2.0, f"the waits took {world.now_s - begun_s} s; expected three polls, 1 s apart"
    assert {(answer.data["terminal_status"], answer.data["decision_outcome"]) for answer in answers} == {
        ("DENIED", "DENY")
    }
    assert {len(tokens) for tokens in seen(await vaultd.log(), JOBS).values()} == {3}
