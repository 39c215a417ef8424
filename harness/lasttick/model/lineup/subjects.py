"""What exactly is a person asked to approve?

A file name or a command is a stranger's text. A character that moves, hides or breaks the text around it would let it
look like another one, so each such character is shown as its escape, and what the agent will run is shown as JSON: on
one line, where no value can pass for the name of the next. Source: contract lineup C-2 (`data.subject`).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

SUBJECT_CHARS_MAX = 4_000
KIND_CHARS_MAX = 64
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control, format (all bidi marks are in it), half of a pair, line and paragraph separators."""


def subject(tool_call: Mapping[str, Any]) -> dict[str, Any]:
    """`{kind, text, truncated}` of the agent's `toolCall`: its raw input, else its content, else its title."""
    kind = tool_call.get("kind")
    what = next((tool_call[name] for name in ("rawInput", "content", "title") if tool_call.get(name)), "")
    text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False, default=repr)
    shown, truncated = cut(visible(text), SUBJECT_CHARS_MAX)
    named = cut(visible(kind), KIND_CHARS_MAX)[0] if isinstance(kind, str) and kind else "other"
    return {"kind": named, "text": shown, "truncated": truncated}


def visible(text: str) -> str:
    """The text with an escape for each character that a person would not see as one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if unicodedata.category(c) in _UNSEEN else c for c in text)


def cut(text: str, chars_max: int) -> tuple[str, bool]:
    """The beginning of it, and whether something was left away. The sign for that counts as a character."""
    return (text, False) if len(text) <= chars_max else (text[: chars_max - 1] + "\N{HORIZONTAL ELLIPSIS}", True)


def _escape(c: str) -> str:
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
