"""A lease service of any declared policy, right or wrong in one way, for the laws to be tried on in virtual time.

Plain HTTP over a memory network. `DELETE /sessions/..` ends a session, `POST /leases` acquires, `GET /effects` is what
the resources saw. Not modelled: who may speak at all, restarts, more than one resource for each lease.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from lasttick.engine.loop import VirtualLoop
from lasttick.engine.network import Delay, Network
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.load import loads
from lasttick.targets.transports import memory_transport

ORIGIN = "127.0.0.1:9002"
TTL_S = 20.0
PLACE = "room-of-racks"
"""Put out with every lease."""
POLICY: Mapping[str, Any] = {
    "busy": "refuses",
    "renewed_by": ["renew"],
    "in_flight": "pins",
    "session_end": "frees",
    "capacity": 1,
}
PROFILE = """
version = 1
[target]
url = "http://{origin}"
[callers.alice]
id = "alice"
vars = {{ key = "alice-has-a-long-key" }}
[callers.bob]
id = "bob"
vars = {{ key = "bob-has-another-long-key" }}
[session]
open = {{ http = "POST /sessions", json = {{ key = "{{key}}" }}, out = {{ session = "/body/session" }} }}
end = {{ http = "DELETE /sessions/{{session}}" }}
[lease]
ttl_s = {ttl_s}
{policy}
renew = {{ http = "POST /leases/{{lease}}/renew", json = {{ session = "{{session}}" }} }}
release = {{ http = "POST /leases/{{lease}}/release", json = {{ session = "{{session}}" }} }}
[lease.acquire]
http = "POST /leases"
json = {{ session = "{{session}}" }}
out = {{ ticket = "/body/ticket" }}
poll = {{ http = "GET /tickets/{{ticket}}", until = [{{ "/body/state" = ["granted", "gone"] }}], \
outcomes = {{ denied = [{{ "/body/state" = "gone" }}], pending = [{{ "/body/state" = "queued" }}] }}, \
out = {{ lease = "/body/lease", resource = "/body/resource" }}, every_s = 0.1, within_s = 60 }}
[lease.use]
http = "POST /leases/{{lease}}/use"
json = {{ session = "{{session}}", mark = "{{mark}}", hold_s = "{{hold_s}}" }}
outcomes = {{ denied = [{{ "/status" = 410 }}] }}
[lease.holder]
http = "GET /leases"
each = "/body"
out = {{ resource = "/resource", held = "/held", by = "/by" }}
[effects]
http = "GET /effects"
each = "/body"
out = {{ mark = "/mark", at = "/at", end = "/end", resource = "/resource" }}
"""


@dataclass
class Lease:
    """`until_s`: when it ends unless renewed; `running`: how many calls use it now."""

    id: str
    resource: str
    session: str
    until_s: float
    running: int = 0
    over: bool = False


class LeaseService:
    """`policy`: as declared in a profile. `wrong`: the one thing it gets wrong, "" for nothing."""

    def __init__(self, wrong: str = "", ttl_s: float = TTL_S, **policy: Any) -> None:
        self.policy = {**POLICY, **policy}
        self.wrong = wrong
        self.contended = False
        """Whether anybody has asked for what is held."""
        self.ttl_s = ttl_s * {"expires early": 0.5, "expires late": 2.0, "never expires": 1e6}.get(wrong, 1.0)
        self.numbers = itertools.count(1)
        self.sessions: dict[str, str] = {}
        self.leases: dict[str, Lease] = {}
        self.queue: list[str] = []
        self.tickets: dict[str, dict[str, Any]] = {}
        self.effects: list[dict[str, Any]] = []

    # -- rules

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def is_held(self, lease: Lease) -> bool:
        pinned = lease.running > 0 and self.policy["in_flight"] == "pins" and self.wrong != "lets go in calls"
        return pinned or (not lease.over and self.now_s < lease.until_s)

    def resources(self) -> list[str]:
        return [f"r{number}" for number in range(1, self.policy["capacity"] + 1)]

    def free(self) -> list[str]:
        held = {lease.resource for lease in self.leases.values() if self.is_held(lease)}
        return [name for name in self.resources() if name not in held]

    def grant(self, ticket: str, session: str, resource: str) -> None:
        lease = Lease(f"lease-no-{next(self.numbers)}", resource, session, self.now_s + self.ttl_s)
        self.leases[lease.id] = lease
        self.tickets[ticket] |= {"state": "granted", "lease": lease.id, "resource": resource, "place": PLACE}

    def serve_queue(self) -> None:
        while self.queue and (free := self.free()):
            ticket = self.queue.pop(0)
            self.grant(ticket, self.tickets[ticket]["session"], free[0])

    def own(self, lease: Lease, session: str) -> bool:
        return self.wrong == "takes any key" or (lease.session == session and session in self.sessions)

    # -- the wire

    async def open(self, request: Request) -> JSONResponse:
        session = f"session-{next(self.numbers)}"
        self.sessions[session] = (await request.json())["key"].partition("-")[0]
        return JSONResponse({"session": session})

    async def end(self, request: Request) -> JSONResponse:
        session = request.path_params["session"]
        self.sessions.pop(session, None)
        frees = (self.policy["session_end"] == "frees") != (self.wrong == "session ends otherwise")
        for lease in self.leases.values():
            if frees and lease.session == session:
                lease.over = True
        return JSONResponse({})

    async def acquire(self, request: Request) -> JSONResponse:
        session, ticket = (await request.json())["session"], f"ticket-{next(self.numbers)}"
        self.tickets[ticket] = {"state": "queued", "session": session, "ticket": ticket}
        busy = self.policy["busy"]
        self.contended = self.contended or not self.free()
        if self.wrong == "breaks" and not self.free():
            return JSONResponse({"why": "out of order"}, 500)
        if session not in self.sessions or (self.wrong == "denies bob" and self.sessions[session] == "bob"):
            return JSONResponse({"why": "not for you"}, 403)
        if self.wrong == "grants twice at once":
            for lease in self.leases.values():
                lease.over = lease.over or lease.until_s == self.now_s + self.ttl_s
        free = self.resources() if self.wrong == "grants to all" else self.free()
        if busy == "provisions" and self.wrong != "provisions the same":
            free = [f"r{next(self.numbers)}"]
        elif busy == "provisions":
            free = ["r1"]
        if free and not self.queue:
            self.grant(ticket, session, free[0])
        elif busy == "refuses" or self.wrong == "refuses instead of queueing":
            told = self.told()
            await asyncio.sleep(5.0 if self.wrong == "refuses slowly" else 0.0)
            return JSONResponse({"why": f"busy {told}"}, 403 if self.wrong == "denies when busy" else 409)
        else:
            self.queue.append(ticket)
        return JSONResponse(self.tickets[ticket])

    def told(self) -> str:
        """What a refusal tells of the holder."""
        held = [lease for lease in self.leases.values() if self.is_held(lease)]
        return {
            "tells keys": " ".join(f"{one} {self.key_of(one)}" for one in self.sessions),
            "tells the lease": " ".join(lease.id for lease in held),
            "tells and reports the lease": " ".join(lease.id for lease in held),
            "tells the next lease": " ".join(f"{lease.id}2" for lease in held),
            "tells the session": " ".join(lease.session for lease in held),
            "tells the place": PLACE,
        }.get(self.wrong, "")

    def key_of(self, session: str) -> str:
        return {"alice": "alice-has-a-long-key"}.get(self.sessions[session], "")

    async def ticket(self, request: Request) -> JSONResponse:
        self.serve_queue()
        return JSONResponse(self.tickets[request.path_params["ticket"]])

    async def use(self, request: Request) -> JSONResponse:
        lease, body = self.leases[request.path_params["lease"]], await request.json()
        alive = self.is_held(lease) and self.own(lease, body["session"])
        if not alive and self.wrong != "serves old leases":
            return JSONResponse({"why": "not your lease"}, 410)
        self.renewed(lease, "use")
        effect = {"mark": body["mark"], "at": self.now_s, "end": None, "resource": lease.resource}
        self.effects.append(effect)
        lease.running += 1
        stops_s = self.now_s + body["hold_s"]
        ends = self.policy["in_flight"] == "ends" and self.wrong != "goes on in calls"
        while (left_s := (min(stops_s, lease.until_s) if ends else stops_s) - self.now_s) > 0:
            await asyncio.sleep(left_s)
        lease.running -= 1
        effect["end"] = self.now_s
        return JSONResponse(
            {} if self.now_s >= stops_s else {"why": "out of time"}, 200 if self.now_s >= stops_s else 410
        )

    async def renew(self, request: Request) -> JSONResponse:
        lease, body = self.leases[request.path_params["lease"]], await request.json()
        if not self.is_held(lease) or not (self.own(lease, body["session"]) or self.wrong == "anyone renews"):
            return JSONResponse({"why": "not your lease"}, 403)
        self.renewed(lease, "renew")
        return JSONResponse({})

    def renewed(self, lease: Lease, event: str) -> None:
        if (event in self.policy["renewed_by"]) != (self.wrong == f"{event} renews otherwise"):
            lease.until_s = self.now_s + self.ttl_s

    async def release(self, request: Request) -> JSONResponse:
        lease, body = self.leases[request.path_params["lease"]], await request.json()
        if not self.own(lease, body["session"]) and self.wrong != "anyone releases":
            return JSONResponse({"why": "not your lease"}, 403)
        lease.over = self.wrong != "release does nothing"
        return JSONResponse({})

    async def holders(self, request: Request) -> JSONResponse:
        held = {lease.resource: lease for lease in self.leases.values() if self.is_held(lease)}
        names = sorted({*self.resources(), *held}) if self.policy["busy"] != "provisions" else sorted(held)
        rows = [
            {
                "resource": name,
                "held": name in held,
                "by": self.sessions.get(held[name].session) if name in held else None,
            }
            for name in names
        ]
        for row in rows:
            if self.wrong == "tells and reports the lease" and row["held"]:
                row["lease"] = held[str(row["resource"])].id
            if self.wrong == "reports all free":
                row["held"] = False
            elif self.wrong == "reports all held" and self.effects:
                row["held"] = True
            elif self.wrong == "reports bob" and row["held"]:
                row["by"] = "bob"
        return JSONResponse(rows)

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/sessions", self.open, methods=["POST"]),
                Route("/sessions/{session}", self.end, methods=["DELETE"]),
                Route("/leases", self.acquire, methods=["POST"]),
                Route("/leases", self.holders),
                Route("/tickets/{ticket}", self.ticket),
                Route("/leases/{lease}/use", self.use, methods=["POST"]),
                Route("/leases/{lease}/renew", self.renew, methods=["POST"]),
                Route("/leases/{lease}/release", self.release, methods=["POST"]),
                Route("/effects", self._effects),
            ]
        )

    async def _effects(self, request: Request) -> JSONResponse:
        return JSONResponse(self.effects)


async def deploy(
    loop: VirtualLoop,
    service: LeaseService,
    delay: Delay | None = None,
    edit: Callable[[str], str] = lambda text: text,
) -> Deployment:
    """The service on a memory network, and a profile that declares its policy. `delay`: of every message."""
    network = Network(delay)
    network.serve(ORIGIN, service.app)
    policy = "\n".join(f"{key} = {_toml(value)}" for key, value in service.policy.items())
    text = edit(PROFILE.format(origin=ORIGIN, ttl_s=TTL_S, policy=policy))
    loaded = loads(text, "service.toml", {})
    return Deployment(loaded.profile, run="svc", secrets=loaded.secrets, transport=memory_transport(network))


def _toml(value: Any) -> str:
    return repr(value).replace("'", '"')
