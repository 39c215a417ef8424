"""How is one action of one tool called, on every side of the gateway?

Inside the platform and in every list it is `slug:action` (ruling 4). That is no portable MCP tool name, and the agent
folds every character outside `[A-Za-z0-9_]` to `_`, so `a-b:c` and `a_b:c` would meet the model as one tool. On the MCP
wire a pair is therefore written in an injective code of those characters alone, which no folding changes (ruling 8):

- slug and action are joined by `__`: `order_lookup:lookup` is `order_lookup__lookup`;
- letters other than `Z`, digits and a `_` between two others stand for themselves;
- everything else is its code point in hex between two `Z`: `a-b:c` is `aZ2dZb__c`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TypeGuard

from lasttick.model.errors import shown

SEPARATOR = ":"
LIST_SEPARATOR = ","
"""Between the pairs of `HUMANWORK_MCP_TOOLS`."""

_JOIN = "__"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY0123456789")
_TOKEN = re.compile(r"Z([0-9a-f]{1,6})Z|([A-Ya-z0-9_])")
_SHAPE = "a slug and an action joined by `:`, neither empty nor with `:`, `,`, a blank or a control character"
_WHERE = "(contract gateway, ruling 4 and tool registry)"


class ToolNameError(ValueError):
    """A text that names no tool action, or two that the agent could not tell apart."""


def joined(slug: str, action: str) -> str:
    """The one name of an action in manifests, lists, policies and ledgers (ruling 4)."""
    return f"{slug}{SEPARATOR}{action}"


def well_formed(part: object) -> TypeGuard[str]:
    """May this be a slug or an action? Then no separator, blank, control character or lone surrogate is in it."""
    if not isinstance(part, str) or not part:
        return False
    return not any(c in (SEPARATOR, LIST_SEPARATOR) or c.isspace() or _invisible(c) for c in part)


def parted(name_action: str) -> tuple[str, str]:
    """Slug and action of a pair. Raises ToolNameError."""
    slug, separator, action = name_action.partition(SEPARATOR)
    if not separator or not well_formed(slug) or not well_formed(action):
        raise ToolNameError(
            f"{shown(name_action)!r} names no tool action; expected {_SHAPE} {_WHERE}; "
            "correct the registry or the list it comes from"
        )
    return slug, action


def encode(name_action: str) -> str:
    """The MCP tool name of a pair, of `[A-Za-z0-9_]` only. Never shortened: two names cut alike would be one tool.

    Raises ToolNameError for a text that is no pair.
    """
    slug, action = parted(name_action)
    return f"{_encoded(slug)}{_JOIN}{_encoded(action)}"


def decode(tool_name: str) -> str:
    """The pair behind an MCP tool name. Raises ToolNameError for every text that `encode` does not give."""
    slug, join, action = tool_name.partition(_JOIN)
    pair = joined(_decoded(slug), _decoded(action)) if join else ""
    try:
        again = encode(pair)
    except ToolNameError:
        again = ""
    if not tool_name or again != tool_name:
        raise ToolNameError(
            f"{shown(tool_name)!r} is no tool name of the gateway; expected one of tools/list, in the code of ruling 8 "
            "(contract gateway); list the tools and call one of them"
        )
    return pair


def folded(name: str) -> str:
    """A name as the agent gives it to the model: each character outside `[A-Za-z0-9_]` becomes `_` (hermes.md 3.3)."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def refuse_collisions(name_actions: Iterable[str]) -> None:
    """Raises ToolNameError, naming both, when two different pairs would fold to one name (ruling 8).

    The code above keeps even these apart on the wire; but whoever reads or repeats a folded name could not, and a
    request meant for the one tool must never reach the other. The same pair twice is no collision.
    """
    first: dict[str, str] = {}
    for pair in name_actions:
        other = first.setdefault(folded(pair), pair)
        if other != pair:
            raise ToolNameError(
                f"tools {shown(other)!r} and {shown(pair)!r} are both {shown(folded(pair))!r} to the agent, which "
                "writes `_` for every character outside A-Z, a-z, 0-9 and _; expected names it can tell apart "
                "(contract gateway, ruling 8); rename one of them in the tool registry"
            )


def _encoded(part: str) -> str:
    out: list[str] = []
    for at, c in enumerate(part):
        lone = c == "_" and 0 < at < len(part) - 1 and part[at - 1] != "_"
        out.append(c if c in _PLAIN or lone else f"Z{ord(c):x}Z")
    return "".join(out)


def _decoded(part: str) -> str:
    """Text behind a well-coded part; "" for any other, which is no part."""
    out: list[str] = []
    at = 0
    while at < len(part):
        token = _TOKEN.match(part, at)
        if token is None:
            return ""
        code = int(token[1], 16) if token[1] else ord(token[2])
        if code > 0x10FFFF:
            return ""
        out.append(chr(code))
        at = token.end()
    return "".join(out)


def _invisible(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cs")
