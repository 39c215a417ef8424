"""Which value does a text from a trace stand for? Only literals and dataclasses are made; nothing is evaluated.

A trace may come from elsewhere, so a text is never given to `eval`: a name in it can only be that of a dataclass which
the scenario's module already knows.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

FLOATS = {"inf": math.inf, "nan": math.nan}


class NotReadable(Exception):
    """A text does not tell its value."""


def value_of(text: str, names: Mapping[str, Any]) -> Any:
    """The value whose `repr` is `text`; `names` are those of the scenario's module. Raises NotReadable."""
    try:
        value = _value(ast.parse(text, mode="eval").body, names)
        same = repr(value) == text
    except NotReadable:
        raise
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise NotReadable(f"{text[:80]!r}: {error}") from error
    if not same:
        raise NotReadable(f"{text[:80]!r} is read back as {repr(value)[:80]!r}")
    return value


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    def all_of(items: list[ast.expr]) -> list[Any]:
        return [_value(item, names) for item in items]

    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if node.id in FLOATS:
            return FLOATS[node.id]
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, names)
        case ast.List():
            return all_of(node.elts)
        case ast.Tuple():
            return tuple(all_of(node.elts))
        case ast.Set():
            return set(all_of(node.elts))
        case ast.Dict(keys=keys) if None not in keys:
            return dict(zip(all_of([key for key in keys if key]), all_of(node.values), strict=True))
        case ast.Call(func=ast.Name(id=name)):
            make = _dataclass(name, names)
            return make(*all_of(node.args), **{str(word.arg): _value(word.value, names) for word in node.keywords})
    raise NotReadable(f"{ast.unparse(node)[:80]} is no plain value")


def _dataclass(name: str, names: Mapping[str, Any]) -> type[Any]:
    kind = names.get(name)
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise NotReadable(f"{name} is no dataclass of the scenario's module")
    return kind
