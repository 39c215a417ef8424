"""Where do two histories part? The first event that differs in what the trace hash covers, with what came before it.

Pure: events in, an answer out. Source: contract world, "Trace event" (`trace_sha256`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from lasttick.engine.trace import Event

CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Divergence:
    """`index` counts events from 0; `before` are the last ones that both share; None: that side has ended.

    `fields` are the parts that differ, those of the data with a dot: `("t_ns", "data.caller")`.
    """

    index: int
    before: tuple[Event, ...]
    recorded: Event | None
    repeated: Event | None
    fields: tuple[str, ...]


def first_divergence(recorded: Sequence[Event], repeated: Sequence[Event]) -> Divergence | None:
    """None when both have the same hash."""
    for index, (one, other) in enumerate(zip_longest(recorded, repeated)):
        if one is not None and other is not None and one.hashed() == other.hashed():
            continue
        before = tuple(recorded[max(0, index - CONTEXT) : index])
        return Divergence(index, before, one, other, _fields(one, other))
    return None


def by_example(events: Iterable[Event]) -> list[list[Event]]:
    """The events of each example, in the order in which they were written; `example` starts one."""
    parts: list[list[Event]] = []
    for event in events:
        if event.kind == "example" or not parts:
            parts.append([])
        parts[-1].append(event)
    return parts


def _fields(one: Event | None, other: Event | None) -> tuple[str, ...]:
    if one is None or other is None:
        return ()
    names = [name for name in ("t_ns", "actor", "kind", "ref") if getattr(one, name) != getattr(other, name)]
    keys = dict.fromkeys([*one.data, *other.data])
    names += [f"data.{key}" for key in keys if _written(one.data, key) != _written(other.data, key)]
    # The same values in another order are another history: the hash covers the bytes.
    return tuple(names) or ("data",)


def _written(data: Mapping[str, Any], key: str) -> str | None:
    """As the trace holds it: a repeated event has not been through JSON, where tuples become lists."""
    return json.dumps(data[key], default=str) if key in data else None
