"""What does an odd argument mean? Nothing is refused for its type: another type counts as absent.

Source: contract vaultclaw 1, "String argument" to "Object argument".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw.json_text import trim


class Arguments:
    """The `arguments` object of one tool call, read as the contract says."""

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self.given: Mapping[str, Any] = given or {}

    def string(self, *names: str) -> str:
        """The first of these that is not blank, trimmed; "" when there is none."""
        for name in names:
            if text := string(self.given.get(name)):
                return text
        return ""

    def integer(self, name: str) -> int:
        """Truncated toward zero; 0 for another type, a boolean and a numeric string included."""
        return integer(self.given.get(name))

    def boolean(self, name: str, default: bool) -> bool:
        return boolean(self.given.get(name), default)

    def object(self, name: str) -> dict[str, Any] | None:
        """None when it is absent, null or of another type."""
        return as_object(self.given.get(name))

    def raw(self, name: str) -> Any:
        """The value as it came; None also when it is absent (see `has`)."""
        return self.given.get(name)

    def has(self, name: str) -> bool:
        return name in self.given


def string(value: Any) -> str:
    return trim(value) if isinstance(value, str) else ""


def integer(value: Any) -> int:
    return 0 if isinstance(value, bool) or not isinstance(value, int | float) else math.trunc(value)


def boolean(value: Any, default: bool) -> bool:
    return value if isinstance(value, bool) else default


def as_object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None
