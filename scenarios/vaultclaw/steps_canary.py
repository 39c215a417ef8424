"""Steps of the token stories: canaries, every disguise in which one could come out, and the search for them."""

from __future__ import annotations

import base64
import functools
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

PIECE = 8


def canary(chance: random.Random, name: str) -> str:
    """A token whose percent-encoded form differs from it, and of which no eight characters could be a word."""
    body = "".join(chance.choice("QXZ7") + chance.choice("bcdfgkmpvw") + chance.choice("0123456789") for _ in range(14))
    return f"{name[:1].upper()}7/{body}+9="


@functools.cache
def disguises(token: str) -> dict[str, str]:
    """What to look for, and what it is: a whole token in each writing, then pieces of eight characters of each."""
    data = token.encode()
    whole = {
        "raw": token,
        "URL-encoded": quote(token, safe=""),
        "URL-encoded in small letters": quote(token, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
        "JSON": json.dumps(token)[1:-1],
    }
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        own = text[(shift * 8 + 5) // 6 : (shift + len(data)) * 8 // 6]
        whole[f"base64 at {shift}"] = own
        whole[f"base64url at {shift}"] = own.replace("+", "-").replace("/", "_")
    known: dict[str, str] = {}
    for name, text in whole.items():
        known.setdefault(text, name)
    for name, text in whole.items():
        for at in range(len(text) - PIECE + 1):
            known.setdefault(text[at : at + PIECE], f"a piece of it {name}")
    return known


def found(token: str, text: str) -> str:
    """In which disguise `token` stands in `text`; "" in none."""
    known = disguises(token)
    return next((name for piece, name in known.items() if piece in text), "")


def files_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file below, as text, and under its name."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_text(errors="replace")


def check(tokens: Iterable[str], places: Iterable[tuple[str, str]]) -> None:
    """No canary is anywhere. Raises AssertionError with the place and the disguise, and without the token."""
    listed = list(places)
    for number, token in enumerate(tokens):
        for place, text in listed:
            what = found(token, text)
            assert not what, f"canary {number} is in {place}, {what}"
