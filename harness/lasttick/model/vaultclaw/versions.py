"""Which version is the highest, and may an id or a version be the name of a file?

Source: contract vaultclaw 15, "Versions" and the end of "Validation".
"""

from __future__ import annotations

import re

NAME_BYTES_MAX = 250
"""A file system's limit of 255, less the ending `.json`."""
_CUT = re.compile(r"[.\-_+]")

Key = tuple[tuple[tuple[int, int, str], ...], str]


def version_key(version: str) -> Key:
    """Sorts versions ascending: 1.9.0 < 1.10.a < 1.10.0 < 1.10.0-rc.1. The text itself decides between 1.0 and 1.00."""
    return tuple(_token(token) for token in _CUT.split(version)), version


def highest(versions: list[str]) -> str | None:
    return max(versions, key=version_key, default=None)


def unsafe_name(name: str) -> bool:
    """Could it lead out of its folder, or can no file have it?"""
    size = len(name.encode("utf-8", "surrogatepass"))
    return ".." in name or name == "." or any(c in name for c in "/\\\0") or size > NAME_BYTES_MAX or _lone(name)


def _token(token: str) -> tuple[int, int, str]:
    """An integer is above a text. Integers are compared by length, then by digits: they may be of any size."""
    if token.isascii() and token.isdigit():
        digits = token.lstrip("0")
        return 1, len(digits), digits
    return 0, 0, token


def _lone(name: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in name)
