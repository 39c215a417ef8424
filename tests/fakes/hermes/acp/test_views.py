"""What of a tool call does a client see, where no recording shows it?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick_fakes.hermes.acp import views


def ended(name: str, result: Any, **arguments: Any) -> tuple[str, str]:
    """Status and text of a call's end."""
    shown = views.ended("tc-1", name, arguments, json.dumps(result))
    assert "rawOutput" not in shown, "it is JSON, so it has been shown in another form"
    return shown["status"], shown["content"][0]["content"]["text"]


def test_a_short_result_of_a_server_has_no_envelope_and_is_listed() -> None:
    assert ended("mcp__s__t", {"result": "ok", "n": 0, "none": None, "list": [1]}) == (
        "completed",
        "mcp__s__t result\n- **result:** ok\n- **n:** 0\n- **list:** [1]",
    )
    assert ended("mcp__s__t", {"error": "busy"}) == ("completed", "mcp__s__t failed: busy")
    assert ended("mcp__s__t", {"success": False})[0] == "failed"


def test_own_tools_say_how_they_went() -> None:
    assert ended("write_file", {"files_modified": ["/w/a"]}, path="a") == (
        "completed",
        "✅ write_file completed for `a`\nFiles: `/w/a`",
    )
    assert ended("patch", {"error": "no"}) == ("failed", "patch failed for file: no")
    assert ended("read_file", {"content": "1|x", "total_lines": 1}, path="a") == (
        "completed",
        "Read a — 1 total lines\n\n```\n1|x\n```",
    )
    assert ended("read_file", {"error": "File not found: a"}) == ("failed", "Read failed: File not found: a")
    assert ended("memory", {"error": "not modelled"})[0] == "failed"
    assert ended("terminal", {"output": "", "exit_code": 2, "error": None})[0] == "failed"


def test_a_plan_keeps_what_was_given_up() -> None:
    todos = [{"id": "1", "content": "a", "status": "cancelled"}, {"id": "2", "content": "b", "status": "completed"}]
    plan = views.plan(json.dumps({"todos": todos}))
    assert plan is not None
    assert [(one["content"], one["status"]) for one in plan["entries"]] == [
        ("[cancelled] a", "completed"),
        ("b", "completed"),
    ]
    assert views.plan("no json") is None
    summary = {"total": 2, "pending": 0, "in_progress": 0, "completed": 1, "cancelled": 1}
    assert ended("todo", {"todos": todos, "summary": summary})[1].endswith("0 pending, 1 cancelled")
    assert ended("todo", {"error": "no"}) == ("failed", "todo failed: no")


@pytest.mark.parametrize(
    ("name", "arguments", "title"),
    [
        ("terminal", {"command": "x" * 81}, f"terminal: {'x' * 77}..."),
        ("terminal", {"command": "x" * 80}, f"terminal: {'x' * 80}"),
        ("read_file", {"path": "a"}, "read: a"),
        ("write_file", {}, "write: ?"),
        ("todo", {"todos": [{}]}, "todo (1 item)"),
        ("todo", {}, "todo"),
        ("memory", {}, "memory"),
    ],
)
def test_titles(name: str, arguments: dict[str, Any], title: str) -> None:
    shown = views.begun("tc-1", name, arguments)
    assert shown["title"] == title
    assert "rawInput" not in shown
    assert ("content" in shown) == (name != "read_file")


def test_where_a_file_is_read_from_is_told() -> None:
    assert views.begun("tc-1", "read_file", {"path": "a", "offset": 7})["locations"] == [{"path": "a", "line": 7}]
    assert views.begun("tc-1", "write_file", {})["content"][0]["content"]["text"].startswith("Preparing file write.")
