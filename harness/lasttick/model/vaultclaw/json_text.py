"""How is JSON read and written here? Numbers as 64-bit floats, two strict text forms for hashes and files.

`parse` gives plain Python values in which a number is an int when it is integral and below 1e21, else a float, so that
`1.0` is written as `1` and every encoder writes what the contract asks for. `canonical` is the text that is hashed.
Source: contract vaultclaw 1.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NoReturn

DEPTH_MAX = 200
"""Deeper nesting is read as no JSON at all: every walk over a value may then be recursive."""
PLAIN_BELOW = 1e21
"""From here on a number is written with an exponent."""
_LONE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_ESCAPED = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def trim(text: str) -> str:
    """Without the Unicode white space around it. U+001C to U+001F are none, which `str.strip` would take away."""
    return text.strip(_SPACE)


def parse(data: bytes | str) -> Any:
    """The value of a JSON text. Bytes that are no UTF-8 and lone surrogates become U+FFFD.

    Raises ValueError: no JSON, a number that no 64-bit float holds, or nested deeper than `DEPTH_MAX`.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if _depth(text) > DEPTH_MAX:
        raise ValueError(f"nested deeper than {DEPTH_MAX}")
    return _sound(value) if _ESCAPED_SURROGATE.search(text) else value


def canonical(value: Any) -> str:
    """The text that is hashed: no spaces; keys in the order of the dict (see `sorted_keys` for free-form objects)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float):
        return _digits(float(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{canonical(item)}" for key, item in value.items()) + "}"
    return "[" + ",".join(canonical(item) for item in value) + "]"


def pretty(value: Any, indent: str = "") -> str:
    """The text of a file: as `canonical`, with two-space indentation and no final newline."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = (f"{inner}{_string(key)}: {pretty(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(inner + pretty(item, inner) for item in value) + f"\n{indent}]"
    return canonical(value)


def sorted_keys(value: Any) -> Any:
    """A free-form value whose objects list their keys in byte order, at every depth."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in byte_order(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def byte_order(texts: Iterable[str]) -> list[str]:
    """Sorted by their UTF-8 bytes, which is the order of code points."""
    return sorted(texts)


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} does not fit a 64-bit float")
    if value.is_integer() and abs(value) < PLAIN_BELOW:
        return int(Decimal(repr(value)))
    return value


def _digits(value: float) -> str:
    """Shortest decimal form that reads back the same; an exponent below 1e-6 and from 1e21 on."""
    size = abs(value)
    if size and (size < 1e-6 or size >= PLAIN_BELOW):
        mantissa, _, exponent = f"{Decimal(repr(value)).normalize():e}".partition("e")
        return f"{mantissa}e{int(exponent):+d}"
    text = f"{Decimal(repr(value)):f}"
    return text.removesuffix(".0")


def _string(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _depth(text: str) -> int:
    """How deep a JSON text is nested. Without a walk over its value, which costs several times the parsing."""
    brackets = _BRACKET.findall(_QUOTED.sub("", text))
    return max(itertools.accumulate(map(_STEP.__getitem__, brackets)), default=0)


def _sound(value: Any) -> Any:
    """The value without lone surrogates, which no encoder of the wire takes."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value) if _LONE.search(value) else value
    if isinstance(value, list):
        return [_sound(item) for item in value]
    return {_sound(key): _sound(item) for key, item in value.items()} if isinstance(value, dict) else value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
