"""Who takes the platform's turns? The trusted agent: one HTTP surface in front of the agent program.

`POST /v1/chat` with the secret that platform and agent share, in `X-Agent-Secret` or as bearer, and the wire's body ->
200 `{"answer"}`, or `{"code", "message"}`. At its start it registers our MCP server with the program; if that fails, it
starts all the same, and its turns have no tools. Source: contract gateway, "Parts".
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lasttick.model import trust
from lasttick.model.tool_call import Refusal
from lasttick.ports import AgentProgram, Clock
from lasttick.reference.gateway import boot, hermes_turn, http_json, registration
from lasttick.reference.gateway.http_json import ClientGone, Refused
from lasttick.reference.gateway.secret import AgentSecret
from lasttick.reference.hostagent.config import is_http_url
from lasttick.reference.hostagent.start_error import StartError

CHAT_PATH = "/v1/chat"
SECRET_HEADER = b"x-agent-secret"
PROGRAM = ("hermes",)

log = logging.getLogger(__name__)


class AgentConfigError(StartError):
    """A setting has a value that the agent refuses. The message never holds a secret."""


@dataclass(frozen=True, slots=True, eq=False)
class AgentConfig:
    """The settings of one agent.

    `command`: the agent program, with its own first arguments if it has some. `register_home`: the folder of the
    program's configuration, into which our MCP server is registered at the start, as `interpreter` with
    `humanwork_args`; None registers nothing.
    """

    platform_url: str
    agent_secret: AgentSecret | None = None
    command: tuple[str, ...] = PROGRAM
    register_home: Path | None = None
    interpreter: str = sys.executable
    humanwork_args: tuple[str, ...] = registration.HUMANWORK_ARGS

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **options: Any) -> AgentConfig:
        """Options over the environment. Raises AgentConfigError."""
        settings: dict[str, Any] = {
            "platform_url": environ.get("PLATFORM_API_URL", ""),
            "agent_secret": AgentSecret.configured(environ.get("AGENT_SERVICE_SECRET")),
            "register_home": registration.hermes_home(environ),
        }
        config = cls(**{**settings, **options})
        config.check()
        return config

    def check(self) -> None:
        """Raises AgentConfigError for the first setting that cannot be."""
        if not is_http_url(self.platform_url):
            raise AgentConfigError(
                "PLATFORM_API_URL is not a URL one can send to",
                "the platform's http:// or https:// URL (contract gateway, Parts)",
                "set it and start again",
            )
        if not self.command:
            raise AgentConfigError(
                "the agent program is an empty command",
                "a program and its first arguments (contract gateway, Parts)",
                f"leave it out for {PROGRAM[0]!r}",
            )


class TrustedAgent:
    """One agent: `app` is its ASGI application, whose lifespan registers the MCP server.

    `environ` is the container's whole environment; of it the program sees what the fence lets through. Raises
    AgentConfigError.
    """

    def __init__(self, config: AgentConfig, *, program: AgentProgram, environ: Mapping[str, str], clock: Clock) -> None:
        config.check()
        self.config = config
        self._program = program
        self._environ = dict(environ)
        self._clock = clock
        self.app = Starlette(
            routes=[Route(CHAT_PATH, self._chat, methods=["POST"])],
            exception_handlers=_HANDLERS,
            lifespan=self._lifespan,
        )
        # A redirect to the other spelling would carry the caller's secret along.
        self.app.router.redirect_slashes = False

    def register(self) -> None:
        """Tell the agent program of our MCP server. Idempotent; an error is logged, and the start goes on."""
        home = self.config.register_home
        if home is not None:
            boot.boot(home, interpreter=self.config.interpreter, args=self.config.humanwork_args)

    async def _chat(self, request: Request) -> Response:
        if not self._admits(request.headers.raw):
            raise Refused(http_json.UNAUTHENTICATED)
        turn = hermes_turn.read_turn(await http_json.object_of(request))
        began_ns = self._clock.now_ns()
        try:
            answer = await hermes_turn.take_turn(
                self._program, self.config.command, self._environ, self.config.platform_url, turn
            )
        finally:
            log.info("the turn of run %s took %.3f s", turn.run_id, (self._clock.now_ns() - began_ns) / 1e9)
        return http_json.json_answer(200, {"answer": answer})

    def _admits(self, headers: list[tuple[bytes, bytes]]) -> bool:
        secret = self.config.agent_secret
        if secret is None:
            return False
        presented = (trust.single_secret(http_json.header_values(headers, SECRET_HEADER)), http_json.bearer(headers))
        return any(value is not None and secret.matches(value) for value in presented)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.register()
        yield


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return http_json.refusal_answer(error.refusal)


async def _gone(_: Request, error: Exception) -> Response:
    return Response(status_code=400)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = "METHOD_NOT_ALLOWED" if error.status_code == 405 else "NOT_FOUND"
    message = f"there is nothing under this method and path; expected POST {CHAT_PATH}; correct the request"
    answer = http_json.refusal_answer(Refusal(error.status_code, code, message))
    answer.headers.update(error.headers or {})
    return answer


_HANDLERS: dict[Any, Any] = {Refused: _refused, ClientGone: _gone, HTTPException: _http}
