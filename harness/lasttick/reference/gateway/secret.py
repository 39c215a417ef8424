"""How is a shared secret held, so that no code can decide on it by accident?

As an opaque value: comparing, hashing, indexing, iterating, ordering and pickling it raise, printing it shows nothing,
and only `matches`, in constant time, says whether a presented text is it (GW-04, ruling 6).
"""

from __future__ import annotations

import hmac
from typing import Any, NoReturn, Self


class OpaqueSecret:
    """One secret of the platform. Never empty: an unset or empty setting is no secret at all, see `configured`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not value:
            raise ValueError(
                f"{type(self).__name__} is empty; expected at least one character (contract gateway, ruling 6); "
                "leave the setting out to close the door"
            )
        self._value = value

    @classmethod
    def configured(cls, setting: str | None) -> Self | None:
        """The secret of a setting; None when it is not set or empty, which closes the door it opens (ruling 6)."""
        return cls(setting) if setting else None

    def matches(self, presented: str) -> bool:
        """Whether `presented` is the secret: equal lengths first, then in constant time. Text outside ASCII is never
        the secret, since no header carries it unchanged."""
        if not presented.isascii():
            return False
        given, own = presented.encode("ascii"), self._value.encode("utf-8", "surrogatepass")
        return len(given) == len(own) and hmac.compare_digest(given, own)

    def reveal(self) -> str:
        """The value, to be redacted wherever it turns up. Never to decide anything."""
        return self._value

    def header_value(self) -> str | None:
        """The value as a header carries it; None for one with a newline, a byte outside ASCII or an outer blank, which
        would arrive as something else, or as two headers."""
        fits = self._value.isascii() and self._value.isprintable() and self._value == self._value.strip()
        return self._value if fits else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} is opaque; expected only matches(presented) (contract gateway, GW-04); "
            "ask that instead"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __getitem__ = __iter__ = __contains__ = __len__ = __bool__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


class AgentSecret(OpaqueSecret):
    """`AGENT_SERVICE_SECRET`, which the platform and its own agent container share."""

    __slots__ = ()


class AdminToken(OpaqueSecret):
    """`PLATFORM_ADMIN_TOKEN`, which opens `/v1/admin`."""

    __slots__ = ()
