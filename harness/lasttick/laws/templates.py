"""What does a binding send, once names are put into it? Texts with `{name}` in them, filled.

    {name}            the value of a name: an input of the verb, an output of an earlier one, a var
    {{ and }}         a brace itself. A `}}` that closes no `{{` stays as it is, so JSON in a text needs no change
    { "a": 1 }        braces around what is no name stay as they are

A text that is only `{name}` becomes the value, with its type. In a longer text a value is written as JSON writes it, a
text as it is, nothing for no value, and 5.0 as 5. What is put in is never read as a template again. Keys stay as they
are.

`{mark}` is a short plain word. `{mark_number}`, an extension of ours, is the same mark as a number, for tools that take
only numbers, such as a coordinate. Source: contract laws, "Templates".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from lasttick.laws.profiles.problems import did_you_mean

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PIECE = re.compile(r"\{\{|\}\}|" + _NAME.pattern)


class UnknownName(LookupError):
    """A template has a name that nothing gives a value to."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        listed = ", ".join(self.known) or "no name at all"
        super().__init__(
            f"{{{name}}} has no value here\n  expected: one of {listed} (docs/check.md, Templates)\n"
            f"  next: {did_you_mean(name, self.known, f'write {{{{{name}}}}} if the braces are meant as such')}"
        )


def fill(value: Any, names: Mapping[str, Any]) -> Any:
    """A copy of nested mappings, lists and texts with every `{name}` filled. Raises UnknownName."""
    if isinstance(value, str):
        only = _only_name(value)
        return _look_up(only, names) if only is not None else _filled(value, names, as_text)
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, names) for item in value]
    return value


def fill_path(text: str, names: Mapping[str, Any]) -> str:
    """`METHOD url`, or only a url, with every value percent-encoded. Raises UnknownName.

    A value that itself is where to go, `/path` or `http://...`, stays as it is when the url begins with its name, as in
    `GET {location}?wait=2`; that goes on with `&` when the value has a query already.
    """
    method, space, url = text.rpartition(" ")
    if (start := _NAME.match(url)) is None:
        return method + space + _filled(url, names, _encoded)
    first = as_text(_look_up(start.group(1), names))
    # `//host/path` would be another host.
    is_place = first.startswith(("http://", "https://")) or (first.startswith("/") and not first.startswith("//"))
    rest = _filled(url[start.end() :], names, _encoded)
    if not is_place:
        return method + space + _encoded(first) + rest
    return method + space + first + ("&" + rest[1:] if rest.startswith("?") and "?" in first else rest)


def names_in(value: Any) -> list[str]:
    """Every name in nested mappings, lists and texts, once each, in the order of their first place."""
    return list(dict.fromkeys(_names(value)))


def as_text(value: Any) -> str:
    """A value inside a longer text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (name for match in _PIECE.finditer(value) if (name := match.group(1)) is not None)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)


def _only_name(text: str) -> str | None:
    match = _PIECE.fullmatch(text)
    return None if match is None else match.group(1)


def _filled(text: str, names: Mapping[str, Any], written: Callable[[Any], str]) -> str:
    if "{" not in text:
        return text
    open_braces = 0

    def one(match: re.Match[str]) -> str:
        nonlocal open_braces
        if match.group(1) is not None:
            return written(_look_up(match.group(1), names))
        if match.group() == "{{":
            open_braces += 1
            return "{"
        if open_braces == 0:
            return "}}"
        open_braces -= 1
        return "}"

    return _PIECE.sub(one, text)


def _look_up(name: str, names: Mapping[str, Any]) -> Any:
    if name not in names:
        raise UnknownName(name, list(names))
    return names[name]


def _encoded(value: Any) -> str:
    text = as_text(value)
    if text in (".", ".."):
        return text.replace(".", "%2E")  # a client would take it for a step in the path
    return quote(text, safe="", errors="replace")
