"""What scenarios about the doors have in common: a run held open, and a call that says who it is by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasttick import World

ORG = "org-a"
ORDER = "order_lookup:lookup"
REFUND = "shop:refund"


class Door:
    """A held run of one organisation with a read and a write tool in its manifest, and ways to knock."""

    def __init__(self, gateway: Any, run: Any) -> None:
        self.gateway = gateway
        self.run = run

    @property
    def secret(self) -> str:
        return str(self.gateway.secrets.agent_secret)

    def body(self, *, name_action: str = ORDER, **parts: Any) -> dict[str, Any]:
        """A well-formed call of this run; `parts` replace what it says."""
        slug, _, action = name_action.partition(":")
        usual = {"orgId": ORG, "runId": self.run.id, "toolName": slug, "action": action, "input": {"order_id": "A-1"}}
        return {**usual, **parts}

    async def knock(self, headers: Mapping[str, str] | Sequence[tuple[str, str | bytes]] = (), body: Any = None) -> Any:
        return await self.gateway.execute(headers, self.body() if body is None else body)

    def bearer(self, **claims: Any) -> dict[str, str]:
        """A runner's token of this organisation; `claims` replace or add, None leaves one out."""
        org_id = claims.pop("org_id", ORG)
        return {"authorization": f"Bearer {self.gateway.token(org_id, **claims)}"}

    async def rows(self) -> list[dict[str, Any]]:
        return list(await self.gateway.ledger(ORG))


async def open_door(world: World, **options: Any) -> Door:
    """A gateway whose agent holds the turn of one run open; both tools stand in its manifest."""
    gateway = await world.gateway(agent="held", flag=True, **options)
    await gateway.third_party.put_order("A-1", status="shipped")
    await gateway.org(ORG, bindings=["order_lookup", "shop"], skills={"all": ["order_lookup", "shop"]})
    run = await gateway.open_run(ORG, skill="all")
    await gateway.set_manifest(run.id, [ORDER, REFUND])
    return Door(gateway, run)


def refused(answer: Any, status: int = 401) -> bool:
    """Refused with that status and a code, and nothing of a result."""
    return answer.http_status == status and set(answer.body) == {"code", "message"}
