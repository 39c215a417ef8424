"""What happened at the resource, from the rows of the `effects` verb: starts and ends of one call are one effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lasttick.laws.said import Effect

START, END, REFUSED = "start", "end", "refused"
# Times may be put out as `at`/`end` (seconds), `at_ms`/`end_ms` or `at_ns`/`end_ns`.


def effects_of(rows: Iterable[Mapping[str, Any]]) -> list[Effect]:
    """Rows with `kind` start and end are joined by resource and `call`; others are an effect each, in their order.

    Rows with `kind` refused are none: the resource itself says that it did nothing.
    """
    effects: list[Effect] = []
    open_: dict[tuple[Any, Any], int] = {}
    for row in rows:
        if row.get("kind") == REFUSED:
            continue
        key = (row.get("resource"), row.get("call"))
        if row.get("kind") == END and key in open_:
            index = open_.pop(key)
            effects[index] = replace(effects[index], end=_seconds(row, "at"))
            continue
        if row.get("kind") == START:
            open_[key] = len(effects)
        resource = row.get("resource")
        effects.append(
            Effect(
                mark=row.get("mark"),
                at=_seconds(row, "at"),
                end=_seconds(row, "end"),
                resource=None if resource is None else str(resource),
                args=row.get("args"),
                row=row,
            )
        )
    return effects


def _seconds(row: Mapping[str, Any], name: str) -> float | None:
    """`at` in seconds, or `at_ms` or `at_ns`."""
    for suffix, per_second in (("", 1.0), ("_ms", 1e3), ("_ns", 1e9)):
        value = row.get(name + suffix)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / per_second
    return None
