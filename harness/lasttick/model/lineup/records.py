"""The things that the adapter's rules are about: what an agent asks, what a person sees, what a person answers.

All are frozen and JSON-able in their parts. Source: contract lineup C-1 to C-4, C-9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

RpcId: TypeAlias = int | str
Source: TypeAlias = Literal["permission", "model", "gateway"]
CallState: TypeAlias = Literal["emitted", "completed", "expired", "aborted"]
InteractionState: TypeAlias = Literal["pending", "resolved", "expired", "aborted"]
Disposition: TypeAlias = Literal["accepted", "rejected"]
DEFAULT_CONVERSATION = "default"


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that the agent offers. Two may have the same kind: only the id says which is meant."""

    option_id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """`session/request_permission` as it was read. `rpc_id` 0 is an id like any other; `read_ns` is the monotonic
    instant at which our side had the whole frame, from which its deadline counts."""

    rpc_id: RpcId
    session_id: str
    options: tuple[Option, ...]
    tool_call: Mapping[str, Any]
    read_ns: int


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """How a prompt ended: with a stop reason, or with the code of a JSON-RPC error. `has_usage`: see C-5 (stuck)."""

    stop_reason: str | None
    has_usage: bool = False
    error_code: int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the host's inventory. `arguments`: name -> (string, number or boolean; required)."""

    name: str
    arguments: Mapping[str, tuple[Literal["string", "number", "boolean"], bool]]


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the host can do. `revision` None: nothing was published on this link, told as `none`."""

    revision: str | None = None
    tools: Mapping[str, Tool] | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A valid card, as it goes out (C-2). `schema` is what its result is judged by, as the ledger keeps it."""

    call_id: str
    tool: str
    title: str
    prompt: str
    expires_at: str
    data: Mapping[str, Any]
    schema: Mapping[str, Any]
    source: Source

    def payload(self) -> dict[str, Any]:
        """The payload of its `lineup.v1.tool.call`."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "title": self.title,
            "prompt": self.prompt,
            "expires_at": self.expires_at,
            "data": dict(self.data),
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a card, a frame or a result is not taken. The reason is what the audit keeps."""

    reason: str


@dataclass(frozen=True, slots=True)
class Result:
    """A valid result in its one form (C-3): `{"action_ids": [id]}`, `{"values": {...}}`, `{"output": {...}}`, or None
    when it was cancelled."""

    status: Literal["completed", "cancelled"]
    result: Mapping[str, Any] | None
