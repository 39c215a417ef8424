"""Does a request ask for the weather, where and when? Source: contract vaultclaw 18.5 "Weather"; ruling 5."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lasttick.model.vaultclaw.routing.text import cleaned

PLACE_BYTES_MAX = 60
TODAY = "today"
_TIMES = "today|tomorrow|tonight|this weekend|this week|next week"
_TIME = re.compile(rf"\b(?:{_TIMES})\b", re.ASCII)
_ASKED = re.compile(
    rf"\b(?:(?P<time>{_TIMES})(?:'s)? )?weather(?: forecast)? (?:in|for) (?P<place>[a-z0-9][a-z0-9 ,\-']*)\b", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Weather:
    """`place` "" is an unknown place; `time` is one of the time words, "" when no weather is asked for."""

    asked: bool = False
    place: str = ""
    time: str = ""


def weather_of(normal_text: str) -> Weather:
    found = _ASKED.search(normal_text)
    if found is None:
        return Weather(True, "", TODAY) if "weather" in normal_text else Weather()
    place, time_after = place_and_time(cleaned(found["place"], PLACE_BYTES_MAX))
    return Weather(True, place, found["time"] or time_after or TODAY)


def place_and_time(captured: str) -> tuple[str, str]:
    """The captured words without their first time word and what follows it; and that time word, "" for none."""
    found = _TIME.search(captured)
    return (cleaned(captured[: found.start()], PLACE_BYTES_MAX), found[0]) if found else (captured, "")
