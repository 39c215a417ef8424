"""Who is configured in which scope? Sessions in memory, one per tenant, and the one that the environment gives.

Nothing is asked of the vault when a session is configured. A `Vault` is made for one tool call and keeps the session it
began with, whatever is configured or cleared meanwhile (VC-20). Source: contract vaultclaw 6, ruling 14; VC-04.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.masking import KnownTokens
from lasttick.ports import Entropy
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.dialer import Dialer
from lasttick.reference.vaultclaw.sender import HttpSender
from lasttick.reference.vaultclaw.vault import Sender, Vault, VaultSession

DEFAULT_SCOPE = "default"


class Sessions:
    """The sessions of one server. Every token that comes in here is made known, so that no answer shows it."""

    def __init__(self, config: VaultclawConfig, dialer: Dialer, entropy: Entropy, tokens: KnownTokens) -> None:
        self._config = config
        self._dialer = dialer
        self._entropy = entropy
        self._tokens = tokens
        self._by_scope: dict[str, VaultSession] = {}
        if config.automatic_session is not None:
            tokens.learn(config.automatic_session.token)

    def configure(self, scope: str, session: VaultSession) -> None:
        """Replace the scope's session."""
        self._tokens.learn(session.token)
        self._by_scope[scope] = session

    def status(self, scope: str) -> VaultSession | None:
        """The scope's session; made from the environment, and kept, when there is none."""
        session = self._by_scope.get(scope)
        if session is None and (session := self._automatic(scope)) is not None:
            self.configure(scope, session)
        return session

    def clear(self, scope: str) -> None:
        self._by_scope.pop(scope, None)

    def vault(self, scope: str) -> Vault:
        """The vault for one tool call. Raises ToolFailure: no session."""
        session = self.status(scope)
        if session is None:
            raise ToolFailure(
                "MCP_SESSION_NOT_CONFIGURED",
                f"scope {scope!r} has no session; expected one before the vault is called; call "
                "vaultclaw_session_configure with an agent token first",
            )
        return Vault(self._sender(session))

    def _automatic(self, scope: str) -> VaultSession | None:
        """The environment's token is nobody's but the default scope's: a tenant brings its own (ruling 14)."""
        return self._config.automatic_session if scope == DEFAULT_SCOPE else None

    def _sender(self, session: VaultSession) -> Sender:
        return HttpSender(
            session, self._dialer, self._entropy, socket_path=self._config.socket_path, home=self._config.home
        )
