"""The laws on a reference of ours, in a world: the shipped profile, bound to a part that this world runs.

A law never sees the world; the world supplies what only it can (the wall clock, restarts, every device's log).
Source: contract laws, "How a law reaches a system".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from lasttick.laws.deployment import Controls, Deployment
from lasttick.laws.effects import effects_of
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import Loaded, loads
from lasttick.laws.said import Effect
from lasttick.laws.servers.origin import Listen, on_loopback, on_network
from lasttick.laws.target import Target
from lasttick.laws.verdict import some_case
from lasttick.ports import AsgiApp
from lasttick.targets.world import World
from lasttick_fakes.host import HostApp
from lasttick_fakes.model import Call

Law: TypeAlias = Callable[..., Awaitable[None]]
TTL_S = {"virtual": 20.0, "process": 2.0}
TIMEOUT_S = {"virtual": 20.0, "process": 3.0}
CARD_S = {"virtual": 55.0, "process": 3.0}
ORG, OTHER_ORG, ORDER = "org-a", "org-b", "A-1"
TENANT, OTHER_TENANT = "acme", "globex"
DEVICES = ("phone-1=android", "phone-2=android", "ipad-1=ios@2")


async def hostagent(world: World) -> Deployment:
    """A host agent with three devices, TTL 20 s (2 s in process mode), and its shipped profile."""
    host = await world.hostagent(devices=DEVICES, ttl_s=TTL_S[world.mode])
    environ = {
        "LASTTICK_TARGET_URL": host.url,
        "LASTTICK_TOKEN": host.token,
        "LASTTICK_TTL_S": f"{host.ttl_s:g}",
    }
    loaded: Loaded = loads(profile_text("seed-hostagent"), "seed-hostagent", environ)

    async def effects() -> Sequence[Effect]:
        log = world.rack_log()
        return effects_of([_row(entry) for entry in log])

    async def restart() -> None:
        await host.restart()

    async def step(seconds: float) -> None:
        world.trouble.step(seconds)  # type: ignore[attr-defined]

    return Deployment(
        loaded.profile,
        run="ref",
        secrets=loaded.secrets,
        transport=world.transport(),
        controls=Controls(step=step if world.mode == "virtual" else None, restart=restart, effects=effects),
        redact=world.trace.redact,
    )


async def gateway(world: World) -> Deployment:
    """A tool gateway with the runs that its shipped profile speaks of, in turns that last as long as the world."""
    running = await world.gateway(flag=True)
    await running.model.hold("Hold")
    await running.third_party.put_order(ORDER, status="paid")
    for org_id in (ORG, OTHER_ORG):
        await running.org(org_id, bindings=["shop"], skills={"shop": ["shop"]})

    async def run(org_id: str, text: str, skill: str | None) -> str:
        begun = await running.chat(org_id, text, skill=skill, later=True)
        assert begun.run_id is not None, f"the message opened no run: {begun.body}"
        return begun.run_id

    shop = await run(ORG, "Hold the shop open", "shop")
    await running.set_manifest(shop, ["shop:get_order", "shop:refund"])
    environ = {
        "LASTTICK_TARGET_URL": running.platform_url,
        "LASTTICK_THIRD_PARTY_URL": running.third_party.url,
        "LASTTICK_MODEL_URL": running.model.url,
        "LASTTICK_AGENT_SECRET": running.secrets.agent_secret,
        "LASTTICK_ADMIN_TOKEN": running.secrets.admin_token,
        "LASTTICK_RUNNER_TOKEN": running.token(ORG),
        "LASTTICK_OTHER_TOKEN": running.token(OTHER_ORG),
        "LASTTICK_RUN_ID": shop,
        "LASTTICK_IDLE_RUN_ID": await run(ORG, "Hold on", None),
        "LASTTICK_OTHER_RUN_ID": await run(OTHER_ORG, "Hold the other shop", "shop"),
    }
    loaded: Loaded = loads(profile_text("seed-gateway"), "seed-gateway", environ)
    return Deployment(
        loaded.profile,
        run="ref",
        secrets=loaded.secrets,
        transport=world.transport(),
        redact=world.trace.redact,
    )


async def vaultclaw(world: World) -> Deployment:
    """A vault MCP server over HTTP before a vault whose requests wait 20 s (3 s in process mode), with an approver in
    each of two tenants. The environment has an agent's token, which is the default scope's alone.
    """
    vaultd = await world.vaultd()
    timeout_s = TIMEOUT_S[world.mode]
    await vaultd.control("PUT", "/control/policies", {"approval_ttl_s": timeout_s})
    agent, other = await vaultd.token("agent", tenant=TENANT), await vaultd.token("other", tenant=OTHER_TENANT)
    approver = await vaultd.token(tenant=TENANT, approver="Pat")
    other_approver = await vaultd.token(tenant=OTHER_TENANT, approver="Sam")
    source_token = vaultd.secret("[token of a source]")
    environ = {"VC_AGENT_TOKEN": agent, "VC_BASE_URL": vaultd.url, "LASTTICK_SOURCE_TOKEN": source_token}
    server = await world.vaultclaw(environ=environ)
    loaded: Loaded = loads(
        profile_text("seed-vaultclaw"),
        "seed-vaultclaw",
        {
            "LASTTICK_TARGET_URL": f"{server.url}/mcp",
            "LASTTICK_VAULT_URL": vaultd.url,
            "LASTTICK_APPROVAL_TIMEOUT_S": f"{timeout_s:g}",
            "LASTTICK_AGENT_TOKEN": agent,
            "LASTTICK_OTHER_AGENT_TOKEN": other,
            "LASTTICK_APPROVER_TOKEN": approver,
            "LASTTICK_OTHER_APPROVER_TOKEN": other_approver,
            "LASTTICK_SOURCE_TOKEN": source_token,
        },
    )
    return Deployment(
        loaded.profile,
        run="ref",
        secrets=loaded.secrets,
        transport=world.transport(),
        controls=Controls(restart=server.restart),
        redact=world.trace.redact,
        listen=listen_in(world),
    )


async def lineup(world: World) -> Deployment:
    """A permission-card adapter, whose agent writes the file that a prompt names, and a chat host at its other side.
    A card can be answered for 55 s (3 s in process mode).
    """
    running = await world.lineup(permission_life_s=CARD_S[world.mode])
    await running.model.script("lasttick", Call.one("write_file", path="{last}", content="{last}"), "Written.")
    await running.model.script("*", "That is no answer to a card.")
    url = await _listening(world, HostApp(running.host, running.wire))
    loaded: Loaded = loads(
        profile_text("seed-lineup"),
        "seed-lineup",
        {"LASTTICK_TARGET_URL": url, "LASTTICK_APPROVAL_TIMEOUT_S": f"{CARD_S[world.mode]:g}"},
    )

    async def effects() -> Sequence[Effect]:
        wrote = running.agent_log("hermes.wrote")
        return effects_of([_write(event.t_ns, event.data["path"], running.files) for event in wrote])

    return Deployment(
        loaded.profile,
        run="ref",
        secrets=loaded.secrets,
        transport=world.transport(),
        controls=Controls(restart=running.restart, effects=effects),
        redact=world.trace.redact,
    )


async def _listening(world: World, app: AsgiApp) -> str:
    """Its origin, until the world ends."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serve() -> None:
        async with listen_in(world)(app) as url:
            ready.set_result(url)
            await asyncio.Event().wait()

    world.start(serve())
    return await ready


