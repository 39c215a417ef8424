"""When does a device change hands? The question most lease scenarios end with, asked the same way everywhere."""

from __future__ import annotations

from typing import Protocol

from lasttick import Answer, World


class Caller(Protocol):
    """What a client of a host can do, as far as these questions go."""

    name: str

    async def tap(self, device_id: str) -> Answer: ...


def expect_busy(answer: Answer, when: str, owner: str = "mcp_session:") -> None:
    """A refusal as the contract has it: -32000 with its reason and the kind of owner (HA-04)."""
    assert not answer.ok, f"{when}: expected device_busy, but the call was served"
    assert answer.error is not None, f"{when}: expected device_busy, got HTTP {answer.http_status} without an error"
    assert answer.error.code == -32000, f"{when}: expected code -32000, got {answer.error}"
    assert answer.reason == "device_busy", f"{when}: expected reason device_busy, got {answer.error}"
    told = str(answer.error.data.get("busy_owner"))
    assert told.startswith(owner), f"{when}: expected the owner to be {owner}..., got {told}"


def expect_served(answer: Answer, when: str) -> None:
    assert answer.ok, f"{when}: expected to be served, got {answer.error} (HTTP {answer.http_status})"


async def takes_over_exactly(world: World, client: Caller, device_id: str, t_s: float) -> None:
    """One tick before `t_s` the client is refused; at it, it gets the device."""
    await world.until(t_s - world.tick_s)
    expect_busy(await client.tap(device_id), f"{client.name}, one tick before {device_id} is free (t={t_s:.3f})")
    await world.until(t_s)
    expect_served(await client.tap(device_id), f"{client.name}, at the instant {device_id} is free (t={t_s:.3f})")


async def takes_over(world: World, client: Caller, device_id: str, t_s: float) -> None:
    """Refused a sixth of a TTL before `t_s`, served that much after: for scenarios whose topic is not the tick."""
    await world.until(t_s - world.ttl_s / 6)
    expect_busy(await client.tap(device_id), f"{client.name}, shortly before {device_id} is free (t={t_s:.3f})")
    await world.until(t_s + world.ttl_s / 6)
    expect_served(await client.tap(device_id), f"{client.name}, shortly after {device_id} is free (t={t_s:.3f})")
