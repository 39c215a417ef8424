"""What does a line of the agent say, and may the library hear it?

The library loses the connection over an array, waits for ever for an answer with id "0", and says yes to requests that
nobody implements. So every line is read here first, and this table is what becomes of it:

| line | becomes |
|---|---|
| `session/update`, of any kind | told at once, in the order of reading; unknown kinds are recorded as well |
| readable `session/request_permission` | told at once, then the library waits for our answer and sends it |
| `session/request_permission` that cannot be read, also for repeated keys, NaN, depth, bytes | answered `cancelled` |
| any other request | answered -32601 `Unsupported ACP client method` |
| answer to a request of ours | handed on |
| answer to a request of ours that cannot be read | its waiter gets error -32600; recorded |
| array, string, half a line, no UTF-8, too long, id of another type, unknown notification, ... | dropped, recorded |

Nothing here can turn into an approval: a permission is only ever answered with what a person chose, or `cancelled`.
Source: contract lineup "Parts" (ACP client), C-9, LU-11; contract engine "Transports" (holes of ACP).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from lasttick.model.errors import sendable
from lasttick.model.lineup.frames import strict_json
from lasttick.model.lineup.records import Option, PermissionAsked, RpcId
from lasttick.model.lineup.shape import ShapeError, a_string, an_array, an_integer, an_object, inside, one_of, told

LINE_BYTES_MAX = 1 << 23
"""Of one line: a whole file may stand in a permission request, but no more than a person could look at."""
OPTIONS_MAX = 1_000
ID_MAX = 1 << 53
ID_CHARS_MAX = 128
REQUEST_PERMISSION: Final = "session/request_permission"
UPDATE: Final = "session/update"
KINDS: Final = ("allow_once", "allow_always", "reject_once", "reject_always")
UPDATES: Final = (
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
)
UNSUPPORTED: Final = -32601
UNREADABLE: Final = -32600
RPC_ID: Final = "rpc_id"
"""The library does not tell its handler which request it serves: the id travels in `_meta`, which handlers see."""


@dataclass(frozen=True, slots=True)
class Update:
    """`kind_is_known`: whether anybody knows what it means."""

    session_id: str
    update: Mapping[str, Any]
    kind_is_known: bool


@dataclass(frozen=True, slots=True)
class Permission:
    """A request that a card can be made of; what is wrong with its options is the core's to say (C-9)."""

    rpc_id: RpcId
    session_id: str
    options: tuple[Option, ...]
    tool_call: Mapping[str, Any]

    def asked(self, read_ns: int) -> PermissionAsked:
        return PermissionAsked(self.rpc_id, self.session_id, self.options, self.tool_call, read_ns)

    def message(self) -> dict[str, Any]:
        """For the library: only what was read here. Its handlers take members of `_meta` for arguments, so that an
        agent's own `_meta` could put other options in place of those that were shown."""
        options = [{"optionId": o.option_id, "name": o.name, "kind": o.kind} for o in self.options]
        params = {
            "sessionId": self.session_id,
            "options": options,
            "toolCall": {"toolCallId": self.tool_call["toolCallId"]},
            "_meta": {RPC_ID: self.rpc_id},
        }
        return {"jsonrpc": "2.0", "id": self.rpc_id, "method": REQUEST_PERMISSION, "params": params}


