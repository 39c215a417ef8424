"""What scenarios about tool calls have in common: a shop with a run held open, and one call seen from all sides."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick import World

ORG = "org-a"
LOOKUP = "order_lookup:lookup"
GET_ORDER = "shop:get_order"
REFUND = "shop:refund"
A_1 = {"order_id": "A-1"}
ABSENT = "00000000-0000-4000-8000-000000000000"
"""A well-formed run id that nobody has."""

SHOP: dict[str, Any] = {"bindings": ["order_lookup", "shop"], "skills": {"all": ["order_lookup", "shop"]}}

REGISTRY: dict[str, Any] = {
    "order_lookup": {"kind": "http", "actions": [{"name": "lookup", "accessClass": "read"}]},
    "shop": {
        "kind": "http",
        "actions": [{"name": "get_order", "accessClass": "read"}, {"name": "refund", "accessClass": "write"}],
    },
}


@dataclass(frozen=True, slots=True)
class Watched:
    """One call: its answer, and what it left in the ledger of an organisation and in the third party's log."""

    reply: Any
    rows: list[dict[str, Any]]
    seen: list[Any]

    def refused_as(self, status: int, code: str) -> None:
        """Refused so, with exactly one row that says the same, and the third party untouched."""
        assert (self.reply.http_status, self.reply.code) == (status, code), self.reply.body
        assert [(row["status"], row["outcome"]) for row in self.rows] == [(status, code)], self.rows
        assert self.seen == [], self.seen

    def done(self) -> None:
        """Executed, with one row and one request."""
        assert self.reply.ok, self.reply.body
        assert [(row["status"], row["outcome"]) for row in self.rows] == [(200, "OK")], self.rows
        assert len(self.seen) == 1, self.seen


async def open_shop(world: World, **options: Any) -> Any:
    """A gateway whose agent holds turns open, with one order and one organisation that may read it."""
    gateway = await world.gateway(agent="held", flag=True, **options)
    await gateway.third_party.put_order("A-1", status="shipped")
    await gateway.org(ORG, **SHOP)
    return gateway


async def watched(gateway: Any, call: Awaitable[Any], org_id: str = ORG) -> Watched:
    """Make the call, and look at what is new after it."""
    rows, seen = len(await gateway.ledger(org_id)), len(await gateway.third_party.log())
    reply = await call
    return Watched(reply, (await gateway.ledger(org_id))[rows:], (await gateway.third_party.log())[seen:])


async def until_asked(world: World, gateway: Any, requests: int) -> None:
    """Until the third party has seen so many requests. A wrong gateway may never ask: then what follows says so."""
    for _ in range(200):
        if len(await gateway.third_party.log()) >= requests:
            return
        await world.advance(world.tick_s / 4)


def body_of(run_id: Any, name_action: str = LOOKUP, **parts: Any) -> dict[str, Any]:
    """A well-formed call of the shop's organisation; `parts` replace what it says."""
    slug, _, action = name_action.partition(":")
    return {"orgId": ORG, "runId": run_id, "toolName": slug, "action": action, "input": dict(A_1), **parts}


def credentials_of(gateway: Any, door: str, org_id: str, **claims: Any) -> dict[str, str]:
    """The headers that open one door as an organisation. The internal one takes the organisation from the body."""
    if door == "internal":
        return {"x-agent-secret": gateway.secrets.agent_secret}
    return {"authorization": f"Bearer {gateway.token(org_id, **claims)}"}


def without_date(headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """What of an answer's headers may tell anything: all but the time of day."""
    return [(name, value) for name, value in headers if name.lower() != "date"]


def reclassified(slug: str, action: str, access: str | None) -> Mapping[str, Any]:
    """The registry with one action of another class; None: without that action."""
    entry = REGISTRY[slug]
    actions = [known for known in entry["actions"] if known["name"] != action]
    if access is not None:
        actions.append({"name": action, "accessClass": access})
    return {**REGISTRY, slug: {**entry, "actions": actions}}
