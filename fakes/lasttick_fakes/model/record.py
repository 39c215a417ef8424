"""What was the model asked? Every request as it came: the tool list in it is what GW-11, GW-12 and GW-19 look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One chat request. `seq` counts from 1; `body` is the decoded JSON, `raw` the bytes it was decoded from."""

    seq: int
    t_ns: int
    authorization: str | None
    body: Mapping[str, Any]
    raw: bytes

    @property
    def tools(self) -> tuple[str, ...] | None:
        """The names of the offered tools, in order; None when the request has no tool list at all."""
        if "tools" not in self.body:
            return None
        listed = self.body["tools"] if isinstance(self.body["tools"], list) else []
        functions = [tool.get("function") for tool in listed if isinstance(tool, Mapping)]
        return tuple(str(function.get("name")) for function in functions if isinstance(function, Mapping))

    @property
    def messages(self) -> list[Any]:
        messages = self.body.get("messages")
        return messages if isinstance(messages, list) else []

    @property
    def helper(self) -> bool:
        """A request on the side, as for a title: it has no tools and does not stream. It uses up no step."""
        return "tools" not in self.body and not self.body.get("stream")

    def as_json(self) -> dict[str, Any]:
        tools = None if self.tools is None else list(self.tools)
        return {
            "seq": self.seq,
            "t_ns": self.t_ns,
            "authorization": self.authorization,
            "tools": tools,
            "helper": self.helper,
            "body": dict(self.body),
        }
