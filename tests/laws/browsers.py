"""Somebody else's lease server, nothing of lasttick in it: browsers behind MCP tools of other names, with a queue.

`extend` renews, `visit` does not, but keeps its browser while it lasts. GET /visits is the browsers' own log."""

import asyncio
import itertools
import json
import time

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "farm", "version": "1"}}


class Farm:
    """`wrong`: a fault to be found: "sweeps-during-visits", "takes-any-key", "lasts-too-long"."""

    def __init__(self, ttl_s: float, browsers: tuple[str, ...] = ("firefox",), wrong: str = "") -> None:
        self.ttl_s, self.wrong, self.user, self.numbers = ttl_s, wrong, "", itertools.count(1)
        self.keys: dict[str, str | None] = dict.fromkeys(browsers)
        self.until, self.busy = dict.fromkeys(browsers, 0.0), dict.fromkeys(browsers, 0)
        self.queue: list[str] = []
        self.users, self.granted = dict[str, str](), dict[str, tuple[str, str]]()
        self.visits: list[dict[str, object]] = []

    def sweep(self) -> None:
        now = time.monotonic() - (self.ttl_s if self.wrong == "lasts-too-long" else 0.0)
        for name in self.keys:
            if now >= self.until[name] and (not self.busy[name] or self.wrong == "sweeps-during-visits"):
                self.keys[name] = None
            if self.keys[name] is None and self.queue:
                ticket, self.keys[name] = self.queue.pop(0), f"key-{next(self.numbers)}"
                self.until[name] = time.monotonic() + self.ttl_s
                self.granted[ticket] = (name, str(self.keys[name]))
                self.users[str(self.keys[name])] = self.users[ticket]

    async def order_browser(self) -> dict:
        ticket = f"t{next(self.numbers)}"
        self.queue.append(ticket)
        self.users[ticket] = self.user
        return {"ticket": ticket}

    async def ticket_status(self, ticket: str) -> dict:
        self.sweep()
        browser, key = self.granted.get(ticket, ("", ""))
        return {"state": "yours" if key else "waiting", "browser": browser, "key": key}

    def owned(self, browser: str, key: str) -> None:
        self.sweep()
        if (self.keys[browser], self.users[key]) != (key, self.user) and self.wrong != "takes-any-key":
            raise PermissionError(f"{browser} is not yours")

    async def extend(self, browser: str, key: str) -> dict:
        self.owned(browser, key)
        self.until[browser] = time.monotonic() + self.ttl_s
        return {}

    async def visit(self, browser: str, key: str, page: str, seconds: float) -> dict:
        self.owned(browser, key)
        self.busy[browser] += 1
        self.visits.append(visit := {"page": page, "browser": browser, "from": time.monotonic(), "to": None})
        await asyncio.sleep(seconds)
        self.busy[browser] -= 1
        visit["to"] = time.monotonic()
        return {"seen": page}

    async def give_back(self, browser: str, key: str) -> dict:
        self.owned(browser, key)
        self.keys[browser] = None
        return {}

    async def floor(self) -> dict:
        self.sweep()
        return {"browsers": [{"name": name, "taken": key is not None} for name, key in self.keys.items()]}


def app(farm: Farm) -> Starlette:
    async def mcp(request: Request) -> Response:
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "initialize":
            result = HELLO
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in vars(Farm)]}
        else:
            farm.user = request.headers.get("x-user", "")
            try:
                done = await getattr(farm, message["params"]["name"])(**message["params"]["arguments"])
                result = {"content": [{"type": "text", "text": json.dumps(done)}]}
            except PermissionError as error:
                result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})

    visits = Route("/visits", lambda request: JSONResponse(farm.visits))
    return Starlette(routes=[visits, Route("/mcp", mcp, methods=["POST"])])
