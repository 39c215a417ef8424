"""How do clients, persons and tests reach the vault? One ASGI app, over memory, TCP or a Unix socket.

| request | answer |
|---|---|
| `/v0/...` | the vault's own API (`api.py`); logged, and subject to trouble |
| `GET /log?after=SEQ` | `{"log": [{seq, t_ns, method, path, headers, body, status}]}`; `path` as sent, with its query |
| `GET /effects?after=SEQ` | `{"effects": [...]}`: what was carried out, as below |
| `GET /approvals` | `{"items": [...]}`: of all tenants, as pending items, with who decided |
| `POST /trouble` | `trouble.py`, or `{"kind": "heal"}` |
| `POST /control/answers` | `{status?, body or raw, method?, path?, times?, skip?}`: the next matching answers (1) |
| `PUT /control/...`, `POST /control/...` | `control.py` |
| `GET /state`, `PUT /state` | everything it remembers, for a daemon that starts in this one's place |
| `POST /reset` | as it was at its start: no log, no trouble, the default tokens |

An effect is `{seq, t_ns, kind: execute, job or step, tenant, agent, connector_id, verb, arguments, decided_by, work_id,
step_id}`: `arguments` is the inner request as it ran, `decided_by` "" where nobody had to.

Fidelity. Models: tokens with tenants and scopes, strict validation, policy and its hash, jobs and plan runs that wait
for a person, decided once by an approver of the tenant, expired at the last tick; one effect per approval; idempotency
keys; profiles, slots, documents. Does not model: what a verb does out there (`verbs.py` makes a result up), attestation
pages, revoking, paging past `limit`, TLS, rate limits, a person who can only decide while it runs: a scripted one
decides at their instant all the same. Control calls need no token: it is for loopback and Unix sockets. Shown by
tests/fakes/vaultd.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.model.vaultclaw.json_text import parse
from lasttick.ports import Clock
from lasttick_fakes.http_json import BODY_BYTES_MAX, HANDLERS, Refused, after_seq, answer, read_body, shown
from lasttick_fakes.thirdparty.log import Log, Seen
from lasttick_fakes.thirdparty.trouble import HEAL, garbage
from lasttick_fakes.vaultd import control, trouble
from lasttick_fakes.vaultd.approval import item
from lasttick_fakes.vaultd.broken import Broken, half_of
from lasttick_fakes.vaultd.door import Delivery, Door
from lasttick_fakes.vaultd.principals import Principal
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.scripted import Troubles
from lasttick_fakes.vaultd.state import VaultState, load
from lasttick_fakes.vaultd.work import Now, Workroom

UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERROR_PAGE = "<!doctype html><title>Error</title><h1>Something went wrong</h1>"
STATE_BYTES_MAX = 64 << 20
NO_ANSWER = 0
"""The status of a call whose caller left, or whose connection broke."""


class VaultDaemon:
    """An ASGI app. `on_event(kind, data)` hears `vault.request`, `.answer`, `.approval`, `.effect` and `.work`.

    No event has a token in it. `state` may be another daemon's, which is gone: a restart.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        state: VaultState | None = None,
        on_event: Callable[[str, dict[str, Any]], None] | None = None,
    ) -> None:
        self._clock = clock
        self._on_event = on_event
        self._log = Log(clock)
        self._troubles = Troubles[trouble.Trouble]()
        self._use(state or VaultState())
        self._app = Starlette(
            routes=[
                Route("/log", self._get_log, methods=["GET"]),
                Route("/effects", self._get_effects, methods=["GET"]),
                Route("/approvals", self._get_approvals, methods=["GET"]),
                Route("/trouble", self._make_trouble, methods=["POST"]),
                Route("/control/answers", self._script_answers, methods=["POST"]),
                Route("/control/jobs", self._begin, methods=["POST"]),
                Route("/control/runs", self._begin, methods=["POST"]),
                Route("/control/cancel", self._cancel, methods=["POST"]),
                Route("/control/{kind}", self._put, methods=["PUT"]),
                Route("/control/{kind}/{ident:path}", self._put, methods=["PUT"]),
                Route("/state", self._state, methods=["GET", "PUT"]),
                Route("/reset", self._reset, methods=["POST"]),
            ],
            exception_handlers=HANDLERS,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/v0/"):
            await self._serve(Request(scope, receive), receive, send)
        else:
            await self._app(scope, receive, send)

    # -- for tests in the same process

    @property
    def state(self) -> VaultState:
        """All it remembers, up to now. A test may change it."""
        self._room.settle(self._now())
        return self._room.state

    def effects(self, after: int = 0) -> list[dict[str, Any]]:
        """What was carried out, with a larger `seq`."""
        return self.state.effects[after:]

    def log(self, after: int = 0) -> list[Seen]:
        return self._log.entries(after)

    def trouble(self, one: trouble.Trouble) -> None:
        self._troubles.add(one)

    def heal(self) -> None:
        """The end of every trouble. A call that is slow or hangs already goes on so."""
        self._troubles.clear()

    def reset(self) -> None:
        self._use(VaultState())
        self._log.clear()
        self.heal()

    # -- the vault's own side

    async def _serve(self, request: Request, receive: Any, send: Any) -> None:
        scope = request.scope
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        raw_path = scope.get("raw_path") or scope["path"].encode()
        path, query = raw_path.decode("latin-1"), scope["query_string"].decode("latin-1")
        try:
            delivery = Delivery(request.method, path, query, headers, await read_body(request))
        except Refused as refused:
            # A body that was refused before it was whole is logged all the same: the call did arrive.
            seq = self._arrived(Delivery(request.method, path, query, headers, b""))
            error = VaultError(refused.status, "BODY_REFUSED", str(refused))
            await self._send(seq, answer(error.as_json(), error.status), scope, receive, send)
            return
        seq = self._arrived(delivery)
        await self._send(seq, await self._meet(delivery, receive), scope, receive, send)

    async def _send(self, seq: int, response: Response, scope: Any, receive: Any, send: Any) -> None:
        status = NO_ANSWER if isinstance(response, Broken) else response.status_code
        # An id of the vault's own, which no client should take for the one that it sent.
        response.headers["x-request-id"] = f"vault-{seq}"
        self._log.answered(seq, status)
        self._tell("vault.answer", {"seq": seq, "status": status})
        await response(scope, receive, send)

    async def _meet(self, delivery: Delivery, receive: Callable[[], Awaitable[Any]]) -> Response:
        """The answer to one call, with the trouble that meets it."""
        met = self._troubles.meet(delivery.method, delivery.path)
        if met is None:
            return self._deliver(delivery)
        match met.kind:
            case "slow":
                await self._clock.sleep(met.s)
                return self._deliver(delivery)
            case "hang":
                while (await receive())["type"] != "http.disconnect":
                    pass
                return Broken()
            case "half":
                return half_of(self._deliver(delivery))
            case "duplicate":
                first = self._deliver(delivery)
                seq = self._arrived(delivery)
                again = self._deliver(delivery)
                self._log.answered(seq, again.status_code)
                return first
            case "5xx":
                return Response(ERROR_PAGE, met.status or 503, media_type="text/html")
            case "garbage":
                return Response(garbage(met.shape), media_type="application/json")
            case "answer" if met.raw is not None:
                return Response(met.raw.encode(), met.status or 200, media_type="application/json")
            case "answer":
                return answer(met.body, met.status or 200)
            case "echo":
                return answer(trouble.echo(delivery.header("authorization") or ""), met.status or 500)
        return Broken()

    def _deliver(self, delivery: Delivery) -> Response:
        status, body = self._door.deliver(delivery, self._now())
        return answer(body, status)

    def _arrived(self, delivery: Delivery) -> int:
        """Write a call; returns its seq."""
        target = delivery.target
        body = delivery.body.decode("utf-8", "replace")
        seq = self._log.arrived(delivery.method, target, delivery.headers, body)
        try:
            who = self._door.who(delivery)
        except VaultError:
            who = Principal("")
        about = {"seq": seq, "method": delivery.method, "path": target, "body": body}
        self._tell("vault.request", {**about, "tenant": who.tenant, "agent": who.agent_id, "approver": who.approver})
        return seq

    # -- the tests' side

    async def _get_log(self, request: Request) -> Response:
        return answer({"log": [seen.as_json() for seen in self._log.entries(after_seq(request))]})

    async def _get_effects(self, request: Request) -> Response:
        return answer({"effects": self.effects(after_seq(request))})

    async def _get_approvals(self, request: Request) -> Response:
        return answer({"items": [{**item(one), "tenant": one.tenant} for one in self.state.approvals.values()]})

    async def _make_trouble(self, request: Request) -> Response:
        body = await _object(request)
        if body == {"kind": HEAL}:
            self.heal()
        else:
            self.trouble(trouble.parse(body))
        return answer(control.OK)

    async def _script_answers(self, request: Request) -> Response:
        body = await _object(request)
        body["count"] = body.pop("times", 1)
        self.trouble(trouble.parse({**body, "kind": "answer"}))
        return answer(control.OK)

    async def _begin(self, request: Request) -> Response:
        kind = "JOB" if request.url.path.endswith("jobs") else "PLAN_RUN"
        return answer(control.begin(self._room, kind, await _object(request), self._now()))

    async def _cancel(self, request: Request) -> Response:
        body = await _object(request)
        self._room.settle(self._now())
        return answer(control.cancel(self._room, body, self._now()))

    async def _put(self, request: Request) -> Response:
        given = request.path_params
        return answer(control.put(self.state, given["kind"], given.get("ident", ""), await _object(request)))

    async def _state(self, request: Request) -> Response:
        if request.method == "GET":
            return answer(self.state.dump())
        body = await _object(request, STATE_BYTES_MAX)
        try:
            state = load(body)
        except (TypeError, KeyError, AttributeError) as error:
            raise Refused(
                400, f"the state is no state: {error}; expected what GET /state answered; send that"
            ) from None
        self._use(state)
        return answer(control.OK)

    async def _reset(self, request: Request) -> Response:
        self.reset()
        return answer(control.OK)

    # -- within

    def _use(self, state: VaultState) -> None:
        self._room = Workroom(state, self._tell)
        self._door = Door(self._room)

    def _now(self) -> Now:
        return Now(self._clock.now_ns(), (self._clock.wall() - UNIX_EPOCH) // timedelta(milliseconds=1))

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        if self._on_event is not None:
            self._on_event(kind, data)


async def _object(request: Request, bytes_max: int = BODY_BYTES_MAX) -> dict[str, Any]:
    """A body of the tests' side, read as the vault reads its own. Raises Refused (400, 413)."""
    body = await read_body(request, bytes_max)
    try:
        value = parse(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refused(400, f"the body is {shown(body)}; expected one JSON object; correct it")
    return value
