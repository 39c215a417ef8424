"""What is known about a request before any route is looked at, and the inputs that come to it.

Source: contract vaultclaw 18.2, 18.5 (last paragraph: facts by name).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import arguments
from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.routing import extract, text
from lasttick.model.vaultclaw.routing.weather import Weather, weather_of

FROM_FACTS = "external_facts"
FACT_NAMES = {"subject": "email_subject", "text_plain": "email_body", "url": "http_url", "method": "http_method"}
"""By input: the second name under which a fact may carry it; the first is the input's own."""


@dataclass(frozen=True, slots=True)
class Request:
    """`text` as it was given, trimmed; `inputs` found in it; `facts` given with it."""

    text: str
    normal: str
    tokens: frozenset[str]
    inputs: Mapping[str, Any]
    facts: Mapping[str, Any]
    weather: Weather

    @classmethod
    def read(cls, request_text: str, facts: Mapping[str, Any]) -> Request:
        trimmed = trim(request_text)
        normal = text.normal(trimmed)
        return cls(trimmed, normal, text.tokens(normal), extract.inputs_of(trimmed), facts, weather_of(normal))

    def fact_text(self, name: str) -> str:
        """A fact that is a string, trimmed; "" for none and for another type."""
        return arguments.string(self.facts.get(name))

    @property
    def weather_summary(self) -> str:
        """What somebody found out about the weather; "" when nobody did."""
        nested = arguments.as_object(self.facts.get("weather")) or {}
        return self.fact_text("weather_summary") or arguments.string(nested.get("summary"))


@dataclass(frozen=True, slots=True)
class Autofilled:
    """An input that the request's text does not name, and where its value is from."""

    input_key: str
    value: Any
    source: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        return {"input_key": self.input_key, "value": self.value, "source": self.source, "reason": self.reason}


class Inputs:
    """The inputs of one resolution as they fill up. What the request says itself is never replaced."""

    def __init__(self, request: Request) -> None:
        self.values: dict[str, Any] = dict(request.inputs)
        self.autofilled: list[Autofilled] = []

    def has(self, key: str) -> bool:
        return has_value(self.values.get(key))

    def text(self, key: str) -> str:
        return arguments.string(self.values.get(key))

    def fill(self, key: str, value: Any, source: str, reason: str) -> None:
        if has_value(value) and not self.has(key):
            self.values[key] = value
            self.autofilled.append(Autofilled(key, value, source, reason))

    def fill_by_name(self, keys: Iterable[str], facts: Mapping[str, Any]) -> None:
        """Each of these that is still empty from the fact of its name, or of its second name; in byte order."""
        for key in sorted(set(keys)):
            for name in (key, FACT_NAMES.get(key, key)):
                self.fill(key, facts.get(name), FROM_FACTS, f"filled {key} from context.facts.{name}")

    def missing(self, required: Iterable[str]) -> list[str]:
        """Those without a value, in byte order."""
        return [key for key in sorted(required) if not self.has(key)]


def has_value(value: Any) -> bool:
    """False for null, a blank string, an empty list and an empty object."""
    if isinstance(value, str):
        return bool(trim(value))
    return bool(value) if isinstance(value, list | dict) else value is not None
