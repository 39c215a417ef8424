"""How do the parts of the platform half become one application? All wiring is here, and the order of start and stop.

Start: database, what an earlier process left active or open is ended, registry. Nothing is asked of the agent or a
third party before somebody calls. Stop: who waits for those is answered, then the database is closed, within 2 s.
Source: contract gateway, "Parts".
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.model.tool_call import Refusal
from lasttick.ports import Clock, Entropy
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.admin import AdminSurface
from lasttick.reference.gateway.agent_client import AgentClient
from lasttick.reference.gateway.catalogue import INVALID, Catalogue
from lasttick.reference.gateway.chat import ChatSurface
from lasttick.reference.gateway.config import ConfigError, GatewayConfig
from lasttick.reference.gateway.conversations import Conversations
from lasttick.reference.gateway.database import Database, reason
from lasttick.reference.gateway.dispatch import Dispatch
from lasttick.reference.gateway.executors import Executors
from lasttick.reference.gateway.guard import RunnerTokenGuard
from lasttick.reference.gateway.http_json import ClientGone, Refused
from lasttick.reference.gateway.in_flight import InFlight
from lasttick.reference.gateway.jwt_door import JwtDoor
from lasttick.reference.gateway.ledger import Ledger
from lasttick.reference.gateway.runs import Runs
from lasttick.reference.gateway.single_platform import only_platform_of
from lasttick.reference.gateway.tools import ToolGatewayService

EXECUTE_PATH = "/v1/runtime/tools/execute"

STORE_UNAVAILABLE = Refusal(
    503, "STORE_UNAVAILABLE", "the platform's database does not answer; expected one that does; try again later"
)
_HTTP_CODES = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}

logger = logging.getLogger(__name__)


class Platform:
    """One platform: `app` is its ASGI application, `running()` everything behind it.

    `app`'s lifespan enters `running()` unless it is entered already. A platform runs once: build a new one to start
    again. `transport`: how agent and third party are reached, httpx's own when None. Raises ConfigError.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        clock: Clock,
        entropy: Entropy,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        config.check()
        self.config = config
        self._entered = False
        self._up = False
        self._database = Database(config.store_url)
        self.catalogue = Catalogue(self._database)
        self.runs = Runs(self._database, clock=clock, entropy=entropy)
        self.ledger = Ledger(self._database, clock, own_secrets(config), write=config.ledger)
        self._executors = Executors(config.third_party_url, transport=transport, timeout_s=config.upstream_s)
        self._agent = AgentClient(
            config.agent_url, secret=config.agent_secret, transport=transport, timeout_s=config.turn_s
        )
        self._in_flight = InFlight()
        conversations = Conversations(self._database, clock)
        dispatch = Dispatch(
            catalogue=self.catalogue,
            runs=self.runs,
            conversations=conversations,
            agent=self._agent,
            in_flight=self._in_flight,
            entropy=entropy,
        )
        service = ToolGatewayService(
            runs=self.runs,
            catalogue=self.catalogue,
            ledger=self.ledger,
            executors=self._executors,
            in_flight=self._in_flight,
        )
        guard = RunnerTokenGuard(
            service.execute, secret=config.agent_secret, jwt_door=JwtDoor(config.runner_jwt_secret, clock)
        )
        chat = ChatSurface(
            catalogue=self.catalogue, conversations=conversations, dispatch=dispatch, admin=config.admin_token
        )
        admin = AdminSurface(catalogue=self.catalogue, runs=self.runs, ledger=self.ledger, admin=config.admin_token)
        self.app = Starlette(
            routes=[Route(EXECUTE_PATH, guard, methods=["POST"]), *chat.routes, *admin.routes],
            exception_handlers=_HANDLERS,
            lifespan=self._lifespan,
        )
        # A redirect to the other spelling would carry the caller's secret along.
        self.app.router.redirect_slashes = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Platform]:
        """Be a platform. Raises ConfigError when it can not start."""
        if self._entered:
            raise RuntimeError("this Platform has run already; expected a new one for every start; build one")
        self._entered = True
        async with AsyncExitStack() as stack:
            stack.callback(self._database.close)
            stack.push_async_callback(self._executors.aclose)
            stack.push_async_callback(self._agent.aclose)
            self._database.open()
            stack.enter_context(only_platform_of(self.config.store_url))
            self._load()
            self._up = True
            try:
                yield self
            finally:
                self._up = False
                await self._in_flight.stop()

    def _load(self) -> None:
        try:
            left_over, left_open = self.runs.finish_left_over(), self.ledger.close_left_over()
            self.catalogue.load()
        except (*INVALID, ValueError) as error:
            raise ConfigError(
                f"the stored tool registry cannot be used: {error}",
                "one that PUT /v1/admin/registry would take (contract gateway, tool registry and ruling 8)",
                "correct the row `registry` of the table `setting`, or delete it for the default one",
            ) from error
        if left_over:
            logger.info("%d runs of an earlier process were still active and are finished", left_over)
        if left_open:
            logger.warning(
                "%d tool calls of an earlier process were cut off: nobody knows if they were done", left_open
            )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self._up:
            yield
        else:
            async with self.running():
                yield


def own_secrets(config: GatewayConfig) -> list[str]:
    """What the platform itself must never write down."""
    opaque = [secret.reveal() for secret in (config.agent_secret, config.admin_token) if secret is not None]
    password = config.store_url.password
    return [*opaque, *(text for text in (config.runner_jwt_secret, password) if text)]


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return http_json.refusal_answer(error.refusal)


async def _gone(_: Request, error: Exception) -> Response:
    return Response(status_code=400)


async def _store(_: Request, error: Exception) -> Response:
    logger.error("the database does not answer: %s", reason(error))
    return http_json.refusal_answer(STORE_UNAVAILABLE)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _HTTP_CODES.get(error.status_code, "BAD_REQUEST")
    message = "there is nothing under this method and path; expected one of the platform's surface; correct the request"
    answer = http_json.refusal_answer(Refusal(error.status_code, code, message))
    answer.headers.update(error.headers or {})
    return answer


_HANDLERS: dict[Any, Any] = {
    Refused: _refused,
    ClientGone: _gone,
    sa.exc.SQLAlchemyError: _store,
    HTTPException: _http,
}
