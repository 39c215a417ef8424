"""Does a text of a stranger hold one of our secrets? Then nothing of that text is written down (GW-09).

What a model sends to a tool may be anything it has seen, its own process environment included. Found are the secrets
themselves and their usual disguises: base64 in both alphabets and at any offset, hex, percent-encoded, JSON-escaped,
and anything in the shape of a JSON Web Token, which in base64 or hex is known by its beginning.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

REDACTED = "[redacted]"
DISGUISED_MIN = 8
"""Pieces of a shorter secret, in base64 or hex, would be found everywhere by chance."""
_TOKEN = r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"
_TOKEN_STARTS = ("eyJhbGciOi", "eyJ0eXAiOi")
"""`{"alg":` and `{"typ":`."""
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')


class Redactor:
    """Looks for the same secrets in one text after another."""

    def __init__(self, secrets: Iterable[str]) -> None:
        needles = {needle: None for secret in (*secrets, *_TOKEN_STARTS) for needle in disguises(secret)}
        self._pattern = re.compile("|".join([_TOKEN, *(re.escape(needle) for needle in needles)]), re.IGNORECASE)

    def text(self, text: str) -> str:
        """The text, or `[redacted]` in its place."""
        return REDACTED if self._found(text) else text

    def json(self, value: Any) -> str:
        """A JSON value as text, or `[redacted]` in its place."""
        if self._found("\n".join(leaves(value))):
            return REDACTED
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    def _found(self, text: str) -> bool:
        if self._pattern.search(text):
            return True
        if "%" in text and self._pattern.search(unquote(text)):
            return True
        return "\\" in text and self._pattern.search(_ESCAPES.sub(_unescaped, text)) is not None


def disguises(secret: str) -> Iterator[str]:
    """The texts that give the secret away."""
    if not secret:
        return
    yield secret
    yield json.dumps(secret)[1:-1]
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < DISGUISED_MIN:
        return
    yield raw.hex()
    for offset in range(3):
        # The letters at both ends also depend on what stands beside the secret.
        coded = base64.b64encode(b"\x00" * offset + raw).decode("ascii").rstrip("=")
        inner = coded[(0, 2, 3)[offset] : len(coded) if (offset + len(raw)) % 3 == 0 else -1]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))


def spelled_out(secret: str) -> Iterator[str]:
    """The disguises in which every character is escaped, which a `Redactor` undoes by itself."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield "".join(f"%{byte:02X}" for byte in raw)
    units = secret.encode("utf-16-be", "surrogatepass").hex()
    yield "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def leaves(value: Any) -> Iterator[str]:
    """Every text, number and name of a nested JSON value."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield from item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif item is not None:
            yield str(item)


def _unescaped(match: re.Match[str]) -> str:
    return str(json.loads(f'"{match.group()}"'))
