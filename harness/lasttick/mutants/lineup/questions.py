"""Wrong answers to the questions of the agent's own gateway. Source: contract lineup C-10; contract hermes 5.2, 5.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lasttick.model.lineup import gateway_events
from lasttick.model.lineup.gateway_events import SlashConfirm, UpdatePrompt
from lasttick.mutants import Mutant
from lasttick.reference.lineup.event_source import EventSource

SILENCE = "lineup/gateway-questions/nobody-answers-and-nothing-is-agreed-to"
NEWER = "lineup/gateway-questions/a-newer-confirmation-takes-the-place-of-the-older"
DEFAULT = "lineup/gateway-questions/a-default-needs-somebody-who-sends-it"
TEXT = "lineup/gateway-questions/a-question-without-a-host-is-a-text-and-silence-is-no-yes"


def said(event: Any, answer: str) -> dict[str, str]:
    return {"kind": event.kind, "id": event.id, "answer": answer}


def default_at_the_end(right: Any) -> Callable[[Any], Any]:
    return lambda event: said(event, event.default) if isinstance(event, UpdatePrompt) else right(event)


def once_at_the_end(right: Any) -> Callable[[Any], Any]:
    return lambda event: said(event, "once") if isinstance(event, SlashConfirm) else right(event)


def nothing_for_empty(right: Any) -> Callable[..., Any]:
    """An empty field is an empty answer."""
    return lambda event, result: right(replace(event, default="") if isinstance(event, UpdatePrompt) else event, result)


def any_text_agrees(right: Any) -> Callable[[Any, str], Any]:
    return lambda event, text: said(event, "once") if isinstance(event, SlashConfirm) else right(event, text)


def asked_again(right: Any) -> Callable[..., None]:
    """An id that was asked before is asked anew."""

    def hear(self: EventSource, line: bytes, read_ns: int) -> None:
        self._is_open.clear()
        right(self, line, read_ns)

    return hear


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/default-at-expiry",
        breaks="LU-14",
        text="an update prompt that nobody answered is answered with its default",
        killed_by=SILENCE,
        patch=lambda seam: seam.wrap(gateway_events, "closing_answer", default_at_the_end),
    ),
    Mutant(
        "lineup/silence-confirms",
        breaks="LU-14",
        text="a confirmation that ends without an answer is answered once",
        killed_by=SILENCE,
        patch=lambda seam: seam.wrap(gateway_events, "closing_answer", once_at_the_end),
    ),
    Mutant(
        "lineup/older-confirmation-stays",
        breaks="LU-14",
        text="a newer confirmation of a session leaves the older one open",
        killed_by=NEWER,
        patch=lambda seam: seam.replace(gateway_events, "superseded", lambda open_events, newer: ()),
    ),
    Mutant(
        "lineup/empty-field-is-the-answer",
        breaks="LU-14",
        text="an empty field that was sent is answered as it is, not with the default",
        killed_by=DEFAULT,
        patch=lambda seam: seam.wrap(gateway_events, "event_answer", nothing_for_empty),
    ),
    Mutant(
        "lineup/any-text-confirms",
        breaks="LU-14",
        text="where a confirmation is asked as a text, whatever the person says next is a yes",
        killed_by=TEXT,
        patch=lambda seam: seam.wrap(gateway_events, "text_answer", any_text_agrees),
    ),
    Mutant(
        "lineup/confirmation-is-asked-again",
        breaks="LU-14",
        text="a confirmation with an id that was asked before is asked anew",
        killed_by=NEWER,
        patch=lambda seam: seam.wrap(EventSource, "_hear", asked_again),
    ),
]
