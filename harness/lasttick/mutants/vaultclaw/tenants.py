"""Wrong servers that mix up their tenants, or the sessions that one tenant has in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import http_bridge
from lasttick.reference.vaultclaw.sender import HttpSender
from lasttick.reference.vaultclaw.sessions import Sessions
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer, VaultSession

TENANTS = "vaultclaw/tenants/"


class Following:
    """Sends each call with the session that its scope has by then."""

    def __init__(self, sessions: Sessions, scope: str, begun: VaultSession) -> None:
        self._sessions = sessions
        self._scope = scope
        self._begun = begun

    async def send(self, method: str, path: str, **more: Any) -> VaultAnswer:
        session = self._sessions.status(self._scope) or self._begun
        return await self._sessions._sender(session).send(method, path, **more)


def follows_the_scope(right: Any) -> Callable[..., Any]:
    """A wait goes on with whatever token was configured last."""

    def vault(self: Sessions, scope: str) -> Vault:
        right(self, scope)
        begun = self.status(scope)
        assert begun is not None
        return Vault(Following(self, scope, begun))

    return vault


def last_one_configured(right: Any) -> Callable[..., Any]:
    """The server keeps the token of its last configure call in one place for all."""

    def configure(self: Sessions, scope: str, session: VaultSession) -> None:
        right(self, scope, session)
        for other in self._by_scope:
            self._by_scope[other] = session

    return configure


def headers_made_once(right: Any) -> Callable[..., Any]:
    """Headers are kept between calls of one base URL, the token among them."""
    kept: dict[str, bytes] = {}

    def _headers(self: HttpSender, method: str, request_id: str, key: str | None) -> dict[bytes, bytes]:
        headers: dict[bytes, bytes] = right(self, method, request_id, key)
        first = kept.setdefault(self._session.base_url, headers[b"Authorization"])
        return {**headers, b"Authorization": first}

    return _headers


def whatever_case(right: Any) -> Callable[..., Any]:
    """Tenants are told apart as header names are: in any case."""
    return lambda headers: right(headers).lower()


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/wait-follows-the-scope",
        breaks="VC-20",
        text="a wait goes on with the token that its tenant configured meanwhile",
        killed_by=TENANTS + "a-wait-keeps-the-session-it-began-with",
        patch=lambda seam: seam.wrap(Sessions, "vault", follows_the_scope),
    ),
    Mutant(
        "vaultclaw/last-configured-wins",
        breaks="VC-20",
        text="whoever configures a session changes that of all the others",
        killed_by=TENANTS + "a-wait-keeps-the-session-it-began-with",
        patch=lambda seam: seam.wrap(Sessions, "configure", last_one_configured),
    ),
    Mutant(
        "vaultclaw/token-of-the-first-caller",
        breaks="VC-20",
        text="all calls to one vault carry the token of the first",
        killed_by=TENANTS + "five-hundred-tenants-at-once",
        patch=lambda seam: seam.wrap(HttpSender, "_headers", headers_made_once),
    ),
    Mutant(
        "vaultclaw/tenants-in-any-case",
        breaks="VC-20",
        text="tenants whose names differ in case are one",
        killed_by=TENANTS + "a-wait-keeps-the-session-it-began-with",
        patch=lambda seam: seam.wrap(http_bridge, "tenant_of", whatever_case),
    ),
]
