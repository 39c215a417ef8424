"""What is a tool, and what does it get when it is called?

A tool is a name, a text, the properties of its schema, and one async function from `ToolCall` to `Success`, which
raises `ToolFailure`. Everything around it (JSON-RPC, the envelope, masking, scopes) is done once, outside of it.
Source: contract vaultclaw 3, 4, 7.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import Success
from lasttick.ports import Clock, Entropy

if TYPE_CHECKING:
    from lasttick.reference.vaultclaw.catalog.catalog import Catalog
    from lasttick.reference.vaultclaw.remote import RemoteSources
    from lasttick.reference.vaultclaw.sessions import Sessions
    from lasttick.reference.vaultclaw.vault import Vault

TYPES = {"s": "string", "i": "integer", "b": "boolean", "o": "object", "a": "array"}
PREFIX = "vaultclaw_"


@dataclass(frozen=True, slots=True)
class Parts:
    """What the tools of one server share."""

    clock: Clock
    entropy: Entropy
    sessions: Sessions
    catalog: Catalog
    remote: RemoteSources


@dataclass(slots=True)
class ToolCall:
    """One call: its arguments, the scope (tenant) it came from, and the parts of the server."""

    arguments: Arguments
    scope: str
    parts: Parts
    _vault: Vault | None = field(default=None, init=False)

    @property
    def vault(self) -> Vault:
        """The vault with this scope's session, the same for the whole call. Raises ToolFailure: no session."""
        if self._vault is None:
            self._vault = self.parts.sessions.vault(self.scope)
        return self._vault


Run = Callable[[ToolCall], Awaitable[Success]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as it is advertised and run.

    `properties`: JSON Schema of each argument, in the contract's order (see `properties_of`); `required`: names that
    the schema lists, which `run` checks itself. `waits`: it may wait for minutes, and is cut when the server ends.
    """

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    run: Run
    required: tuple[str, ...] = ()
    waits: bool = False

    def as_json(self) -> dict[str, Any]:
        """Its entry of tools/list."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: dict(p) for name, p in self.properties.items()},
        }
        if self.required:
            schema["required"] = list(self.required)
        return {"name": self.name, "description": self.description, "inputSchema": schema}


def properties_of(**letters: str) -> dict[str, dict[str, Any]]:
    """Schemas from the contract's type letters: s string, i integer, b boolean, o object, a array, * any."""
    return {name: {} if letter == "*" else {"type": TYPES[letter]} for name, letter in letters.items()}
