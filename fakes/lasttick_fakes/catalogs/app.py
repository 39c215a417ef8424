"""How do clients and tests reach a remote catalog? An index and its bundles as an ASGI app.

| request | answer |
|---|---|
| `GET /index.json` | the index; 401 without the token, where one is set |
| `GET /bundles/{n}.json` | a bundle's bytes; 401 as above |
| `GET /log?after=SEQ` | `{"log": [{seq, t_ns, method, path, headers, body, status}]}`; `path` as sent, with its query |
| `POST /control/publish` | `{"bundle"?, "raw"?, "listed"?}` -> `{"item"}`, as the index lists it |
| `PUT /control/index` | members that the index has instead of its own, null removes one |
| `PUT /control/token` | `{"token": text or null}` |
| `POST /trouble` | `trouble.py`, or `{"kind": "heal"}` |
| `POST /reset` | no bundles, no token, no log, no trouble |

An item is made from its bundle: id, version, title, tags, `download_url` on the host that was asked, `sha256` of the
bytes. `listed` says otherwise of any member (null leaves it out): a wrong checksum, another id, a download elsewhere.
`raw` is served instead of the bundle's JSON.

Fidelity. Models: a static catalog with or without a bearer token, and what hostile and sick ones do. Does not model:
conditional requests, compression of healthy answers, HTTP/2, TLS. What is on another origin is another catalog. The log
has the headers as sent: it is how a scenario sees which host saw a token. Shown by tests/fakes/catalogs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from lasttick.model.vaultclaw.json_text import pretty
from lasttick.ports import Clock
from lasttick_fakes.catalogs import trouble
from lasttick_fakes.catalogs.bundles import bundle as make_bundle
from lasttick_fakes.http_json import HANDLERS, Refused, after_seq, answer, parse_object, read_body, shown
from lasttick_fakes.thirdparty.log import Log, Seen
from lasttick_fakes.thirdparty.trouble import HEAL, garbage
from lasttick_fakes.vaultd.broken import Broken, half_of
from lasttick_fakes.vaultd.scripted import Troubles

INDEX = "/index.json"
ERROR_PAGE = "<!doctype html><title>Error</title><h1>Something went wrong</h1>"
PIECES = 10
NO_ANSWER = 0
"""The status of a request whose connection broke, or whose caller left."""


class RemoteCatalog:
    """An ASGI app. `on_event(kind, data)` hears `catalog.request` and `catalog.answer`, and no header."""

    def __init__(
        self,
        clock: Clock,
        *,
        source_id: str = "remote",
        token: str | None = None,
        on_event: Callable[[str, dict[str, Any]], None] | None = None,
    ) -> None:
        self.source_id = source_id
        self.token = token
        self.index: dict[str, Any] = {}
        """Members that the index has instead of its own; None leaves one out."""
        self._clock = clock
        self._on_event = on_event
        self._log = Log(clock)
        self._troubles = Troubles[trouble.Trouble]()
        self._bodies: list[bytes] = []
        self._listed: list[dict[str, Any]] = []
        self._app = Starlette(
            routes=[
                Route("/log", self._get_log, methods=["GET"]),
                Route("/control/publish", self._publish, methods=["POST"]),
                Route("/control/index", self._put_index, methods=["PUT"]),
                Route("/control/token", self._put_token, methods=["PUT"]),
                Route("/trouble", self._make_trouble, methods=["POST"]),
                Route("/reset", self._reset, methods=["POST"]),
                Route("/{path:path}", self._serve, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
            ],
            exception_handlers=HANDLERS,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    # -- for tests in the same process

    def publish(
        self,
        bundle: Mapping[str, Any] | None = None,
        *,
        raw: bytes | None = None,
        listed: Mapping[str, Any] | None = None,
    ) -> str:
        """Serve one more bundle, and list it; returns the path of its download. `listed`: see the module's text."""
        given = make_bundle("remote.recipes", "1.0.0") if bundle is None else dict(bundle)
        body = pretty(given).encode() if raw is None else raw
        path = f"/bundles/{len(self._bodies) + 1}.json"
        item = {name: given.get(name) for name in ("cookbook_id", "version", "title", "tags")}
        item |= {"download_url": path, "sha256": hashlib.sha256(body).hexdigest(), **(listed or {})}
        self._bodies.append(body)
        self._listed.append({name: value for name, value in item.items() if value is not None})
        return path

    def trouble(self, one: trouble.Trouble) -> None:
        self._troubles.add(one)

    def heal(self) -> None:
        """The end of every trouble."""
        self._troubles.clear()

    def log(self, after: int = 0) -> list[Seen]:
        return self._log.entries(after)

    def saw(self, secret: str) -> bool:
        """Whether any request showed it, in a header, the path or the body."""
        return any(secret in repr(seen.as_json()) for seen in self._log.entries())

    def reset(self) -> None:
        self.token = None
        self.index = {}
        self._bodies.clear()
        self._listed.clear()
        self._log.clear()
        self.heal()

    # -- the catalog's own side

    async def _serve(self, request: Request) -> Response:
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        query = request.scope["query_string"].decode("latin-1")
        path = (request.scope.get("raw_path") or request.scope["path"].encode()).decode("latin-1")
        target = f"{path}?{query}" if query else path
        body = (await read_body(request)).decode("utf-8", "replace")
        seq = self._log.arrived(request.method, target, headers, body)
        self._tell("catalog.request", {"seq": seq, "method": request.method, "path": target})
        response = await self._meet(request, path, query)
        status = NO_ANSWER if isinstance(response, Broken) else response.status_code
        self._log.answered(seq, status)
        self._tell("catalog.answer", {"seq": seq, "status": status})
        return response

    async def _meet(self, request: Request, path: str, query: str) -> Response:
        met = self._troubles.meet(request.method, path)
        if met is None:
            return self._answer(request, path)
        match met.kind:
            case "slow":
                await self._clock.sleep(met.s)
                return self._answer(request, path)
            case "trickle":
                whole = self._answer(request, path)
                pieces = self._trickle(bytes(whole.body), met.s)
                return StreamingResponse(pieces, whole.status_code, media_type=whole.media_type)
            case "hang":
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                return Broken()
            case "half":
                return half_of(self._answer(request, path))
            case "cut":
                whole = self._answer(request, path)
                part = bytes(whole.body)[: len(whole.body) // 2]
                return Response(part, whole.status_code, media_type=whole.media_type)
            case "status":
                return Response(ERROR_PAGE, met.status or 503, media_type="text/html")
            case "garbage":
                return Response(garbage(met.shape), media_type="text/html" if met.shape == "html" else None)
            case "redirect":
                return Response(status_code=met.status or 302, headers={"location": met.to})
            case "endless":
                hop = int(query.removeprefix("hop=") or 0) + 1 if query.removeprefix("hop=").isdigit() else 1
                return Response(status_code=302, headers={"location": f"{path}?hop={hop}"})
            case "bomb":
                headers = {"content-encoding": "gzip"}
                return StreamingResponse(_chunks(trouble.bomb(met.mib)), headers=headers, media_type="application/json")
            case "huge":
                return StreamingResponse(_chunks(trouble.huge(met.mib)), media_type="application/json")
        return Broken()

    def _answer(self, request: Request, path: str) -> Response:
        """What a healthy catalog says."""
        if request.method not in ("GET", "HEAD"):
            return answer({"error": f"{request.method} {shown(path)}; expected GET; use it"}, 405)
        if self.token is not None and request.headers.get("authorization") != f"Bearer {self.token}":
            return answer({"error": "the token is not known; expected this catalog's; ask for one"}, 401)
        if path == INDEX:
            return answer(self._index(f"{request.url.scheme}://{request.headers.get('host', 'localhost')}"))
        for number, body in enumerate(self._bodies, 1):
            if path == f"/bundles/{number}.json":
                return Response(body, media_type="application/json")
        return answer({"error": f"nothing is at {shown(path)}; expected {INDEX} or what it lists; read it"}, 404)

    def _index(self, origin: str) -> dict[str, Any]:
        items = []
        for item in self._listed:
            url = item.get("download_url")
            # A path is a download of ours; anything else is listed as it was said.
            ours = isinstance(url, str) and url.startswith("/bundles/")
            items.append({**item, "download_url": f"{origin}{url}"} if ours else item)
        whole = {
            "type": "accords.cookbook.index.v1",
            "source_id": self.source_id,
            "generated_at_unix_ms": 1_767_225_600_000,
            "items": items,
            **self.index,
        }
        return {name: value for name, value in whole.items() if value is not None}

    async def _trickle(self, body: bytes, pause_s: float) -> AsyncIterator[bytes]:
        size = max(1, -(-len(body) // PIECES))
        for at in range(0, len(body), size):
            if at:
                await self._clock.sleep(pause_s)
            yield body[at : at + size]

    # -- the tests' side

    async def _get_log(self, request: Request) -> Response:
        return answer({"log": [seen.as_json() for seen in self._log.entries(after_seq(request))]})

    async def _publish(self, request: Request) -> Response:
        body = parse_object(await read_body(request))
        bundle, raw, listed = body.pop("bundle", None), body.pop("raw", None), body.pop("listed", {})
        if (
            body
            or not isinstance(listed, dict)
            or not isinstance(raw, str | None)
            or not isinstance(bundle, dict | None)
        ):
            raise Refused(
                400, "this is nothing to publish; expected bundle, raw and listed of app.py's text; correct it"
            )
        self.publish(bundle, raw=None if raw is None else raw.encode("utf-8", "replace"), listed=listed)
        return answer({"item": self._listed[-1]})

    async def _put_index(self, request: Request) -> Response:
        self.index = parse_object(await read_body(request))
        return answer({"ok": True})

    async def _put_token(self, request: Request) -> Response:
        body = parse_object(await read_body(request))
        if set(body) != {"token"} or not isinstance(body["token"], str | None):
            raise Refused(400, f"the token is {shown(body)}; expected {{token: text or null}}; correct it")
        self.token = body["token"]
        return answer({"ok": True})

    async def _make_trouble(self, request: Request) -> Response:
        body = parse_object(await read_body(request))
        if body == {"kind": HEAL}:
            self.heal()
        else:
            self.trouble(trouble.parse(body))
        return answer({"ok": True})

    async def _reset(self, request: Request) -> Response:
        self.reset()
        return answer({"ok": True})

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        if self._on_event is not None:
            self._on_event(kind, data)


async def _chunks(made: Any) -> AsyncIterator[bytes]:
    for chunk in made:
        yield chunk
        await asyncio.sleep(0)  # a caller that leaves is heard between two chunks
