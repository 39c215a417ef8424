"""What does a text from a target hold? Pure functions: odd bytes give text, never an exception.

Source: contract laws, "Binding" (Reply).
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping
from typing import Any

BODY_MAX = 8_000_000
"""Bytes read of one answer."""
RAW_MAX = 2_000
"""Characters of an answer that a person is shown."""
DEPTH_MAX = 100
"""JSON nested deeper is kept as text: whoever walks the document later may recurse."""
_WORD_ENDS = frozenset(" \t\r\n\"'<>{}[](),;&")


class TooLarge(Exception):
    """More than BODY_MAX bytes came."""

    def __init__(self) -> None:
        super().__init__(f"answer over {BODY_MAX // 1_000_000} MB")


def text_of(data: bytes, charset: str | None = None) -> str:
    """The bytes as text; what is not in the charset (UTF-8 unless known otherwise) becomes U+FFFD."""
    if charset is not None:
        try:
            return data.decode(charset, "replace")
        except (LookupError, ValueError):
            pass  # no such charset, or one that is no text encoding
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def value_of(text: str, *, is_json: bool = False) -> Any:
    """The JSON in `text`, else the text itself; None for nothing.

    Unless it is said to be JSON, a lone number or word counts only if it is written as JSON would write it: an id such
    as 1e5 or 007 must not change.
    """
    if not text.strip():
        return None
    try:
        value = json.loads(text)
        if deeper_than(value, text):
            return text
        if is_json or isinstance(value, (dict, list)) or json.dumps(value, ensure_ascii=False) == text.strip():
            return value
    except (ValueError, RecursionError):
        pass
    return text


def deeper_than(value: Any, text: str | bytes, limit: int = DEPTH_MAX) -> bool:
    """Whether `value`, parsed from `text`, nests deeper than `limit`."""
    if isinstance(text, str):
        text = text.encode("utf-8", "replace")
    if text.count(b"{") + text.count(b"[") <= limit:
        return False
    level, depth = [value], 0
    while level:
        depth += 1
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = [item for item in inner if isinstance(item, (dict, list))]
    return depth > limit


def lines_of(text: str) -> tuple[str, ...]:
    """Lines without their ends; an empty one after the last line break is none."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return tuple(lines[:-1] if not lines[-1] else lines)


def shortened(text: str, limit: int = RAW_MAX) -> str:
    """At most `limit` characters, and a note of how many there were.

    The cut goes to the end of a word before it: half a secret would escape whoever redacts it.
    """
    if len(text) <= limit:
        return text
    end = limit
    while end and text[end - 1] not in _WORD_ENDS:
        end -= 1
    return f"{text[:end]}... ({len(text)} characters)"


def http_raw(status: int, headers: Mapping[str, str], text: str) -> str:
    """An HTTP answer as a person is shown it."""
    where = f" (location: {shortened(headers['location'], 200)})" if "location" in headers else ""
    return f"HTTP {status}{where} {shortened(text)}"


def failure_of(error: BaseException) -> str:
    """An exception in one line: its type, and what it says."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {shortened(said, 300)}" if said else type(error).__name__
