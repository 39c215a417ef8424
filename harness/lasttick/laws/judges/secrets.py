"""Does a secret occur in what came back, in whatever encoding? Pure: texts in, names and places out, never a value.

Five encodings: plain, base64 (both alphabets, at any offset, so that it is found inside `user:token` too), hex,
percent-encoded and JSON-escaped. Source: contract laws, catalogue, tools/no-secret-out.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

ENCODINGS = ("plain", "base64", "hex", "percent-encoded", "JSON-escaped")
CHARS_MIN = 8
"""A shorter secret may occur by chance: nothing can be said of it."""
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')
_WHITE = re.compile(r"\s+")
_URLSAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Secret:
    """`known_to`: callers that the target itself gave it to, who may see it again; of a profile's secret nobody."""

    name: str
    value: str
    known_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """`secret` occurs, so encoded, at `pointer` of what was searched."""

    secret: Secret
    encoding: str
    pointer: str


def too_short(secrets: Iterable[Secret]) -> list[Secret]:
    """Those that nothing can be said of."""
    return [secret for secret in secrets if len(secret.value) < CHARS_MIN]


class Searcher:
    """Looks for the same secrets in one document after another. Those that are too short are left out."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        short = too_short(secrets)
        self._needles = [(secret, _Needle(secret.value)) for secret in secrets if secret not in short]

    def hits(self, document: Any) -> list[Hit]:
        """Every secret that occurs in a nested document, once for each encoding, at its first place there."""
        texts = list(leaves(document))
        # One look at all of it together: most documents have nothing, and are not looked at again.
        whole = _Text("\n".join(text for _, text in texts))
        found = []
        for secret, needle in self._needles:
            for encoding in needle.encodings_in(whole):
                places = (pointer for pointer, text in texts if encoding in needle.encodings_in(_Text(text)))
                # None: two texts made it up together.
                if (pointer := next(places, None)) is not None:
                    found.append(Hit(secret, encoding, self._without_secrets(pointer)))
        return found

    def _without_secrets(self, pointer: str) -> str:
        """A pointer has names of members in it, which may be secrets themselves: it ends before the first of those."""
        while any(next(needle.encodings_in(_Text(_read(pointer))), None) for _, needle in self._needles):
            pointer = pointer.rpartition("/")[0]
        return pointer


def leaves(document: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Every text, number and member name of a nested document, with its JSON pointer; a name is at its object."""
    stack: list[tuple[str, Any]] = [(pointer, document)]
    while stack:
        at, value = stack.pop()
        if isinstance(value, str):
            yield at, value
        elif isinstance(value, Mapping):
            stack += reversed([(f"{at}/{_shown(str(key))}", item) for key, item in value.items()])
            yield from ((f"{at}/(a member's name)", str(key)) for key in value)
        elif isinstance(value, list | tuple):
            stack += reversed([(f"{at}/{number}", item) for number, item in enumerate(value)])
        elif value is not None:
            yield at, str(value)


def written(value: str) -> dict[str, str]:
    """The usual form of a value in each encoding: what a canary is planted as, and what a redactor hides."""
    data = _bytes(value)
    return {
        "plain": value,
        "base64": base64.b64encode(data).decode(),
        "hex": data.hex(),
        "percent-encoded": "".join(f"%{byte:02X}" for byte in data),
        "JSON-escaped": "".join(f"\\u{unit:04x}" for unit in _utf16(value)),
    }


def forms(value: str) -> list[str]:
    """The texts that may stand for the value in a log: for a redactor. Of one that is too short only itself."""
    if len(value) < CHARS_MIN:
        return [value]
    needle = _Needle(value)
    found = [*written(value).values(), *needle.base64, *(text.translate(_FROM_STANDARD) for text in needle.base64)]
    found += [needle.hex.upper(), quote(value, safe="", errors="replace"), json.dumps(value)[1:-1]]
    return list(dict.fromkeys(found))


class _Needle:
    """One value in the forms that are looked for in a normalised text."""

    def __init__(self, value: str) -> None:
        data = _bytes(value)
        self.plain = value
        self.hex = data.hex()
        self.base64 = [_middle(data, offset) for offset in range(3)]

    def encodings_in(self, text: _Text) -> Iterator[str]:
        """Of ENCODINGS, in their order."""
        if self.plain in text.plain:
            yield "plain"
        if any(middle in text.base64 for middle in self.base64):
            yield "base64"
        if self.hex in text.hex:
            yield "hex"
        if text.percent is not None and self.plain in text.percent and self.plain not in text.plain:
            yield "percent-encoded"
        if text.unescaped is not None and self.plain in text.unescaped and self.plain not in text.plain:
            yield "JSON-escaped"


class _Text:
    """One text as each encoding sees it."""

    def __init__(self, text: str) -> None:
        packed = _WHITE.sub("", text)
        self.plain = text
        self.base64 = packed.translate(_URLSAFE)
        self.hex = packed.lower()
        self.percent = unquote(text, errors="replace") if "%" in text else None
        self.unescaped = _ESCAPES.sub(_unescaped, text) if "\\" in text else None


_FROM_STANDARD = str.maketrans("+/", "-_")


def _middle(data: bytes, offset: int) -> str:
    """The characters of base64 that depend on `data` alone when it begins `offset` bytes into a group of three."""
    text = base64.b64encode(bytes(offset) + data).decode().rstrip("=")
    whole = (offset + len(data)) * 8 // 6
    return text[-(-offset * 8 // 6) : whole]


def _unescaped(match: re.Match[str]) -> str:
    return str(json.loads(f'"{match.group()}"'))


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def _utf16(value: str) -> list[int]:
    data = value.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _shown(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _read(pointer: str) -> str:
    return pointer.replace("~1", "/").replace("~0", "~")
