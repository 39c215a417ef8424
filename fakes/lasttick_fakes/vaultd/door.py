"""How is one call let in? Who calls, which call, once per idempotency key; then it is carried out in one go.

Nothing here waits, so nothing comes between a call's look at the state and its change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from lasttick.model.vaultclaw.json_text import canonical, parse, sha256_hex, sorted_keys
from lasttick_fakes.vaultd.api import Api
from lasttick_fakes.vaultd.call import Call
from lasttick_fakes.vaultd.principals import Principal, principal_of
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.work import Now, Workroom

KEY_HEADER = "idempotency-key"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One call as its bytes came. `path` and `query` are raw."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def target(self) -> str:
        """Path and query as on the request line."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def header(self, name: str) -> str | None:
        """The first value of a header, given in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)


class Door:
    """The way into one workroom."""

    def __init__(self, room: Workroom) -> None:
        self._room = room
        self._api = Api(room)

    def who(self, delivery: Delivery) -> Principal:
        """Whose token it shows. Raises VaultError (401)."""
        return principal_of(self._room.state.tokens, delivery.header("authorization"))

    def deliver(self, delivery: Delivery, now: Now) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer."""
        self._room.settle(now)
        try:
            who = self.who(delivery)
            handler, ident = self._api.find(delivery.method, delivery.path)
            body = _parsed(delivery.body) if delivery.method == "POST" else None
            call = Call(who, now, _query(delivery.query), body, unquote(ident))
            key = delivery.header(KEY_HEADER) if delivery.method == "POST" else None
            if not key:
                return 200, handler(self._api, call)
            return 200, self._once(call, delivery.path, key, lambda: handler(self._api, call))
        except VaultError as error:
            return error.status, error.as_json()

    def _once(self, call: Call, path: str, key: str, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer of before for a key that is known. Raises VaultError, 409 for another body.

        A refusal is forgotten, unless a run began: its first steps may have had their effects.
        """
        answered = self._room.state.answered
        name = canonical([call.who.tenant, call.who.agent_id, path, key])
        digest = sha256_hex(canonical(sorted_keys(call.body)))
        before = answered.get(name)
        if before is None:
            try:
                # What is answered later may not change what was answered now: the text of it is kept.
                before = {"digest": digest, "answer": canonical(do())}
            except VaultError as error:
                if "run_id" in error.details:
                    told = [error.status, error.code, error.message, error.details]
                    answered[name] = {"digest": digest, "error": canonical(told)}
                raise
            answered[name] = before
        if before["digest"] != digest:
            raise VaultError(
                409,
                "IDEMPOTENCY_CONFLICT",
                "The idempotency key came before with another body; expected the same one; use a fresh key.",
            )
        if "error" in before:
            raise VaultError(*parse(before["error"]))
        answer: dict[str, Any] = parse(before["answer"])
        return answer


def _parsed(body: bytes) -> Any:
    """The value of a body. Raises VaultError (400)."""
    try:
        value = parse(body)
    except ValueError:
        value = None
    if value is None:
        raise VaultError(400, "INVALID_ARGUMENT", "The body is no JSON value; expected an object; correct it.")
    return value


def _query(text: str) -> Mapping[str, str]:
    """The first value of each key."""
    found: dict[str, str] = {}
    for key, value in parse_qsl(text, keep_blank_values=True):
        found.setdefault(key, value)
    return found