def listen_in(world: World) -> Listen:
    """How the parts of a world reach a server of a law's own."""
    if world.mode != "virtual":
        return on_loopback
    return on_network(world.network)  # type: ignore[attr-defined]


SYSTEMS: dict[str, Callable[[World], Awaitable[Deployment]]] = {
    "hostagent": hostagent,
    "gateway": gateway,
    "vaultclaw": vaultclaw,
    "lineup": lineup,
}
GROUPS: dict[str, tuple[str, ...]] = {
    "approval": ("vaultclaw", "lineup"),
    "lease": ("hostagent",),
    "session": ("hostagent",),
    "tools": ("hostagent",),
    "session/bound-to-caller": ("hostagent", "gateway"),
    "tools/class-limit": ("gateway",),
    "tools/credential-stays-home": ("vaultclaw",),
    "tools/hidden-is-refused": ("hostagent", "gateway", "vaultclaw"),
    "tools/no-secret-out": ("hostagent", "gateway", "vaultclaw"),
    "tools/refused-is-untouched": ("hostagent", "gateway", "vaultclaw"),
    "tools/tenant-isolated": ("gateway", "vaultclaw"),
}
"""Which references can show the laws of a group, or one law."""


def systems_of(law: str) -> tuple[str, ...]:
    return GROUPS.get(law, GROUPS.get(law.partition("/")[0], ()))


def on_reference(law: Law, law_id: str, system: str, tell: Callable[[Target], None]) -> Callable[..., Any]:
    """The law as a scenario: an async function of a world. `tell` is given what the law speaks to."""

    async def play(world: World, **arguments: Any) -> None:
        deployment = await SYSTEMS[system](world)
        target = Target(deployment, law_id, world.trace)
        tell(target)
        try:
            await law(target, **arguments)
            some_case(target.cases)
        finally:
            await target.close()

    return play


def _write(t_ns: int, path: str, folder: Path) -> dict[str, Any]:
    """An edit that the agent made, with what is on the disk by now."""
    return {"mark": path, "at_ns": t_ns, "args": {"path": path, "content": (folder / path).read_text()}}


def _row(entry: Any) -> dict[str, Any]:
    return {
        "mark": entry.arguments.get("x1"),
        "at": entry.t_s,
        "resource": entry.device_id,
        "kind": entry.kind,
        "call": entry.call,
        "args": entry.arguments,
    }
