"""What came back, whatever the kind of the binding: one document for JSON pointers.

Source: contract laws, "Binding" (Reply).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

INDEX_DIGITS_MAX = 9


class NotFound(LookupError):
    """A pointer that finds nothing in the document; the message says how far it came."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the target. `lost`: why there is none (then everything else is empty and it may have happened).

    `ok` is the transport's word: HTTP 2xx, a JSON-RPC result without isError, exit code 0, no exception. `headers`
    have lower-case names. `error` is a JSON-RPC error object, or {message, body} of an isError, an exit code or an
    exception. `events` are the data of each server-sent event. `raw` is what a person is shown, not yet redacted.
    """

    ok: bool
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    error: Any = None
    meta: Any = None
    lines: tuple[str, ...] = ()
    events: tuple[Any, ...] = ()
    lost: str | None = None
    raw: str = ""

    def document(self) -> dict[str, Any]:
        """What pointers look into."""
        return {
            "status": self.status,
            "headers": dict(self.headers),
            "body": self.body,
            "error": self.error,
            "meta": self.meta,
            "lines": list(self.lines),
            "events": list(self.events),
        }


def lost(reason: str, raw: str = "") -> Reply:
    """No whole answer came: cut, timed out, refused connection. It may have happened all the same."""
    return Reply(False, lost=reason, raw=raw or f"no answer: {reason}")


def find(document: Any, pointer: str) -> Any:
    """What an RFC 6901 pointer finds; "" is the whole document. Raises NotFound."""
    found, missing = _follow(document, pointer)
    if missing is not None:
        raise NotFound(f"{pointer} finds nothing: no {missing!r} in {_kind(found)}")
    return found


def has(document: Any, pointer: str) -> bool:
    return _follow(document, pointer)[1] is None


def _follow(document: Any, pointer: str) -> tuple[Any, str | None]:
    """How far the pointer leads, and the first part that is not there."""
    found = document
    for part in _parts(pointer):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and (index := _index(part)) is not None and index < len(found):
            found = found[index]
        else:
            return found, part
    return found, None


def _index(part: str) -> int | None:
    return int(part) if part.isascii() and part.isdigit() and len(part) <= INDEX_DIGITS_MAX else None


@lru_cache(maxsize=1024)
def _parts(pointer: str) -> tuple[str, ...]:
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, list(value)[:8])) or 'no members'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else f"a {type(value).__name__}"
