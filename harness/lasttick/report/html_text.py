"""How does any text become part of a page? Escaped, with nothing in it that a page can not hold or that misleads.

Markup is built from `Html` only; a plain text that is put into it is escaped on the way, so no caller can forget it.
The result is well-formed XML too: a test parses every page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TypeAlias

# What XML 1.0 can not hold, and the marks that make text run the other way and so show what is not there.
UNSHOWABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]")
EMPTY = frozenset({"meta", "rect", "line", "path", "br"})


class Html(str):
    """Markup that is already safe."""

    __slots__ = ()


Child: TypeAlias = "Html | str | int | None"


def text(value: object) -> Html:
    return Html(html.escape(UNSHOWABLE.sub("\ufffd", str(value)), quote=True))


def short(value: object, chars_max: int) -> str:
    """One line of at most `chars_max` characters."""
    line = " ".join(str(value).split())
    return line if len(line) <= chars_max else line[: chars_max - 1] + "\u2026"


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """One element. `class_` is `class`, other underscores are hyphens; attributes that are None are left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in EMPTY:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Sequence[Child]) -> Html:
    parts = [child if isinstance(child, Html) else text(child) for child in children if child is not None]
    return Html("".join(parts))
