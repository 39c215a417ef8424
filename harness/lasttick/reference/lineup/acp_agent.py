"""An agent that speaks ACP, as the core sees it. All contact with the ACP library is in this module.

The library numbers our requests, finds their answers, checks their shape and sends the answers to permission requests;
what it does not do well, `acp_transport` and `acp_filter` do under it. Source: contract lineup "Parts" (ACP client),
rules 3 and 5; hermes.md 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    RequestPermissionResponse,
)
from pydantic import ValidationError

from lasttick.model.errors import shown
from lasttick.model.lineup.records import PromptEnd, RpcId
from lasttick.ports import ChildPrograms, Clock
from lasttick.reference.lineup.acp_filter import RPC_ID, UNREADABLE
from lasttick.reference.lineup.acp_transport import AcpTransport
from lasttick.reference.lineup.links import AgentEvents, AgentGone

START_S = 60.0
"""For `initialize` and for `session/new`: the real agent needs up to 8 s for each."""
CLIENT = Implementation(name="lasttick-lineup", version="1")
NOTHING = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False)
Decision = asyncio.Future[str | None]
T = TypeVar("T")


class AcpAgent:
    """`links.AgentLink` over a child program. `cwd` is the working folder of its sessions, an absolute path.

    Once `start` has returned, the end of the agent is told once, as `gone`, and everybody who waits gets AgentGone.
    """

    def __init__(
        self, programs: ChildPrograms, clock: Clock, argv: Sequence[str], env: Mapping[str, str], *, cwd: str
    ) -> None:
        self._programs = programs
        self._clock = clock
        self._argv = tuple(argv)
        self._env = dict(env)
        self._cwd = cwd
        self._decisions: dict[RpcId, Decision] = {}
        self._connected: _Connected | None = None
        self._is_up = False

    async def start(self, events: AgentEvents) -> None:
        """Raises AgentGone: no such program, no `initialize` within 60 s, or another protocol version."""
        command, *args = self._argv
        try:
            stream = await self._programs.start(command, args, self._env)
        except (OSError, ValueError) as error:
            raise AgentGone(
                f"the agent {shown(command)} does not start: {shown(str(error), 200)}; expected the command of an ACP "
                "agent; run it by hand"
            ) from error
        transport = AcpTransport(stream, self._clock, events, self._on_end)
        # The library knows what a client lacks by looking; its type wants all of it.
        client: Any = _Client(self._decision)
        wire = ClientSideConnection(client, transport)
        self._connected = _Connected(transport, wire, events)
        said = await self._open("initialize", lambda: wire.initialize(PROTOCOL_VERSION, NOTHING, CLIENT))
        if said.protocol_version != PROTOCOL_VERSION:
            raise await self._fail(f"the agent speaks ACP version {said.protocol_version}; expected {PROTOCOL_VERSION}")
        self._is_up = True

    async def new_session(self) -> str:
        """An agent that opens no session is of no use: the link ends, and AgentGone is raised."""
        wire = self._now().wire
        said = await self._open("session/new", lambda: wire.new_session(cwd=self._cwd, mcp_servers=[]))
        return said.session_id

    async def prompt(self, session_id: str, texts: Sequence[str]) -> PromptEnd:
        now = self._now()
        with now.transport.waiter() as waiter:
            try:
                said = await now.wire.prompt(session_id=session_id, prompt=[text_block(text) for text in texts])
            except RequestError as error:
                return PromptEnd(None, error_code=error.code)
            except ValidationError as error:
                now.events.refused(f"unreadable prompt response: {_first(error)}", waiter.answer)
                return PromptEnd(None, error_code=UNREADABLE)
            except ConnectionError as error:
                raise self._gone() from error
        return PromptEnd(said.stop_reason, has_usage=said.usage is not None)

    async def cancel(self, session_id: str) -> None:
        try:
            await self._now().wire.cancel(session_id=session_id)
        except ConnectionError as error:
            raise self._gone() from error

    async def answer(self, rpc_id: RpcId, option_id: str | None) -> None:
        """Returns when it was written. Raises LookupError for a request that is not open or was answered before."""
        written = self._now().transport.answer_of(rpc_id)
        decision = self._decision(rpc_id)
        if decision.done():
            raise LookupError(
                f"permission request {shown(repr(rpc_id))} has its answer; expected one (contract lineup C-9); look at "
                "who answers twice"
            )
        decision.set_result(option_id)
        was_written = await asyncio.shield(written)
        self._decisions.pop(rpc_id, None)
        if not was_written:
            raise self._gone()

    async def stop(self) -> None:
        """End of file for the agent; what it still says is not heard. Idempotent."""
        if self._connected is not None:
            self._drop_decisions()
            await self._connected.wire.close()

    def _decision(self, rpc_id: RpcId) -> Decision:
        """Made by whoever comes first: the core that answers, or the library that asks for the answer."""
        if rpc_id not in self._decisions:
            self._decisions[rpc_id] = asyncio.get_running_loop().create_future()
        return self._decisions[rpc_id]

    def _drop_decisions(self) -> None:
        """The library's tasks that wait for one end without a word."""
        for decision in self._decisions.values():
            decision.cancel()

    def _on_end(self, reason: str) -> None:
        self._drop_decisions()
        if self._is_up and self._connected is not None:
            self._connected.events.gone(reason)

    async def _open(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        try:
            with self._now().transport.waiter():
                async with asyncio.timeout(START_S):
                    return await call()
        except TimeoutError:
            reason = f"no answer to {what} within {START_S:g} s"
        except RequestError as error:
            reason = f"{what} was answered with error {error.code}: {shown(str(error), 200)}"
        except ValidationError as error:
            reason = f"unreadable answer to {what}: {_first(error)}"
        except ConnectionError as error:
            raise self._gone() from error
        raise await self._fail(reason)

    async def _fail(self, reason: str) -> AgentGone:
        """This link gives up its agent."""
        now = self._now()
        if now.transport.end(reason):
            self._on_end(reason)
        await self.stop()
        return AgentGone(reason)

    def _now(self) -> _Connected:
        if self._connected is None:
            raise AgentGone("the agent was not started; expected start() before anything else; start it")
        return self._connected

    def _gone(self) -> AgentGone:
        return AgentGone(self._now().transport.ended or "the connection is closed")


@dataclass(frozen=True, slots=True)
class _Connected:
    transport: AcpTransport
    wire: ClientSideConnection
    events: AgentEvents


class _Client:
    """What the library may ask of us: only this. It asks with the id of the request among the members of `_meta`."""

    def __init__(self, decision: Callable[[RpcId], Decision]) -> None:
        self._decision = decision

    async def request_permission(self, **asked: Any) -> RequestPermissionResponse:
        option_id = await self._decision(asked[RPC_ID])
        if option_id is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option_id))


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return shown(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}", 200)
