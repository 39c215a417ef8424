"""How does the agent speak MCP with a server at a URL? Streamable HTTP with a session, in the recorded order.

HEAD (and GET, if that is 405 or 501) before the first try; then initialize, `notifications/initialized`, a GET stream
that stays open, requests one by one, DELETE at a clean end. Redirects are followed, with the headers. Events of the
open stream are passed over. Source: contract hermes, sections 3.4 and 3.7; recorded frames of both versions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from lasttick_fakes.hermes.config import Server
from lasttick_fakes.hermes.sessions import INITIALIZE, PROTOCOL_VERSION, GivenUp, RpcError, SessionLost
from lasttick_fakes.hermes.versions import Habits

_KINDS = ("application/json", "text/event-stream")
_PROBE = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "hermes-probe", "version": "1.0"}}
BOTH = ", ".join(_KINDS)
STREAM_OPEN_S = 1.0
"""How long the stream's head is waited for before the first request, so that the recorded order is kept."""


class HttpSession:
    """One session with `server`. The HTTP client is shared and not closed here."""

    def __init__(self, server: Server, http: httpx.AsyncClient, habits: Habits) -> None:
        assert server.url is not None
        self._server = server
        self._url = server.url
        self._http = http
        self._habits = habits
        self._next_id = 0
        self._id: str | None = None
        self._lost = False
        self._stream: asyncio.Task[None] | None = None

    async def preflight(self) -> None:
        """Is it an MCP endpoint at all? Raises GivenUp for a page."""
        if self._server.skip_preflight:
            return
        headers = {**self._server.headers, "accept": "*/*"}
        response = await self._send("HEAD", headers)
        if response.status_code in (405, 501):
            response = await self._send("GET", headers)
        if not response.is_success or _kind(response) in _KINDS:
            return
        if self._habits.probes_pages:
            probe = {"jsonrpc": "2.0", "id": "_probe", "method": "initialize", "params": _PROBE}
            response = await self._send("POST", {**self._server.headers, "accept": BOTH}, probe)
        if not response.is_success or _kind(response) not in _KINDS:
            raise GivenUp(f"{self._url} answers with {_kind(response) or 'no content type'}, which is not MCP")

    async def initialize(self) -> Mapping[str, Any]:
        about = await self.request("initialize", INITIALIZE)
        await self._send("POST", self._headers(), {"method": "notifications/initialized", "jsonrpc": "2.0"})
        if self._id is not None:
            opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._stream = asyncio.create_task(self._listen(opened), name="hermes keeps a stream open")
            await asyncio.wait([opened], timeout=STREAM_OPEN_S)
        return about

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """The result. Raises RpcError, SessionLost, OSError."""
        number, self._next_id = self._next_id, self._next_id + 1
        message = {"method": method, **({} if params is None else {"params": params}), "jsonrpc": "2.0", "id": number}
        try:
            async with self._http.stream("POST", self._url, headers=self._headers(), content=_bytes(message)) as got:
                if got.status_code == 404 and self._id is not None:
                    self._lost = True
                    raise SessionLost
                if not got.is_success:
                    raise OSError(f"Client error '{got.status_code}' for url '{self._url}'")
                if method == "initialize":
                    self._id = got.headers.get("mcp-session-id")
                async for said in _messages(got):
                    if said.get("id") == number and "method" not in said:
                        return _result(said)
        except httpx.HTTPError as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        raise RpcError("the answer ended without a result")

    async def close(self) -> None:
        """DELETE, and hang up. A server that is gone is no reason to fail."""
        await self.vanish()
        if self._id is not None and (self._habits.ends_lost_sessions or not self._lost):
            with contextlib.suppress(OSError):
                await self._send("DELETE", self._headers())
        self._id = None

    async def vanish(self) -> None:
        """Hang up without a word, as a killed program does."""
        if self._stream is not None:
            self._stream.cancel()
            await asyncio.wait([self._stream])

    @property
    def session_id(self) -> str | None:
        """The session's id while there is one."""
        return self._id

    def _headers(self) -> dict[str, str]:
        own = {"accept": BOTH, "content-type": "application/json", "mcp-protocol-version": PROTOCOL_VERSION}
        session = {} if self._id is None else {"mcp-session-id": self._id}
        return {**self._server.headers, **own, **session}

    async def _send(self, method: str, headers: Mapping[str, str], body: Any = None) -> httpx.Response:
        """One exchange whose body nobody looks at, but for its kind. Raises OSError."""
        content = None if body is None else _bytes(body)
        try:
            async with self._http.stream(method, self._url, headers=dict(headers), content=content) as response:
                return response
        except httpx.HTTPError as error:
            raise OSError(f"{type(error).__name__}: {error}") from error

    async def _listen(self, opened: asyncio.Future[None]) -> None:
        headers = {**self._headers(), "accept": "text/event-stream"}
        try:
            async with self._http.stream("GET", self._url, headers=headers) as response:
                opened.set_result(None)
                if response.is_success:
                    async for _ in response.aiter_bytes():
                        pass
        except httpx.HTTPError:
            if not opened.done():
                opened.set_result(None)


async def _messages(response: httpx.Response) -> AsyncIterator[Mapping[str, Any]]:
    """The JSON-RPC messages of an answer, JSON or events. What is none is passed over."""
    if _kind(response) == "application/json":
        texts = [(await response.aread()).decode("utf-8", "replace")]
        for said in _parsed(texts):
            yield said
        return
    data: list[str] = []
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            for said in _parsed(["\n".join(data)]):
                yield said
            data = []


def _parsed(texts: list[str]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for text in texts:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            if isinstance(value, Mapping):
                found.append(value)
    return found


def _result(said: Mapping[str, Any]) -> Mapping[str, Any]:
    error, result = said.get("error"), said.get("result")
    if isinstance(error, Mapping):
        raise RpcError(str(error.get("message", "")), error)
    if not isinstance(result, Mapping):
        raise RpcError("the answer has neither result nor error")
    return result


def _kind(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _bytes(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
