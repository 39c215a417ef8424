"""A message for the target: a binding whose templates are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from lasttick.laws.reply import Reply

Kind: TypeAlias = Literal["tool", "http", "run", "python"]


@dataclass(frozen=True, slots=True)
class Message:
    """`what`: tool name, `POST /path?..` or `POST http://..`, nothing (run), `module:Class.method`.

    `args`: tool arguments, or keyword arguments of the python method. A path in `what` goes to the origin of the
    target's URL. `headers` win over the caller's, for kind `tool` at a URL too (so a session id of somebody else can be
    tried). `json` is sent when it is not None, else `form` when that is not None.
    """

    kind: Kind
    what: str
    args: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    form: Mapping[str, Any] | None = None
    argv: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str | None = None
    timeout_s: float = 10.0


class Wire(Protocol):
    """One caller's session. Every method gives a Reply, also for no answer at all (`lost`); none raises for the target.

    A message that cannot be sent as it is (host not allowed, program not found) raises WireError, before anything is
    sent. `vanish` cuts every connection and says nothing; the wire cannot be used afterwards.
    """

    @property
    def session_id(self) -> str | None:
        """What the target knows this session by; None where it has given no id."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether it has vanished or was closed."""
        ...

    def borrow(self, other: Wire, session_id: str | None = None) -> None:
        """From now on speak in the other's session, by its id, with one's own credentials. Nothing is sent.

        `session_id`: by this id instead.
        """
        ...

    async def open(self) -> Reply:
        """Begin the session of kind `tool` (initialize, or server/discover); other kinds have nothing to open."""
        ...

    async def list_tools(self, timeout_s: float) -> Reply:
        """tools/list following every cursor; body = {"tools": [...]}."""
        ...

    async def send(self, message: Message) -> Reply: ...

    async def end(self) -> Reply:
        """End the session as the protocol asks (DELETE; stdio: close its input)."""
        ...

    async def vanish(self) -> None: ...

    async def close(self) -> None:
        """Let go of what is open here; the target is told nothing more."""
        ...


class WireError(Exception):
    """The message cannot be sent: three-part message."""
