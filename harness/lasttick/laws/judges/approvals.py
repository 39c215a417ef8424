"""What does an entry show of what will run, and did that run? Pure. Source: contract laws, catalogue, approval/*."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lasttick.laws.said import Mark


def shows(mark: Mark, value: Any) -> bool:
    """Whether the mark stands anywhere in a value of whatever shape."""
    if isinstance(value, Mapping):
        return any(shows(mark, part) for part in value.values())
    if isinstance(value, list | tuple):
        return any(shows(mark, part) for part in value)
    return mark.is_in(value)


def changed(shown: Any, ran: Any) -> dict[str, tuple[Any, Any]] | None:
    """The arguments, by name, that ran otherwise than they were shown; None where the two cannot be compared.

    `shown`: what a person saw, a table or a text that is one in JSON. What only one of them has says nothing.
    """
    seen, args = _table(shown), _table(ran)
    if seen is None or args is None or not (common := [name for name in seen if name in args]):
        return None
    return {name: (seen[name], args[name]) for name in common if seen[name] != args[name]}


def _table(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None
