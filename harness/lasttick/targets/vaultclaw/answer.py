"""What came back from a tool of the vault MCP server, checked for the shape that every answer must have (VC-02)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

CATEGORIES = ("auth", "approval", "validation", "policy", "secrets", "plans", "network", "internal")
ERROR_MEMBERS = {"code", "category", "message", "retryable", "vault_code", "details"}
META_MEMBERS = {"request_id": str, "vault_http_status": int, "vault_code": str}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """One answer of a tool. `envelope` is its structured content; `result` the JSON-RPC result around it."""

    result: dict[str, Any]

    @property
    def envelope(self) -> dict[str, Any]:
        return dict(self.result["structuredContent"])

    @property
    def ok(self) -> bool:
        return bool(self.envelope["ok"])

    @property
    def data(self) -> Any:
        """What the tool gave. Raises AssertionError when it failed."""
        assert self.ok, f"expected data, got {self.error}"
        return self.envelope["data"]

    @property
    def error(self) -> dict[str, Any]:
        """The error. Raises AssertionError when there is none."""
        error = self.envelope["error"]
        assert error is not None, f"expected a failure, got data {str(self.envelope['data'])[:300]}"
        return dict(error)

    @property
    def code(self) -> str:
        """The MCP code; "" when all is well."""
        return "" if self.ok else str(self.error["code"])

    @property
    def category(self) -> str:
        return str(self.error["category"])

    @property
    def details(self) -> dict[str, Any]:
        return dict(self.error["details"])

    @property
    def meta(self) -> dict[str, Any]:
        return dict(self.envelope["meta"])

    @property
    def content(self) -> list[dict[str, Any]]:
        return list(self.result["content"])


def tool_answer(answer: dict[str, Any] | None) -> ToolAnswer:
    """A JSON-RPC answer of tools/call. Raises AssertionError for any that no tool may give."""
    assert answer is not None, "a tool call was not answered"
    assert "result" in answer, f"expected the result of a tool, got {answer}"
    result = answer["result"]
    problems = list(wrong_shapes(result))
    assert not problems, f"VC-02: {'; '.join(problems)}: {str(result)[:500]}"
    return ToolAnswer(result)


def wrong_shapes(result: Any) -> list[str]:
    """What is wrong with the result of a tool, if anything (contract vaultclaw 3, 4)."""
    if set(result) != {"structuredContent", "content"}:
        return [f"members are {sorted(result)}, expected structuredContent and content, and never isError"]
    envelope, texts = result["structuredContent"], [item.get("text") for item in result["content"]]
    if set(envelope) != {"ok", "data", "error", "meta"}:
        return [f"members of the envelope are {sorted(envelope)}"]
    wrong = []
    if not 1 <= len(texts) <= 2 or json.loads(texts[0]) != envelope:
        wrong.append("the first text is not the envelope")
    for name, kind in META_MEMBERS.items():
        if not isinstance(envelope["meta"].get(name), kind):
            wrong.append(f"meta.{name} is no {kind.__name__}")
    return wrong + (_wrong_success(envelope) if envelope["ok"] is True else _wrong_failure(envelope))


def _wrong_success(envelope: dict[str, Any]) -> list[str]:
    return [] if envelope["error"] is None else ["ok with an error"]


def _wrong_failure(envelope: dict[str, Any]) -> list[str]:
    error = envelope["error"]
    if envelope["ok"] is not False or envelope["data"] is not None or not isinstance(error, dict):
        return ["neither a success nor a failure"]
    if set(error) != ERROR_MEMBERS:
        return [f"members of the error are {sorted(error)}"]
    wrong = [] if isinstance(error["details"], dict) else ["details is no object"]
    if error["category"] not in CATEGORIES:
        wrong.append(f"category {error['category']!r} is none")
    if envelope["meta"]["vault_code"] != error["vault_code"]:
        wrong.append("meta.vault_code is not the error's")
    return wrong
