"""How do gateways and tests reach the third party? Its HTTP surface as an ASGI app.

| request | answer |
|---|---|
| `POST /{slug}/{action}` input object | 200 the result, 400, 404 (`business.py`); logged, and subject to trouble |
| `PUT /data/orders/{id}`, `PUT /data/products/{id}` an object | 200 `{order_id, ...}` or `{product_id, ...}` |
| `GET /data/orders/{id}`, `GET /data/products/{id}` | the record as it is now, 404 |
| `GET /log?after=SEQ` | 200 `{"log": [{seq, t_ns, method, path, headers, body, status}]}` |
| `POST /trouble` `{kind, s?, status?, shape?, path?, count?, skip?}` | 200; kinds: `trouble.py`, and heal |
| `POST /reset` | 200; no records, no log, no trouble |

Fidelity. Models: a JSON API whose answer depends on data that a test puts there for one run (a nonce), an effect that
a forbidden write would leave, a log of its own, and the four troubles. Does not model: authentication (it takes any
credentials, and shows them in its log), rate limits, pagination, TLS. Anything unknown is refused and logged. It
listens on loopback only. Shown over memory and over sockets by tests/fakes/thirdparty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.ports import Clock
from lasttick_fakes.http_json import HANDLERS, Refused, after_seq, answer, parse_object, read_body, shown
from lasttick_fakes.thirdparty.business import Business
from lasttick_fakes.thirdparty.log import Log, Seen
from lasttick_fakes.thirdparty.trouble import HEAL, BadTrouble, Trouble, TroubleList, garbage, parse

ANY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ERROR_PAGE = "<!doctype html><title>Error</title><h1>Something went wrong</h1>"


class ThirdParty:
    """An ASGI app. `on_event(kind, data)` hears `third.request` and `third.answer`, for a trace."""

    def __init__(self, clock: Clock, on_event: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        self.business = Business()
        self._clock = clock
        self._log = Log(clock, on_event)
        self._troubles = TroubleList()
        self._app = Starlette(
            routes=[
                Route("/log", self._get_log, methods=["GET"]),
                Route("/trouble", self._make_trouble, methods=["POST"]),
                Route("/reset", self._reset, methods=["POST"]),
                Route("/data/{kind}/{id:path}", self._data, methods=["GET", "PUT"]),
                Route("/{path:path}", self._serve, methods=ANY_METHOD),
            ],
            exception_handlers=HANDLERS,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    # -- for tests in the same process

    def put_order(self, order_id: str, **fields: Any) -> None:
        self.business.orders[order_id] = {"order_id": order_id, **fields}

    def put_product(self, product_id: str, **fields: Any) -> None:
        self.business.products[product_id] = {"product_id": product_id, **fields}

    def log(self, after: int = 0) -> list[Seen]:
        return self._log.entries(after)

    def trouble(self, trouble: Trouble) -> None:
        self._troubles.add(trouble)

    def heal(self) -> None:
        """The end of every trouble. A request that is slow already stays slow."""
        self._troubles.clear()

    def reset(self) -> None:
        self.business = Business()
        self._log.clear()
        self.heal()

    # -- the business side

    async def _serve(self, request: Request) -> Response:
        path = request.url.path
        seq: int | None = None
        try:
            body = await read_body(request)
            seq = self._arrived(request, body)
            response = await self._answer(request.method, path, body)
        except Refused as refused:
            # A body that was refused before it was whole is logged all the same: the request did arrive.
            seq = self._arrived(request, b"") if seq is None else seq
            response = answer({"error": str(refused)}, refused.status)
        self._log.answered(seq, 0 if isinstance(response, _Broken) else response.status_code)
        return response

    def _arrived(self, request: Request, body: bytes) -> int:
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        return self._log.arrived(request.method, request.url.path, headers, _text(body))

    async def _answer(self, method: str, path: str, body: bytes) -> Response:
        trouble = self._troubles.meet(path)
        if trouble is not None and trouble.kind == "slow":
            await self._clock.sleep(trouble.s)
        elif trouble is not None and trouble.kind == "5xx":
            return Response(ERROR_PAGE, trouble.status, media_type="text/html")
        elif trouble is not None and trouble.kind == "garbage":
            return Response(garbage(trouble.shape), media_type="application/json")
        elif trouble is not None:
            return _Broken()
        if method != "POST":
            raise Refused(405, f"{method} {shown(path)}; expected POST, as every action here; use it")
        return answer(self.business.act(path.removeprefix("/"), parse_object(body)))

    # -- the tests' side

    async def _get_log(self, request: Request) -> Response:
        return answer({"log": [seen.as_json() for seen in self._log.entries(after_seq(request))]})

    async def _make_trouble(self, request: Request) -> Response:
        body = parse_object(await read_body(request))
        if body == {"kind": HEAL}:
            self.heal()
            return answer({"ok": True})
        try:
            self.trouble(parse(body))
        except BadTrouble as error:
            raise Refused(400, str(error)) from None
        return answer({"ok": True})

    async def _reset(self, request: Request) -> Response:
        self.reset()
        return answer({"ok": True})

    async def _data(self, request: Request) -> Response:
        kind, key = request.path_params["kind"], request.path_params["id"]
        if kind not in ("orders", "products") or not key:
            raise Refused(404, f"no data at {shown(request.url.path)}; expected /data/orders/ID or /data/products/ID")
        records = self.business.orders if kind == "orders" else self.business.products
        if request.method == "PUT":
            fields = parse_object(await read_body(request))
            records[key] = {**fields, f"{kind[:-1]}_id": key}
        elif key not in records:
            raise Refused(404, f"no record {shown(key)} in {kind}; expected one that was put there; PUT it first")
        return answer(records[key])


class _Broken(Response):
    """The head of an answer whose body never comes: a server closes such a connection."""

    def __init__(self) -> None:
        super().__init__(media_type="application/json", headers={"content-length": "100"})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})


def _text(body: bytes) -> str:
    """The body for the log: no byte of it is lost, whatever it is."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("latin-1")
