"""A service of approvals, right or wrong in one way, for the laws to be tried on.

Two variants over plain HTTP. Blocking: `POST /requests` is answered when it is decided, and a yes runs it. Polling: it
is answered at once, and the asker goes on by `POST /requests/{id}/resume` after a yes. `GET /effects` is what the
resource saw. Who speaks is told by the header X-Key. Not modelled: several deciders for one request.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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

ORIGIN = "127.0.0.1:9003"
TIMEOUT_S = 20.0
NEVER_S = 1e9
WORDS = {"yes": "approved", "no": "denied"}
KEYS = {"key-of-alice": "alice", "key-of-bob": "bob", "key-of-boss": "boss", "key-of-rival": "rival"}
TENANT = {"alice": "red", "bob": "red", "boss": "red", "rival": "blue"}
DECIDES = ("boss", "rival")
PROFILE = """
version = 1
[target]
url = "{url}"
timeout_s = 60
[outcomes]
denied = [{{ "/status" = [401, 403, 404, 410] }}]
[callers.alice]
id = "alice"
tenant = "red"
headers = {{ X-Key = "key-of-alice" }}
[callers.bob]
id = "bob"
tenant = "red"
headers = {{ X-Key = "key-of-bob" }}
[callers.boss]
id = "boss"
tenant = "red"
decides = true
headers = {{ X-Key = "key-of-boss" }}
[callers.rival]
id = "rival"
tenant = "blue"
decides = true
headers = {{ X-Key = "key-of-rival" }}
[approval]
timeout_s = {timeout_s}
on_timeout = "{on_timeout}"
restart = "{restart}"
lag_s = 0.5
{resume}
request = {{ http = "POST /requests", json = {{ mark = "{{mark}}", colour = "red", timeout_s = "{{timeout_s}}" }}, \
out = {{ id = "/body/id" }}, timeout_s = 60 }}
decide = {{ http = "POST /requests/{{id}}/decision", json = {{ decision = "{{decision}}" }}, \
say = {{ approve = "yes", deny = "no" }} }}
pending = {{ http = "GET /pending", each = "/body", out = {{ id = "/id", text = "/args", expires = "/expires" }} }}
outcome = {{ http = "GET /requests/{{id}}", out = {{ state = "/body/state", by = "/body/by" }}, \
states = {{ approved = ["approved"], denied = ["denied"], expired = ["expired"], pending = ["pending"] }} }}
[system]
restart = {{ http = "POST /restart" }}
[effects]
http = "GET /effects"
each = "/body"
out = {{ mark = "/args/mark", at = "/at", args = "/args" }}
lag_s = 0.5
"""
RESUME = 'resume = { http = "POST /requests/{id}/resume", json = { mark = "{mark}" } }'


@dataclass
class Asked:
    """One request. `args`: what is to run; `state`: as `GET /requests/{id}` says it."""

    id: str
    asker: str
    args: dict[str, Any]
    until_s: float
    state: str = "pending"
    by: str | None = None
    has_run: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class ApprovalService:
    """`blocks`: the blocking variant, else the polling one. `wrong`: the one thing it gets wrong, "" for nothing."""

    def __init__(self, wrong: str = "", *, blocks: bool = True, restart: str = "ends", on_timeout: str = "expired"):
        self.wrong, self.blocks, self.policy = wrong, blocks, {"restart": restart, "on_timeout": on_timeout}
        self.numbers = itertools.count(1)
        self.asked: dict[str, Asked] = {}
        self.effects: list[dict[str, Any]] = []

    # -- rules

    @property
    def now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def run(self, one: Asked, args: Mapping[str, Any] | None = None) -> None:
        if (one.has_run and self.wrong != "runs twice") or self.wrong == "says ok and runs nothing":
            return
        one.has_run = True
        ran = dict(one.args if args is None else args)
        if self.wrong == "runs other arguments":
            ran["colour"] = "blue"
        self.effects.append({"args": ran, "at": self.now_s})

    def end(self, one: Asked, state: str, by: str | None = None) -> None:
        one.state, one.by = state, by
        if state == "approved" and self.blocks:
            self.run(one)
        one.changed.set()

    def sweep(self) -> None:
        """What nobody has answered in time is over."""
        for one in self.asked.values():
            if one.state == "pending" and self.now_s >= one.until_s:
                if self.wrong == "approves on timeout":
                    self.end(one, "approved")
                    self.run(one)
                elif self.wrong == "takes a timeout for a person's no":
                    self.end(one, "denied", "boss")
                else:
                    self.end(one, self.policy["on_timeout"])

    def may_decide(self, who: str, one: Asked) -> bool:
        if self.wrong == "lets the asker decide" and who == one.asker:
            return True
        if self.wrong == "lets anybody's decider decide" and who in DECIDES:
            return True
        return who in DECIDES and TENANT[who] == TENANT[one.asker]

    def answer(self, who: str, id_: str, word: str) -> tuple[int, str]:
        """Status and what is said of it."""
        self.sweep()
        one = self.asked.get(id_)
        if one is None or not (TENANT[who] == TENANT[one.asker] or self.may_decide(who, one)):
            return 404, "no such request"
        if not self.may_decide(who, one):
            return 403, "not yours to decide"
        if self.wrong == "reads yes anywhere" and "yes" in word:
            word = "yes"
        if word not in WORDS:
            return 400, "yes or no"
        if self.wrong == "decides the newest":
            one = [other for other in self.asked.values() if other.state == "pending" and other.asker == one.asker][-1]
        state = WORDS[word]
        is_open = one.state == "pending"
        late = one.state in ("expired", "denied") and one.by is None and self.wrong == "takes a late yes"
        anew = one.state == "denied" and one.by is not None and self.wrong == "takes a yes after a no"
        twice = one.state == "approved" and self.wrong == "runs twice"
        if not (is_open or (state == "approved" and (late or anew or twice))):
            return (410 if one.by is None else 409), f"it is {one.state}"
        self.end(one, state, "alice" if self.wrong == "records the asker" else who)
        return 200, state

    # -- the wire

    async def request(self, request: Request) -> JSONResponse:
        who, body = _who(request), await request.json()
        timeout_s = body.pop("timeout_s") * {"ends early": 0.5, "ends late": 2.0}.get(self.wrong, 1.0)
        if self.wrong == "is pending for ever":
            timeout_s = NEVER_S
        one = Asked(f"q{next(self.numbers)}", who, body, self.now_s + timeout_s)
        self.asked[one.id] = one
        if self.wrong == "runs at once" or (self.wrong == "remembers a yes" and self.has_run_any()):
            self.run(one)
        if not self.blocks:
            return JSONResponse({"id": one.id}, 202)
        try:
            async with asyncio.timeout(max(0.0, timeout_s)):
                await one.changed.wait()
        except TimeoutError:
            self.sweep()
        status = {"approved": 200, "pending": 503}.get(one.state, 403)
        return JSONResponse({"id": one.id, "state": one.state}, status)

    def has_run_any(self) -> bool:
        return any(one.has_run for one in self.asked.values())

    async def pending(self, request: Request) -> JSONResponse:
        self.sweep()
        who = _who(request)
        lists_all = self.wrong == "lists what is over"
        rows = [
            {"id": one.id, "args": self.shown(one), "expires": None if self.wrong == "shows no end" else one.until_s}
            for one in self.asked.values()
            if (one.state == "pending" or lists_all) and TENANT[who] == TENANT[one.asker]
        ]
        return JSONResponse(rows)

    def shown(self, one: Asked) -> Any:
        return "an action" if self.wrong == "shows no argument" else json.dumps(one.args)

    async def decide(self, request: Request) -> JSONResponse:
        status, said = self.answer(_who(request), request.path_params["id"], str((await request.json())["decision"]))
        return JSONResponse({"said": said}, status)

    async def resume(self, request: Request) -> JSONResponse:
        self.sweep()
        one, args = self.asked.get(request.path_params["id"]), await request.json()
        if one is None or _who(request) != one.asker:
            return JSONResponse({"why": "no such request"}, 404)
        is_yes = one.state == "approved" or (self.wrong == "resumes undecided" and one.state == "pending")
        is_same = args["mark"] == one.args["mark"] or self.wrong == "resumes with anything"
        if not is_yes or not is_same:
            return JSONResponse({"why": f"it is {one.state}"}, 403)
        if one.has_run and self.wrong != "runs twice" and args["mark"] == one.args["mark"]:
            return JSONResponse({"why": "it has run"}, 409)
        if self.wrong == "resumes with anything":
            one.has_run = False
        self.run(one, {**one.args, **args})
        return JSONResponse({"ran": True})

    async def outcome(self, request: Request) -> JSONResponse:
        self.sweep()
        one = self.asked.get(request.path_params["id"])
        if one is None or TENANT[_who(request)] != TENANT[one.asker]:
            return JSONResponse({"why": "no such request"}, 404)
        return JSONResponse({"state": one.state, "by": one.by})

    async def restart(self, request: Request) -> JSONResponse:
        """Connections break; what was pending is kept, or gone."""
        for one in list(self.asked.values()):
            one.changed.set()
            if one.state == "pending" and self.wrong == "runs at a restart":
                self.end(one, "approved")
                self.run(one)
            elif one.state == "pending" and (self.policy["restart"] == "ends") != (self.wrong == "restarts otherwise"):
                del self.asked[one.id]
            elif one.state == "pending":
                one.changed = asyncio.Event()
        return JSONResponse({})

    async def happened(self, request: Request) -> JSONResponse:
        self.sweep()
        return JSONResponse(self.effects)

    @property
    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/requests", self.request, methods=["POST"]),
                Route("/pending", self.pending),
                Route("/requests/{id}/decision", self.decide, methods=["POST"]),
                Route("/requests/{id}/resume", self.resume, methods=["POST"]),
                Route("/requests/{id}", self.outcome),
                Route("/restart", self.restart, methods=["POST"]),
                Route("/effects", self.happened),
            ]
        )


def _who(request: Request) -> str:
    return KEYS[request.headers["x-key"]]


def profile_of(service: ApprovalService, url: str, timeout_s: float = TIMEOUT_S) -> str:
    """What the service declares of itself."""
    resume = "" if service.blocks else RESUME
    return PROFILE.format(url=url, timeout_s=timeout_s, resume=resume, **service.policy)


async def deploy(
    loop: VirtualLoop,
    service: ApprovalService,
    delay: Delay | None = None,
    edit: Callable[[str], str] = lambda text: text,
) -> Deployment:
    """The service on a memory network, and its profile. `delay`: of every message."""
    network = Network(delay)
    network.serve(ORIGIN, service.app)
    loaded = loads(edit(profile_of(service, f"http://{ORIGIN}")), "service.toml", {})
    return Deployment(loaded.profile, run="svc", secrets=loaded.secrets, transport=memory_transport(network))
