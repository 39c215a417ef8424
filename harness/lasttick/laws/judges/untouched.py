"""Did a call that was answered as refused leave an effect all the same? Judged over all that a run said, pure.

Source: contract laws, catalogue, tools/refused-is-untouched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lasttick.laws.said import Effect, Said


@dataclass(frozen=True, slots=True)
class Refusals:
    """`touched`: refused calls that happened. `untouched`: those that did not, as a later good call of the same
    resource arrived and they had not. `unknown`: no good call came after them, so their effect may be on its way.
    """

    touched: tuple[Said, ...]
    untouched: tuple[Said, ...]
    unknown: tuple[Said, ...]


def judged(history: Sequence[Said], effects: Sequence[Effect]) -> Refusals:
    """`effects` were read after the last answer of `history`. A call without a mark cannot be judged, nor can one of
    several that share a mark, as what is said about one request for approval does.
    """
    times = Counter(said.mark.text for said in history if said.mark is not None)
    marked = [said for said in history if said.mark is not None and times[said.mark.text] == 1]
    arrived_s: dict[str | None, float] = {}
    """When the last good call of a resource was sent."""
    for said in marked:
        if said.ok and happened(said, effects):
            arrived_s[said.resource] = max(said.sent_s, arrived_s.get(said.resource, said.sent_s))
    touched, untouched, unknown = [], [], []
    for said in marked:
        if not said.refused:
            continue
        if happened(said, effects):
            touched.append(said)
        elif arrived_s.get(said.resource, said.sent_s) >= said.answered_s and said.resource in arrived_s:
            untouched.append(said)
        else:
            unknown.append(said)
    return Refusals(tuple(touched), tuple(untouched), tuple(unknown))


def happened(said: Said, effects: Sequence[Effect]) -> bool:
    """Whether the resource saw the mark of this call."""
    return said.mark is not None and any(said.mark.is_in(effect.mark) for effect in effects)
