"""Lines of an agent that does not keep to the protocol, with the one answer that each must get and what is audited.

Source: contract lineup "Parts" (ACP client), C-9; hermes 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Answer: TypeAlias = Literal["unsupported", "cancelled", "nothing"]
OPTION = {"optionId": "allow_once", "name": "Allow", "kind": "allow_once"}
TOOL_CALL = {"toolCallId": "wild-call", "title": "Wild", "kind": "edit"}
PERMISSION = "session/request_permission"


@dataclass(frozen=True, slots=True)
class Line:
    """`line`: as the fake agent's `write_lines` takes it. `id`: of the request; None: it has none to answer.
    `reason`: begins the audit's."""

    line: Mapping[str, Any]
    answer: Answer
    reason: str
    id: Any = None


def request(method: str, rpc_id: Any, reason: str, params: Any = None) -> Line:
    """A request that no adapter serves."""
    frame = {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params or {"sessionId": "{session}"}}
    return Line({"text": json.dumps(frame)}, "unsupported", reason, rpc_id)


def permission(rpc_id: Any, reason: str, **params: Any) -> Line:
    """A permission request of which no card may come. `params` replace the usual ones; None leaves one out."""
    usual = {"sessionId": "{session}", "options": [OPTION], "toolCall": TOOL_CALL, **params}
    given = {name: value for name, value in usual.items() if value is not None}
    frame = {"jsonrpc": "2.0", "id": rpc_id, "method": PERMISSION, "params": given}
    return Line({"text": json.dumps(frame)}, "cancelled", reason, rpc_id)


def noise(line: str | Mapping[str, Any], reason: str) -> Line:
    """Nothing that could be answered."""
    return Line({"text": line} if isinstance(line, str) else line, "nothing", reason)


UNSUPPORTED = "unsupported request"


def update(**fields: Any) -> str:
    """A `session/update` of this session."""
    params = {"sessionId": "{session}", "update": fields}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})


_TWICE = '{"jsonrpc":"2.0","id":"twice","method":"session/request_permission","params":{},"params":{"options":[]}}'
_NAN = '{"jsonrpc":"2.0","id":"nan","method":"session/request_permission","params":{"options":[NaN]}}'

LINES: Mapping[str, Line] = {
    "a terminal": request("terminal/create", 1000, UNSUPPORTED, {"sessionId": "{session}", "command": "rm"}),
    "its output": request("terminal/output", 1001, UNSUPPORTED),
    "its end": request("terminal/release", 1002, UNSUPPORTED),
    "its kill": request("terminal/kill", 1003, UNSUPPORTED),
    "its wait": request("terminal/wait_for_exit", 1004, UNSUPPORTED),
    "a file": request("fs/read_text_file", "file", UNSUPPORTED, {"sessionId": "{session}", "path": "/etc/passwd"}),
    "a file to write": request("fs/write_text_file", "write", UNSUPPORTED),
    "a method of ours": request("session/prompt", 1005, UNSUPPORTED),
    "a confirmation": request("session/slash_confirm", 1006, UNSUPPORTED),
    "a made-up method": request("", 1007, UNSUPPORTED),
    "no options": permission(2000, "no options", options=[]),
    "options twice": permission(2001, "repeated optionId", options=[OPTION, OPTION]),
    "another session": permission(2002, "unknown session", sessionId="nobody's"),
    "options that are none": permission("texts", "params.options[0]", options=["allow_once"]),
    "an option without id": permission(2003, "params.options[0]", options=[{"name": "Allow", "kind": "allow_once"}]),
    "an unknown kind": permission(2004, "params.options[0].kind", options=[{**OPTION, "kind": "allow_all"}]),
    "no list of options": permission(2005, "params.options", options=None),
    "no tool call": permission(2006, "params.toolCall", toolCall=None),
    "no session": permission(2007, "params.sessionId", sessionId=None),
    "keys twice": Line({"text": _TWICE}, "cancelled", "", "twice"),
    "no number": Line({"text": _NAN}, "cancelled", "", "nan"),
    "an unknown update": noise(update(sessionUpdate="hologram"), "unknown update kind"),
    "an update without a kind": noise(update(sessionUpdate=7), "params.update.sessionUpdate"),
    "an unknown notification": noise('{"jsonrpc":"2.0","method":"session/wave","params":{}}', "unknown notification"),
    "an array": noise('[{"jsonrpc":"2.0","id":1,"method":"terminal/create"}]', ""),
    "a bare string": noise('"allow_once"', ""),
    "half a line": noise('{"jsonrpc":"2.0","id":', ""),
    "no UTF-8": noise({"hex": "7b22ff22"}, "not UTF-8"),
    "an answer with a list id": noise('{"jsonrpc":"2.0","id":[0],"result":{}}', "id"),
    "an answer with a text id": noise('{"jsonrpc":"2.0","id":"0","result":{}}', "id"),
    "an answer to nobody": noise('{"jsonrpc":"2.0","id":99,"result":{}}', "an answer to 99"),
    "no version": noise('{"id":98,"result":{}}', "an answer to 98"),
    "a request without an id that can be": noise('{"jsonrpc":"2.0","id":1.5,"method":"terminal/create"}', "id"),
    "50 MB": noise({"text": "x", "times": 50_000_000}, ""),
    "deep": noise({"text": "[", "times": 1000}, ""),
}


def answered(lineup: Any) -> dict[Any, list[Any]]:
    """By the agent's own log: request id -> the answers to it, as `unsupported METHOD`, `cancelled`, or the frame."""
    found: dict[Any, list[Any]] = {}
    for event in lineup.agent_log("hermes.answered"):
        found.setdefault(event.data["rpc_id"], []).append(_short(event.data["frame"]))
    return found


def expected(line: Line) -> str:
    if line.answer == "cancelled":
        return "cancelled"
    return f"unsupported {json.loads(line.line['text'])['method']}"


def _short(frame: Mapping[str, Any]) -> Any:
    error = frame.get("error", {})
    if "result" not in frame and (error.get("code"), error.get("message")) == (-32601, "Unsupported ACP client method"):
        return f"unsupported {error['data']['method']}"
    return "cancelled" if frame.get("result") == {"outcome": {"outcome": "cancelled"}} else dict(frame)
