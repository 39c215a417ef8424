"""Wrong versions of whose token is used, and of where it may be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.vaultclaw import masking
from lasttick.model.vaultclaw.masking import KnownTokens
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import rpc, sender
from lasttick.reference.vaultclaw.sessions import Sessions
from lasttick.reference.vaultclaw.vault import VaultSession

ENVELOPE = "vaultclaw/envelope/"
SESSIONS = "vaultclaw/sessions/"


def as_it_is(envelope: Mapping[str, Any], tokens: KnownTokens) -> dict[str, Any]:
    """Nothing is masked."""
    return dict(envelope)


def only_itself(token: str) -> list[str]:
    """A token is looked for in no other writing."""
    return [token]


def pieces_stay(self: KnownTokens, text: str) -> str:
    return text


def names_stay(self: KnownTokens, value: Any) -> Any:
    """Texts are masked, the names of members are not."""
    if isinstance(value, dict):
        return {key: self.masked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [self.masked(item) for item in value]
    return self.masked_text(value) if isinstance(value, str) else value


def forgets(right: Any) -> Callable[..., Any]:
    """With its session a token is no secret any more."""

    def clear(self: Sessions, scope: str) -> None:
        session = self._by_scope.get(scope)
        right(self, scope)
        if session is not None:
            self._tokens._forget(session.token)

    return clear


def clears_all(self: Sessions, scope: str) -> None:
    self._by_scope.clear()


def to_everybody(self: Sessions, scope: str) -> VaultSession | None:
    return self._config.automatic_session


def without_the_variable(right: Any) -> Callable[..., Any]:
    def endpoint_of(base_url: str, *, socket_path: str | None, home: str) -> Any:
        return right(base_url, socket_path=None, home=home)

    return endpoint_of


def to_nobody(self: Sessions, scope: str) -> VaultSession | None:
    """The environment gives nobody a session."""
    return None


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/vault-echo-leaks-token",
        breaks="VC-02",
        ruling=17,
        text="what the vault says is passed on with the caller's token in it",
        killed_by=ENVELOPE + "no-token-comes-out-of-an-echo[200]",
        patch=lambda seam: seam.replace(rpc, "masked", as_it_is),
    ),
    Mutant(
        "vaultclaw/token-masked-in-one-writing",
        breaks="VC-02",
        text="a token is masked as it is, but not percent-encoded or in base64",
        killed_by=ENVELOPE + "no-token-comes-out-of-an-echo[500]",
        patch=lambda seam: seam.replace(masking, "forms", only_itself),
    ),
    Mutant(
        "vaultclaw/token-leaks-in-pieces",
        breaks="VC-02",
        text="a token is masked whole, but not in pieces of eight characters",
        killed_by=ENVELOPE + "no-token-comes-out-of-an-echo[200]",
        patch=lambda seam: seam.replace(KnownTokens, "_without_pieces", pieces_stay),
    ),
    Mutant(
        "vaultclaw/token-leaks-in-a-name",
        breaks="VC-02",
        text="a token that is the name of a member is not masked",
        killed_by=ENVELOPE + "no-token-comes-out-of-an-echo[200]",
        patch=lambda seam: seam.replace(KnownTokens, "masked", names_stay),
    ),
    Mutant(
        "vaultclaw/cleared-token-is-no-secret",
        breaks="VC-02",
        text="once its session is cleared, a token is masked no more",
        killed_by=ENVELOPE + "no-tenant-sees-another-ones-token",
        patch=lambda seam: seam.wrap(Sessions, "clear", forgets),
    ),
    Mutant(
        "vaultclaw/environment-token-for-every-tenant",
        breaks="VC-04",
        ruling=14,
        text="over HTTP every tenant without a session gets that of the environment",
        killed_by=SESSIONS + "the-environment-gives-the-default-scope-a-session[http]",
        patch=lambda seam: seam.replace(Sessions, "_automatic", to_everybody),
    ),
    Mutant(
        "vaultclaw/environment-token-unused",
        breaks="VC-04",
        text="the environment's token makes no session",
        killed_by=SESSIONS + "the-environment-gives-the-default-scope-a-session[stdio]",
        patch=lambda seam: seam.replace(Sessions, "_automatic", to_nobody),
    ),
    Mutant(
        "vaultclaw/short-token-unmasked",
        breaks="VC-04",
        ruling=17,
        text="of a token of six bytes all but nothing is hidden",
        killed_by=SESSIONS + "a-token-is-shown-by-its-ends-or-not-at-all",
        patch=lambda seam: seam.replace(masking, "SHOWN_FROM_BYTES", 6),
    ),
    Mutant(
        "vaultclaw/address-beats-the-socket",
        breaks="VC-04",
        text="a session's own http address is used although the environment names a Unix socket",
        killed_by=SESSIONS + "a-socket-beats-an-address",
        patch=lambda seam: seam.wrap(sender, "endpoint_of", without_the_variable),
    ),
    Mutant(
        "vaultclaw/clear-clears-every-tenant",
        breaks="VC-04",
        text="session_clear of one tenant ends the sessions of all",
        killed_by=SESSIONS + "each-scope-has-its-own-session",
        patch=lambda seam: seam.replace(Sessions, "clear", clears_all),
    ),
]
