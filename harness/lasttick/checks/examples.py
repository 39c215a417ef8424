"""Where does one example of a trace end and the next begin?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lasttick.engine.trace import Event


def examples(events: Iterable[Event]) -> Iterator[list[Event]]:
    """The stories of a trace, each begun by an `example` event."""
    example: list[Event] = []
    for event in events:
        if event.kind == "example":
            yield example
            example = []
        example.append(event)
    yield example
