"""How does one call go to the vault over HTTP, and how does its answer come back?

Nothing is retried and no redirect is followed: a redirect is a failing answer, since whoever is behind it is not the
vault the token was given for. The time-out covers the whole call, the body included.
Source: contract vaultclaw 8, 9; VC-05.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from lasttick.model.vaultclaw import json_text
from lasttick.model.vaultclaw.vault_errors import failure_of, network_failure
from lasttick.ports import Entropy
from lasttick.reference.vaultclaw.dialer import Dialer
from lasttick.reference.vaultclaw.endpoint import endpoint_of
from lasttick.reference.vaultclaw.vault import RANDOM, VaultAnswer, VaultSession
from lasttick.reference.vaultclaw.wire import encoded

USER_AGENT = "accords-mcp/0.1.0"
BODY_MAX = 16 << 20
REDIRECTS = (301, 302, 303, 307, 308)


class HttpSender:
    """Sends with one session. `socket_path` and `home`: of the server's environment."""

    def __init__(
        self, session: VaultSession, dialer: Dialer, entropy: Entropy, *, socket_path: str | None, home: str
    ) -> None:
        self._session = session
        self._dialer = dialer
        self._entropy = entropy
        self._socket_path = socket_path
        self._home = home

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> VaultAnswer:
        """One call. Raises ToolFailure: the vault's failure or the network's, mapped."""
        request_id = self._digits()
        key = self._digits() if idempotency_key == RANDOM else idempotency_key
        limit_s = self._session.timeout_ms / 1000
        limit_s = limit_s if timeout_s is None else min(limit_s, timeout_s)
        try:
            async with asyncio.timeout(limit_s):
                status, text = await self._exchange(method, path, query, body, self._headers(method, request_id, key))
        except TimeoutError:
            raise network_failure(
                f"the vault did not answer {method} {path} in {limit_s:g} s; expected its whole answer by then "
                "(timeout_ms of the session); try again, or configure a longer time",
                request_id,
            ) from None
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise network_failure(
                f"the vault cannot be reached for {method} {path}: {str(error) or type(error).__name__}; expected it "
                "at base_url or at the Unix socket of the environment; start it, or configure where it is",
                request_id,
            ) from None
        answer = _parsed(text)
        if status >= 400 or status in REDIRECTS:
            raise failure_of(status, answer, request_id)
        return VaultAnswer(status, request_id, answer if isinstance(answer, dict) else None)

    async def _exchange(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Any, headers: dict[bytes, bytes]
    ) -> tuple[int, bytes]:
        if not is_sendable(self._session.token):
            raise ValueError("the token has a control character, which no header can carry")
        endpoint = endpoint_of(self._session.base_url, socket_path=self._socket_path, home=self._home)
        content = encoded(body) if method == "POST" else None
        request = httpx.Request(method, endpoint.url(path, query), headers=headers, content=content)
        response = await self._dialer.transport(endpoint.socket_path).handle_async_request(request)
        try:
            return response.status_code, await _bounded(response)
        finally:
            await response.aclose()

    def _headers(self, method: str, request_id: str, idempotency_key: str | None) -> dict[bytes, bytes]:
        headers = {
            b"X-Request-Id": request_id.encode(),
            b"User-Agent": USER_AGENT.encode(),
            b"Authorization": b"Bearer " + self._session.token.encode("utf-8", "replace"),
        }
        if method == "POST":
            headers[b"Content-Type"] = b"application/json"
        if idempotency_key is not None:
            headers[b"Idempotency-Key"] = idempotency_key.encode()
        return headers

    def _digits(self) -> str:
        return self._entropy.token_bytes(16).hex()


def is_sendable(token: str) -> bool:
    """With a control character in it, another header could be smuggled in."""
    return not any((character < " " and character != "\t") or character == "\x7f" for character in token)


def _parsed(text: bytes) -> Any:
    try:
        return json_text.parse(text)
    except ValueError:
        return None


async def _bounded(response: httpx.Response) -> bytes:
    """The body as it was sent: no encoding was asked for. Raises ValueError: too long."""
    assert isinstance(response.stream, httpx.AsyncByteStream)
    body = bytearray()
    async for chunk in response.stream:
        body += chunk
        if len(body) > BODY_MAX:
            raise ValueError(f"its answer is longer than {BODY_MAX} bytes")
    return bytes(body)
