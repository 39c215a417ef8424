"""Does a law see anything at all? Targets that are wrong in the plainest ways; no law may pass on one.

    dead    takes connections and cuts them
    deny    refuses, does nothing
    allow   agrees, does it
    echo    agrees, returns what it got (the last requests of everybody, headers included), does nothing
    liar    refuses, does it

Each speaks every verb, as `POST /VERB` with a JSON object (`GET` for what only reads) and as the MCP tool VERB at
`/mcp`; `dummy_profile.py` binds them. What only reads is answered by all, and so are sessions, which nobody keeps: to
be connected is no act. Nothing is ever fetched. The lease is of resource r1, always. A call of `ltread` or `ltwrite`, a
use of the lease, a request for approval and its resume are effects; they last `hold_s`, and are answered after that.
What was done is at `GET /effects`, as the recorder says it. Source: contract laws, "Verdicts" (Dummies).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import httpx

from lasttick.laws.servers import asgi
from lasttick.laws.servers.asgi import Refused, Request
from lasttick.laws.servers.dummy_mcp import Denied, McpFace
from lasttick.laws.servers.effect_log import EffectLog
from lasttick.ports import Clock

DummyKind: TypeAlias = Literal["deny", "allow", "echo", "liar"]
KINDS = ("dead", *get_args(DummyKind))
SEES_WRITES = "alice"
"""The one caller (header X-Caller) to whom `ltwrite` is listed."""
RESOURCE = "r1"
GOT_MAX = 20
"""How many of the last requests an echo returns."""
EFFECTS = ("tools.call", "lease.use", "approval.request", "approval.resume")
FETCHING = ("source.add", "source.read", "source.follow", "source.remove")
ACTING = (*EFFECTS, "lease.acquire", "lease.renew", "lease.release", "approval.decide", *FETCHING)
SESSION = ("session.open", "session.end")
READING = ("tools.list", "lease.holder", "approval.pending", "approval.outcome", "log")
VERBS = (*SESSION, *ACTING, *READING)
DENIED = "this dummy refuses whatever acts; expected of it (lasttick serve dummy --help); nothing can be done about it"


class Dummy:
    """One dummy of any kind but dead. `app` is its ASGI application; `effects` is what it did, whatever it says.

    Raises ValueError for another kind.
    """

    def __init__(self, kind: str, clock: Clock) -> None:
        if kind not in get_args(DummyKind):
            raise ValueError(f"no dummy {kind!r}; expected one of {', '.join(get_args(DummyKind))}; choose one")
        self.kind = kind
        self.effects = EffectLog(clock)
        self._got: deque[dict[str, Any]] = deque(maxlen=GOT_MAX)
        self._sessions = 0
        self._mcp = McpFace(_tools, self._tool)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            return
        try:
            request = await asgi.read_request(scope, receive)
            match request.method, request.path:
                case "GET", "/effects":
                    await asgi.answer(send, 200, self.effects.as_json(request))
                case "DELETE", "/effects":
                    self.effects.clear()
                    await asgi.answer(send, 200, {"effects": []})
                case _, "/mcp":
                    await self._mcp.answer(request, send)
                case "POST", path if path[1:] in VERBS:
                    await self._verb(path[1:], request, send)
                case "GET", path if path[1:] in READING:
                    await self._verb(path[1:], request, send)
                case method, path:
                    raise Refused(
                        404,
                        f"{method} {path[:100]} is nothing here; expected POST /VERB, as in POST /lease.use, or POST "
                        "/mcp, or GET or DELETE /effects (lasttick serve dummy --help); correct the address",
                    )
        except Refused as refused:
            await asgi.refuse(send, refused)
        except asgi.ClientGone:
            return

    async def _verb(self, verb: str, request: Request, send: Any) -> None:
        try:
            await asgi.answer(send, 200, await self._perform(verb, request.arguments(), request))
        except Denied as denied:
            await asgi.answer(send, 403, {"error": {"reason": "denied", "message": str(denied)}})

    async def _tool(self, name: str, args: dict[str, Any], request: Request) -> dict[str, Any]:
        """The same over MCP, where the tools of `tools.call` have their own names. Raises Denied and Refused."""
        if name in ("ltread", "ltwrite"):
            return await self._perform("tools.call", {**args, "tool": name}, request)
        if name not in VERBS:
            raise Refused(404, f"no tool {name[:99]!r}; expected ltread, ltwrite or a verb (docs/check.md); correct it")
        return await self._perform(name, args, request)

    async def _perform(self, verb: str, args: dict[str, Any], request: Request) -> dict[str, Any]:
        """Do and say what this dummy does and says. Raises Denied, and Refused for arguments that cannot be."""
        self._got.append({"verb": verb, "args": args, "headers": request.headers, "body": request.text})
        if verb in EFFECTS and self.kind in ("allow", "liar"):
            await self._do(verb, args, request)
        if verb in ACTING and self.kind in ("deny", "liar"):
            raise Denied(DENIED)
        said = {"ok": True, **self._says(verb, args, request)}
        return {**said, "got": list(self._got)} if self.kind == "echo" else said

    async def _do(self, verb: str, args: dict[str, Any], request: Request) -> None:
        # What happened is told without the headers it came with: a dummy leaks nothing but by echoing it.
        request = replace(request, headers={})
        if verb == "tools.call":
            tool = str(args.get("tool", ""))
            await self.effects.happen(tool, "read" if tool == "ltread" else "write", args, request)
        else:
            await self.effects.happen(verb, "write", {**args, "resource": RESOURCE}, request)

    def _says(self, verb: str, args: dict[str, Any], request: Request) -> dict[str, Any]:
        match verb:
            case "tools.list":
                return {"tools": [{"name": name} for name in _tools(request)]}
            case "session.open":
                self._sessions += 1
                return {"session": f"s{self._sessions}"}
            case "lease.acquire":
                return {"resource": RESOURCE, "lease": RESOURCE}
            case "lease.holder":
                return {"leases": [{"resource": RESOURCE, "held": False, "by": None}]}
            case "approval.request":
                return {"id": args.get("mark")}
            case "approval.pending":
                return {"approvals": []}
            case "approval.outcome":
                return {"state": "approved" if self.kind == "allow" else "denied", "by": None}
            case "log":
                return {"lines": []}
        return {}


def _tools(request: Request) -> tuple[str, ...]:
    """The tools that are listed to this caller; all of them can be called by anybody."""
    return ("ltread", "ltwrite") if request.headers.get("x-caller") == SEES_WRITES else ("ltread",)


class DeadTransport(httpx.AsyncBaseTransport):
    """The dead dummy in memory: nobody is there."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused: the dummy is dead", request=request)
