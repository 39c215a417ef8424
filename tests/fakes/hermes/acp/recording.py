"""How is a recording of the real agent compared with a run of the fake? What may differ is masked, here only.

Free are: session ids and `tc-` ids (their order of appearance is not), times, the estimate `usage_update.used`, the
folder's name, and the place of three updates among the others: `session_info_update`, and the two that follow the
opening of a session. Their number, order and content are compared.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[3] / "fixtures/hermes"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TOOL_CALL = re.compile(r"tc-[0-9a-f]{12}")
_MODEL_CALL = re.compile(r"call_\d+_\d+")


@dataclass(frozen=True)
class Line:
    t_s: float
    ours: bool
    """Sent by the client."""
    frame: dict[str, Any]


def recordings() -> list[str]:
    """`version/name` of each."""
    return [
        f"{file.parent.name}/{file.stem}" for file in sorted(FIXTURES.glob("*/acp_*.jsonl")) if "__" not in file.stem
    ]


def read(name: str) -> list[Line]:
    lines = [json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()]
    return [Line(one["t"], one["dir"] == "client->agent", one["frame"]) for one in lines if one["frame"] is not None]


def model_side(name: str) -> list[dict[str, Any]]:
    """The requests to the model, but for those on the side."""
    lines = [json.loads(line) for line in (FIXTURES / f"{name}__llm_side.jsonl").read_text().splitlines()]
    return [one for one in lines if one.get("method") == "POST" and one["scenario"] != "<aux>"]


def masked(frames: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    text = json.dumps(frames).replace(folder, "/WORK")
    for pattern, name in ((_UUID, "session"), (_TOOL_CALL, "tc"), (_MODEL_CALL, "call")):
        text = _numbered(pattern, name, text)
    return [_without_times(frame) for frame in json.loads(text)]


def session_ids(frames: list[dict[str, Any]]) -> list[str]:
    """In order of appearance."""
    return list(dict.fromkeys(_UUID.findall(json.dumps(frames))))


def parted(frames: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Frames whose place is compared; and the free ones by kind."""
    firm: list[dict[str, Any]] = []
    free: dict[str, list[dict[str, Any]]] = {"opening": [], "title": []}
    opened = False
    for frame in frames:
        kind = frame.get("params", {}).get("update", {}).get("sessionUpdate")
        if kind == "available_commands_update" or (kind == "usage_update" and opened):
            free["opening"].append(frame)
        elif kind == "session_info_update":
            free["title"].append(frame)
        else:
            firm.append(frame)
        opened = kind == "available_commands_update"
    return firm, free


def messages(requests: list[dict[str, Any]], folder: str) -> list[Any]:
    """What the model read, request by request: without system prompts, arguments as objects."""
    told = [[message for message in one["messages"] if message["role"] != "system"] for one in requests]
    text = _numbered(_MODEL_CALL, "call", json.dumps(told).replace(folder, "/WORK"))
    read: list[Any] = json.loads(text)
    for request in read:
        for message in request:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
            if message["role"] == "tool" and message["content"].startswith("{"):
                message["content"] = json.loads(message["content"])
    return read


def _numbered(pattern: re.Pattern[str], name: str, text: str) -> str:
    seen: dict[str, str] = {}
    return pattern.sub(lambda found: seen.setdefault(found[0], f"{name}-{len(seen) + 1}"), text)


def _without_times(frame: dict[str, Any]) -> dict[str, Any]:
    update = frame.get("params", {}).get("update", {})
    if update.get("sessionUpdate") == "usage_update":
        update["used"] = 0
    for place in (update, *frame.get("result", {}).get("sessions", ())):
        if "updatedAt" in place:
            place["updatedAt"] = "then"
    return frame
