"""What a tool call gave: a result or a JSON-RPC error, as the client saw it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AnswerError:
    """A JSON-RPC error. `data` is an empty dict when the server sent none."""

    code: int
    message: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """`ok`: a result came that is no error. `result` is the MCP result object; `error` the JSON-RPC error, if any."""

    ok: bool
    result: dict[str, Any] | None
    error: AnswerError | None
    http_status: int

    @property
    def reason(self) -> str | None:
        """`error.data.reason`, which says why (ruling HA-9)."""
        return None if self.error is None else self.error.data.get("reason")

    @property
    def value(self) -> dict[str, Any]:
        """The structured content of a successful call. Raises AssertionError when the call did not succeed."""
        assert self.ok, f"expected a result, got {self.error} (HTTP {self.http_status})"
        assert self.result is not None
        if "structuredContent" in self.result:
            return dict(self.result["structuredContent"])
        return dict(json.loads(self.result["content"][0]["text"]))

    @property
    def image_base64(self) -> str:
        """The data of the first image of a successful call."""
        assert self.ok, f"expected an image, got {self.error} (HTTP {self.http_status})"
        assert self.result is not None
        return str(next(part["data"] for part in self.result["content"] if part["type"] == "image"))
