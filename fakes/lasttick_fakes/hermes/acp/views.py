"""What does a client see of a tool call? Title, kind and content when it begins, and when the next model call begins.

Source: contract hermes, section 4.3, and recorded frames; the form of structured results: read. What is not modelled
is the special view of tools that this fake does not have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lasttick_fakes.hermes.acp import frames
from lasttick_fakes.hermes.acp.frames import Frame

EDITS = ("write_file", "patch")
KINDS: Mapping[str, str] = {
    "read_file": "read",
    "write_file": "edit",
    "patch": "edit",
    "search_files": "search",
    "terminal": "execute",
    "process": "execute",
    "execute_code": "execute",
    "skill_view": "read",
    "skills_list": "read",
    "skill_manage": "edit",
    "delegate_task": "execute",
    "vision_analyze": "read",
}
"""Every other tool is `other`."""
OWN = frozenset({*KINDS, "todo", "memory", "session_search"})
"""The agent's own tools have no `rawInput`, and fail by an error in their result."""
TITLE_CHARS_MAX = 80
_ICONS = {"completed": "✅", "in_progress": "🔄", "pending": "⏳", "cancelled": "✗"}
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def title(name: str, arguments: Mapping[str, Any]) -> str:
    path = arguments.get("path", "?")
    if name == "terminal":
        command = str(arguments.get("command", ""))
        long = len(command) > TITLE_CHARS_MAX
        return f"terminal: {command[: TITLE_CHARS_MAX - 3]}..." if long else f"terminal: {command}"
    if name == "read_file":
        return f"read: {path}"
    if name == "write_file":
        return f"write: {path}"
    if name == "patch":
        return f"patch ({arguments.get('mode', 'replace')}): {path}"
    if name == "todo" and isinstance(items := arguments.get("todos"), list):
        return f"todo ({len(items)} item{'' if len(items) == 1 else 's'})"
    return name


def begun(call_id: str, name: str, arguments: Mapping[str, Any], shown: Frame | None = None) -> Frame:
    """A `tool_call`. `shown`: the diff of an edit that nobody will be asked about."""
    fields: Frame = {"kind": KINDS.get(name, "other"), "locations": _locations(arguments)}
    fields |= {"title": title(name, arguments), "toolCallId": call_id}
    if name != "read_file":
        fields["content"] = [shown or frames.block(_beginning(name, arguments))]
    if name not in OWN:
        fields["rawInput"] = dict(arguments)
    return fields


def ended(call_id: str, name: str, arguments: Mapping[str, Any], result: str) -> Frame:
    """A `tool_call_update`."""
    data = _json(result)
    fields: Frame = {"kind": KINDS.get(name, "other"), "toolCallId": call_id}
    fields["status"] = "failed" if _failed(name, data) else "completed"
    fields["content"] = [frames.block(_outcome(name, arguments, result, data))]
    if data is None:  # the result of a server's tool, in its envelope
        fields["rawOutput"] = result
    return fields


def plan(result: str) -> Frame | None:
    """The `plan` that follows the `todo` tool."""
    data = _json(result)
    if not isinstance(data, Mapping) or not isinstance(data.get("todos"), list):
        return None
    entries = []
    for item in data["todos"]:
        status, content = item["status"], item["content"]
        gone = status == "cancelled"
        entry = {"content": f"[cancelled] {content}" if gone else content, "priority": "medium"}
        entries.append({**entry, "status": "completed" if gone else status})
    return {"entries": entries}


def _locations(arguments: Mapping[str, Any]) -> list[Frame]:
    path, at = arguments.get("path"), arguments.get("offset") or arguments.get("line")
    return [{"path": path, **({"line": at} if at else {})}] if path else []


def _beginning(name: str, arguments: Mapping[str, Any]) -> str:
    path = arguments.get("path")
    if name == "patch":
        mode = arguments.get("mode", "replace")
        return f"Preparing {mode} edit for {path or 'patch input'}. Approval prompt shows the diff."
    if name == "write_file":
        return f"Preparing {f'write to {path}' if path else 'file write'}. Approval prompt shows the diff."
    if name == "terminal":
        return f"$ {arguments.get('command', '')}"
    if name == "todo":
        items = arguments.get("todos")
        if not isinstance(items, list):
            return "Reading todo list"
        items = [item for item in items if isinstance(item, Mapping)]
        lines = [f"- {item.get('status', 'pending')}: {item.get('content', item.get('id', ''))}" for item in items]
        return "\n".join(["Updating todo list", "", *lines])
    return json.dumps(dict(arguments), indent=2, ensure_ascii=False)


def _outcome(name: str, arguments: Mapping[str, Any], result: str, data: Any) -> str:
    if data is None:
        return result
    path = arguments.get("path") or "file"
    if name == "todo":
        return _todo(data)
    if name == "read_file":
        if "content" not in data:
            return f"Read failed: {data.get('error')}"
        return f"Read {path} — {data['total_lines']} total lines\n\n```\n{data['content']}\n```"
    if name in EDITS:
        if data.get("error"):
            return f"{name} failed for {path}: {data['error']}"
        files = ", ".join(f"`{file}`" for file in data.get("files_modified", []))
        return f"✅ {name} completed for `{path}`" + (f"\nFiles: {files}" if files else "")
    return _structured(name, data)


def _todo(data: Mapping[str, Any]) -> str:
    if not isinstance(data.get("todos"), list):
        return _structured("todo", data)
    lines = [f"- {_ICONS.get(item['status'], '•')} {item['content']}" for item in data["todos"]]
    summary = data["summary"]
    progress = f"{summary['completed']} completed, {summary['in_progress']} in progress, {summary['pending']} pending"
    progress += f", {summary['cancelled']} cancelled" if summary["cancelled"] else ""
    return "\n".join(["**Todo list**", "", *lines, "", f"**Progress:** {progress}"])


def _structured(name: str, data: Mapping[str, Any]) -> str:
    """Members that hold something, a line each; what is nested is JSON here (the real form is longer)."""
    if data.get("success") is False or data.get("error"):
        return f"{name} failed: {data.get('error', 'unknown error')}"
    lines = []
    for key, value in data.items():
        if value not in _EMPTY:
            shown = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
            lines.append(f"- **{key}:** {shown}")
    return "\n".join([f"{name} result", *lines])


def _failed(name: str, data: Any) -> bool:
    """Of the tools of servers an error counts only in what it says: their calls are always `completed`."""
    if not isinstance(data, Mapping):
        return False
    if data.get("success") is False or data.get("exit_code") not in (None, 0):
        return True
    return name in OWN and bool(data.get("error")) and not data.get("content")


def _json(result: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(result)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, Mapping) else None
