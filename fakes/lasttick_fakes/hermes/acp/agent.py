"""What does the agent do with each message of its client? One handler per method; sessions are kept here.

Source: contract hermes, sections 4.1 to 4.5; read: a resume of an unknown session opens a new one, and only sessions
with a conversation are listed. Unknown sessions are no errors: `{}`, or `refusal`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from lasttick.ports import Clock, Entropy
from lasttick_fakes.hermes.acp import frames, screen
from lasttick_fakes.hermes.acp.background import Background
from lasttick_fakes.hermes.acp.connection import Connection
from lasttick_fakes.hermes.acp.frames import Frame
from lasttick_fakes.hermes.acp.history import replay
from lasttick_fakes.hermes.acp.prompts import Prompts
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.acp.turn import Stuck

Handler: TypeAlias = Callable[[Any, Mapping[str, Any]], Coroutine[Any, Any, None]]


class AcpAgent:
    """One agent process. `join` connects the servers of a session/new, and waits until their tools are known."""

    def __init__(
        self,
        version: str,
        model: str,
        connection: Connection,
        prompts: Prompts,
        background: Background,
        join: Callable[[list[Any]], Awaitable[None]],
        clock: Clock,
        entropy: Entropy,
        updates_s: float,
    ) -> None:
        self._version = version
        self._model = model
        self._connection = connection
        self._prompts = prompts
        self._background = background
        self._join = join
        self._clock = clock
        self._entropy = entropy
        self._updates_s = updates_s
        self._sessions: dict[str, AcpSession] = {}
        self._handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "authenticate": self._nothing,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/list": self._list,
            "session/close": self._nothing,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_model": self._set_model,
            "session/set_config_option": self._set_config_option,
        }

    def hear(self, line: bytes) -> None:
        """One line of the client. What is no JSON object is passed over."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._connection.on_event("hermes.ignored", {"line": line.decode("utf-8", "replace")})
        elif "method" not in message:
            self._connection.answered(message)
        elif "id" in message:
            self._request(message["id"], str(message["method"]), message.get("params"))
        elif message["method"] == "session/cancel" and not frames.problems("session/cancel", message.get("params")):
            # A task like every request, so that it comes after the prompt that was sent just before it.
            self._background.start(self._cancel(message["params"]["sessionId"]), "hermes does session/cancel")

    # -- dispatch

    def _request(self, rpc_id: Any, method: str, params: Any) -> None:
        handler = self._handlers.get(method)
        if handler is None:
            self._fail(rpc_id, frames.METHOD_NOT_FOUND, "Method not found", {"method": method})
        elif errors := frames.problems(method, params):
            self._fail(rpc_id, frames.INVALID_PARAMS, "Invalid params", {"errors": errors})
        else:
            self._background.start(handler(rpc_id, params if isinstance(params, dict) else {}), f"hermes does {method}")

    def _reply(self, rpc_id: Any, result: Mapping[str, Any]) -> None:
        self._connection.send(frames.response(rpc_id, result))

    def _fail(self, rpc_id: Any, code: int, message: str, data: Any) -> None:
        self._connection.send(frames.error(rpc_id, code, message, data))

    async def _initialize(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        self._reply(rpc_id, screen.initialized(self._version))

    async def _nothing(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        self._reply(rpc_id, {})

    # -- sessions

    async def _new(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        await self._join(params["mcpServers"])
        session = self._created(params["cwd"])
        self._reply(rpc_id, {**self._described(session), "sessionId": session.session_id})
        self._background.start(self._announce(session), "hermes announces a session")

    async def _load(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        session = self._sessions.get(params["sessionId"])
        if session is None:
            self._reply(rpc_id, {})
            return
        await self._reopened(rpc_id, session, params)

    async def _resume(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        session = self._sessions.get(params["sessionId"]) or self._created(params["cwd"])
        await self._reopened(rpc_id, session, params)

    async def _reopened(self, rpc_id: Any, session: AcpSession, params: Mapping[str, Any]) -> None:
        session.folder = Path(params["cwd"])
        servers = params.get("mcpServers")
        await self._join(servers if isinstance(servers, list) else [])
        replay(session, self._connection)
        self._reply(rpc_id, self._described(session))
        self._background.start(self._announce(session), "hermes announces a session")

    async def _fork(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        origin = self._sessions.get(params["sessionId"])
        if origin is None:
            self._reply(rpc_id, {"sessionId": ""})
            return
        session = self._created(params["cwd"])
        session.history = [dict(message) for message in origin.history]
        session.model = origin.model
        self._reply(rpc_id, {**screen.surface(session.model, session.mode), "sessionId": session.session_id})
        self._background.start(self._announce(session, with_usage=False), "hermes announces a session")

    async def _list(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        folder = params.get("cwd")
        listed = [
            session.listed()
            for session in self._sessions.values()
            if session.history and (not isinstance(folder, str) or session.folder == Path(folder))
        ]
        listed.sort(key=lambda one: str(one["updatedAt"]), reverse=True)
        self._reply(rpc_id, {"sessions": listed})

    async def _set_mode(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        if session := self._sessions.get(params["sessionId"]):
            session.mode = params["modeId"] if params["modeId"] in screen.MODES else screen.DEFAULT_MODE
        self._reply(rpc_id, {})

    async def _set_model(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        """Noted, and told; the one model of the configuration goes on to be asked."""
        if session := self._sessions.get(params["sessionId"]):
            session.model = params["modelId"].removeprefix(f"{screen.PROVIDER}:")
        self._reply(rpc_id, {})

    async def _set_config_option(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        self._reply(rpc_id, {"configOptions": []} if params["sessionId"] in self._sessions else {})

    def _created(self, folder: str) -> AcpSession:
        raw = self._entropy.token_bytes(16).hex()
        session_id = "-".join((raw[:8], raw[8:12], f"4{raw[13:16]}", f"a{raw[17:20]}", raw[20:]))
        session = AcpSession(session_id, Path(folder), self._model, self._clock.wall().isoformat())
        self._sessions[session_id] = session
        return session

    def _described(self, session: AcpSession) -> Frame:
        surface = screen.surface(session.model, session.mode)
        return {"_meta": screen.provenance(session.session_id), **surface}

    async def _announce(self, session: AcpSession, *, with_usage: bool = True) -> None:
        """What follows the answer that opened a session, perhaps after the client's next request."""
        await self._clock.sleep(self._updates_s)
        commands = screen.available_commands()
        self._connection.update(session.session_id, "available_commands_update", availableCommands=commands)
        if with_usage:
            self._prompts.tell_usage(session)

    # -- prompts

    async def _prompt(self, rpc_id: Any, params: Mapping[str, Any]) -> None:
        session = self._sessions.get(params["sessionId"])
        if session is None:
            self._reply(rpc_id, {"stopReason": "refusal"})
            return
        try:
            self._reply(rpc_id, await self._prompts.prompt(session, frames.prompt_text(params["prompt"]).strip()))
        except Stuck as stuck:
            self._connection.on_event("hermes.stuck", {"session_id": session.session_id})
            self._fail(rpc_id, frames.INTERNAL_ERROR, "Internal error", {"details": str(stuck)})

    async def _cancel(self, session_id: str) -> None:
        """Withdraws no permission request. A session that runs nothing takes no harm."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel.set()
