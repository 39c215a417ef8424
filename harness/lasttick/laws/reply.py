"""What came back, whatever the kind of the binding: one document for JSON pointers.

Source: contract laws, "Binding" (Reply).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ABSENT: Any = object()


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
    found = document
    for raw in pointer.split("/")[1:] if pointer else ():
        part = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isascii() and part.isdigit() and int(part) < len(found):
            found = found[int(part)]
        else:
            raise NotFound(f"{pointer} finds nothing: no {part!r} in {_kind(found)}")
    return found


def has(document: Any, pointer: str) -> bool:
    try:
        find(document, pointer)
    except NotFound:
        return False
    return True


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, list(value)[:8])) or 'no members'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else f"a {type(value).__name__}"
