"""The laws on a reference of ours, in a world: the shipped profile, bound to a part that this world runs.

A law never sees the world; the world supplies what only it can (the wall clock, restarts, every device's log).
Source: contract laws, "How a law reaches a system".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from lasttick.laws.deployment import Controls, Deployment
from lasttick.laws.effects import effects_of
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import Loaded, loads
from lasttick.laws.said import Effect
from lasttick.laws.target import Target
from lasttick.laws.verdict import some_case
from lasttick.targets.world import World

Law: TypeAlias = Callable[..., Awaitable[None]]
TTL_S = {"virtual": 20.0, "process": 2.0}
ORG, OTHER_ORG, ORDER = "org-a", "org-b", "A-1"
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


SYSTEMS: dict[str, Callable[[World], Awaitable[Deployment]]] = {"hostagent": hostagent, "gateway": gateway}
GROUPS: dict[str, tuple[str, ...]] = {
    "lease": ("hostagent",),
    "session": ("hostagent",),
    "tools": ("hostagent",),
    "session/bound-to-caller": ("hostagent", "gateway"),
    "tools/class-limit": ("gateway",),
    "tools/hidden-is-refused": ("hostagent", "gateway"),
    "tools/no-secret-out": ("hostagent", "gateway"),
    "tools/refused-is-untouched": ("hostagent", "gateway"),
    "tools/tenant-isolated": ("gateway",),
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


def _row(entry: Any) -> dict[str, Any]:
    return {
        "mark": entry.arguments.get("x1"),
        "at": entry.t_s,
        "resource": entry.device_id,
        "kind": entry.kind,
        "call": entry.call,
        "args": entry.arguments,
    }
