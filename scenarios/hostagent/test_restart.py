"""What a restart of the host agent forgets, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

WAYS = ["stop", "kill"]


async def restart(host: Any, way: str) -> None:
    if way == "kill":
        await host.kill()
    await host.restart()


@scenario("HA-15")
async def test_leases_vanish_and_the_token_stays(world: World) -> None:
    """Alice holds a phone when the host stops and comes back. The phone is free at once, for Bob; the token and its
    file are the same."""
    await leases_vanish(world, "stop")


@scenario("HA-15")
async def test_leases_vanish_with_a_kill(world: World) -> None:
    """The same when the host is killed. The phone is free at once, for Bob; the token and its file are the same."""
    await leases_vanish(world, "kill")


async def leases_vanish(world: World, way: str) -> None:
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    assert await host.busy() == ["phone-1"], "alice holds the phone"
    token, file = host.token, (host.options.identity_dir / "host_mcp_token.json").read_bytes()
    await restart(host, way)
    assert host.token == token, "the restart kept the token"
    assert (host.options.identity_dir / "host_mcp_token.json").read_bytes() == file, "and did not touch its file"
    assert await host.busy() == [], "no lease outlives the process"
    bob = await host.client("bob", token=token)
    answer = await bob.tap("phone-1")
    assert answer.ok, f"the phone must be free at once after the restart, bob got {answer.error}"
    assert await host.busy() == ["phone-1"], "bob holds it now"


@scenario("HA-15", "HA-07")
@pytest.mark.parametrize("way", WAYS)
async def test_old_sessions_are_unknown_and_clients_reconnect(world: World, way: str) -> None:
    """Alice and Bob have sessions when the host restarts. Their ids answer 404 on every method and take no lease; with
    the token they had, each opens a new session and works on, whoever comes first."""
    host = await world.hostagent()
    alice, bob = await host.client("alice"), await host.client("bob")
    assert (await alice.tap("phone-1")).ok
    await restart(host, way)
    for old in (alice, bob):
        answer = await old.tap("phone-1")
        assert answer.http_status == 404, f"{old.name}'s old session gave {answer.http_status}"
        stream = await old.raw.open_stream()
        assert stream.http_status == 404, f"a stream of {old.name}'s old session gave {stream.http_status}"
        await stream.close()
        assert (await old.end()).http_status == 404, "ending a session that is gone"
    phone = world.device("phone-1")
    assert phone.calls == 1, "no call of an old session reached the phone"
    assert await host.busy() == [], "an old session takes no lease"
    before = {old.raw.session_id for old in (alice, bob)}
    for client in (bob, alice):
        await client.open()
        assert client.raw.session_id not in before, f"{client.name} has a new session"
    assert (await bob.tap("phone-1")).ok, "bob came first and gets the phone that alice had before"
    refused = await alice.tap("phone-1")
    assert refused.reason == "device_busy", f"alice's old lease counts no more; she got {refused}"
    assert phone.callers == ["alice", "bob"]


@scenario("HA-15")
async def test_nothing_about_leases_is_on_disk(world: World) -> None:
    """A lease is taken, used, and outlived by a stop. The identity folder holds the same files before, while and
    after."""
    host = await world.hostagent()
    folder = host.options.identity_dir
    before = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    while_held = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    assert while_held == before, f"a lease changed {sorted(set(while_held) ^ set(before)) or 'a file'}"
    await host.stop()
    secret = str(alice.raw.session_id).encode()
    for path in folder.iterdir():
        assert secret not in path.read_bytes(), f"{path.name} holds a session id"
