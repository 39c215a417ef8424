"""How do the agent's frames look? JSON-RPC 2.0 objects, one per line, as recorded of the real program.

Source: contract hermes, sections 4.1 to 4.4. All are plain JSON values; nothing here knows a connection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Frame: TypeAlias = dict[str, Any]

LINE_BYTES_MAX = 1 << 26
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
_ERRORS_PAGE = "https://errors.pydantic.dev/2.13/v/"


def line(frame: Mapping[str, Any]) -> bytes:
    return json.dumps(frame, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def response(rpc_id: Any, result: Mapping[str, Any]) -> Frame:
    return {"jsonrpc": "2.0", "id": rpc_id, "result": dict(result)}


def error(rpc_id: Any, code: int, message: str, data: Any) -> Frame:
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": message, "data": data}}


def request(rpc_id: int, method: str, params: Mapping[str, Any]) -> Frame:
    return {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": dict(params)}


def update(session_id: str, kind: str, fields: Mapping[str, Any]) -> Frame:
    params = {"sessionId": session_id, "update": {**fields, "sessionUpdate": kind}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def text(said: str) -> Frame:
    """The content of a message chunk."""
    return {"text": said, "type": "text"}


def block(said: str) -> Frame:
    """A text among the content of a tool call."""
    return {"content": text(said), "type": "content"}


def diff(path: str, old: str | None, new: str) -> Frame:
    """`old` None: there was no file."""
    return {"newText": new, **({} if old is None else {"oldText": old}), "path": path, "type": "diff"}


def option(option_id: str, kind: str, name: str) -> Frame:
    return {"kind": kind, "name": name, "optionId": option_id}


REQUIRED: Mapping[str, Mapping[str, type]] = {
    "initialize": {"protocolVersion": int},
    "authenticate": {"methodId": str},
    "session/new": {"cwd": str, "mcpServers": list},
    "session/load": {"cwd": str, "mcpServers": list, "sessionId": str},
    "session/resume": {"cwd": str, "sessionId": str},
    "session/fork": {"cwd": str, "sessionId": str},
    "session/list": {},
    "session/close": {"sessionId": str},
    "session/prompt": {"prompt": list, "sessionId": str},
    "session/cancel": {"sessionId": str},
    "session/set_mode": {"modeId": str, "sessionId": str},
    "session/set_model": {"modelId": str, "sessionId": str},
    "session/set_config_option": {"configId": str, "sessionId": str, "value": str},
}
"""Every method, with what its params must have."""

_WRONG = {
    str: ("string_type", "Input should be a valid string"),
    int: ("int_type", "Input should be a valid integer"),
    list: ("list_type", "Input should be a valid list"),
}


def problems(method: str, params: Any) -> list[Frame]:
    """What is wrong with the params of a known method, as the `data.errors` of -32602. Empty when nothing is."""
    given = params if isinstance(params, Mapping) else {}
    found: list[Frame] = []
    for name, kind in REQUIRED[method].items():
        if name not in given:
            found.append(_problem("missing", name, "Field required", dict(given)))
        elif not isinstance(given[name], kind) or isinstance(given[name], bool):
            found.append(_problem(_WRONG[kind][0], name, _WRONG[kind][1], given[name]))
    return found


def _problem(kind: str, name: str, message: str, given: Any) -> Frame:
    return {"type": kind, "loc": [name], "msg": message, "input": given, "url": f"{_ERRORS_PAGE}{kind}"}


def prompt_text(blocks: Sequence[Any]) -> str:
    """The text blocks of a prompt, one per line: what the model gets as the user's message."""
    texts = [one.get("text") for one in blocks if isinstance(one, Mapping) and one.get("type") == "text"]
    return "\n".join(said for said in texts if isinstance(said, str))