@dataclass(frozen=True, slots=True)
class UnreadablePermission:
    rpc_id: RpcId
    reason: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A request that an adapter does not serve."""

    rpc_id: RpcId
    method: str


@dataclass(frozen=True, slots=True)
class Answer:
    """To a request of ours. `reason`: why it could not be read; `message` is then an error in its place."""

    rpc_id: int
    message: dict[str, Any]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    reason: str


Heard: TypeAlias = Update | Permission | UnreadablePermission | Unsupported | Answer | Dropped


def read_message(data: bytes) -> Heard:
    """One line, without its line feed."""
    if len(data) > LINE_BYTES_MAX:
        return Dropped(f"{len(data)} bytes; expected at most {LINE_BYTES_MAX}")
    try:
        message = an_object(strict_json(data.decode("utf-8")), "")
        one_of(message.get("jsonrpc"), "jsonrpc", ("2.0",))
        return _read(message)
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except ValueError as error:
        reason = str(error)
    return _unreadable(_addressed(data), reason)


def cancelled(rpc_id: RpcId) -> dict[str, Any]:
    """The answer to a permission request that no card was made of."""
    return {"jsonrpc": "2.0", "id": rpc_id, "result": {"outcome": {"outcome": "cancelled"}}}


def unsupported(request: Unsupported) -> dict[str, Any]:
    error = {"code": UNSUPPORTED, "message": "Unsupported ACP client method", "data": {"method": request.method}}
    return {"jsonrpc": "2.0", "id": request.rpc_id, "error": error}


def _read(message: Mapping[str, Any]) -> Heard:
    """Raises ShapeError."""
    if "method" not in message:
        return _answer(message)
    method = a_string(message["method"], "method")
    if "id" in message:
        rpc_id = _rpc_id(message["id"])
        return _permission(rpc_id, message) if method == REQUEST_PERMISSION else Unsupported(rpc_id, method)
    if method != UPDATE:
        return Dropped(f"unknown notification {told(method)}")
    params = an_object(message.get("params"), "params")
    update = an_object(params.get("update"), "params.update")
    kind = a_string(update.get("sessionUpdate"), "params.update.sessionUpdate")
    return Update(a_string(params.get("sessionId"), "params.sessionId"), update, kind in UPDATES)


def _permission(rpc_id: RpcId, message: Mapping[str, Any]) -> Permission:
    params = an_object(message.get("params"), "params")
    session_id = a_string(params.get("sessionId"), "params.sessionId")
    options = []
    for i, given in enumerate(an_array(params.get("options"), "params.options", 0, OPTIONS_MAX)):
        path = f"params.options[{i}]"
        option = an_object(given, path)
        option_id, name = (a_string(option.get(member), inside(path, member)) for member in ("optionId", "name"))
        options.append(Option(option_id, name, one_of(option.get("kind"), f"{path}.kind", KINDS)))
    tool_call = an_object(params.get("toolCall"), "params.toolCall")
    a_string(tool_call.get("toolCallId"), "params.toolCall.toolCallId")
    return Permission(rpc_id, session_id, tuple(options), tool_call)


def _answer(message: Mapping[str, Any]) -> Answer:
    """Ours are numbers from 0. In Python `true` and `1.0` are that number too; in JSON they are not."""
    rpc_id = message.get("id")
    if type(rpc_id) is not int:
        raise ShapeError("id", f"{told(rpc_id)} is the id of no request of ours")
    if ("result" in message) == ("error" in message):
        raise ShapeError("", "an answer has either a result or an error")
    if "error" in message:
        error = an_object(message["error"], "error")
        an_integer(error.get("code"), "error.code", -ID_MAX, ID_MAX)
        a_string(error.get("message"), "error.message")
    return Answer(rpc_id, dict(message))


def _rpc_id(value: Any) -> RpcId:
    """Of a request of the agent: what can be sent back as it came. 0 is an id, and `"0"` is another one."""
    if type(value) is int and abs(value) < ID_MAX:
        return value
    if isinstance(value, str) and len(value) <= ID_CHARS_MAX and sendable(value) == value:
        return value
    raise ShapeError("id", f"{told(value)}; expected an integer below 2^53 or a text of at most {ID_CHARS_MAX}")


def _addressed(data: bytes) -> Mapping[str, Any]:
    """What a line that is refused still says of whom it is for: `id`, `method`, `result` and `error` of its object,
    where each stands there once."""
    try:
        # Pairs, not mappings: only so a repeated name is seen.
        pairs = json.loads(data.decode("utf-8", "replace"), object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(pairs, tuple):
        return {}
    names = [name for name, _ in pairs]
    if names.count("id") > 1 or names.count("method") > 1:
        return {}
    return dict(pairs)


def _unreadable(message: Mapping[str, Any], reason: str) -> Heard:
    method, id_ = message.get("method"), message.get("id")
    try:
        if isinstance(method, str):
            rpc_id = _rpc_id(id_)
            permission = method == REQUEST_PERMISSION
            return UnreadablePermission(rpc_id, reason) if permission else Unsupported(rpc_id, method)
    except ShapeError:
        return Dropped(reason)
    if type(id_) is not int or "method" in message:
        return Dropped(reason)
    error = {"code": UNREADABLE, "message": reason}
    return Answer(id_, {"jsonrpc": "2.0", "id": id_, "error": error}, reason)
