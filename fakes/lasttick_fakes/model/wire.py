"""How does an answer of the model look on the wire? Chat completions, whole or as server-sent events.

Source: contract hermes, section 6 (the chunks an agent's client library is content with). Ids are made of the
request's number, so that the same run gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick_fakes.model.script import PIECE_CHARS

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@dataclass(frozen=True, slots=True)
class Message:
    """What the model says: a text, tool calls as (name, arguments in JSON), or both."""

    text: str = ""
    reasoning: str = ""
    calls: Sequence[tuple[str, str]] = ()
    piece_chars: int = PIECE_CHARS
    """Characters of content per chunk."""

    @property
    def finish_reason(self) -> str:
        return "tool_calls" if self.calls else "stop"


def whole(message: Message, number: int, model: str, created: int) -> dict[str, Any]:
    """One `chat.completion`. `created`: Unix seconds."""
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.reasoning:
        said["reasoning_content"] = message.reasoning
    if message.calls:
        said["tool_calls"] = _calls(message, number)
    choice = {"index": 0, "message": said, "finish_reason": message.finish_reason}
    return _frame("chat.completion", number, model, created, [choice], USAGE)


def events(message: Message, number: int, model: str, created: int) -> Iterator[tuple[bytes, bool]]:
    """The same as server-sent events, and whether another piece of the text comes after each."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if message.reasoning:
        deltas.append({"reasoning_content": message.reasoning})
    piece, before = message.piece_chars, len(deltas)
    deltas += [{"content": message.text[at : at + piece]} for at in range(0, len(message.text), piece)]
    goes_on = range(before, len(deltas) - 1)
    for at, call in enumerate(_calls(message, number)):
        deltas.append({"tool_calls": [{"index": at, **call}]})
    frames: list[list[dict[str, Any]]] = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    frames.append([{"index": 0, "delta": {}, "finish_reason": message.finish_reason}])
    for at, choices in enumerate(frames):
        yield _event(_frame("chat.completion.chunk", number, model, created, choices, None)), at in goes_on
    yield _event(_frame("chat.completion.chunk", number, model, created, [], USAGE)), False
    yield b"data: [DONE]\n\n", False


def _calls(message: Message, number: int) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(message.calls)
    ]


def _frame(kind: str, number: int, model: str, created: int, choices: Any, usage: Any) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number}",
        "object": kind,
        "created": created,
        "model": model,
        "choices": choices,
        "usage": usage,
    }


def _event(frame: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(frame).encode() + b"\n\n"
