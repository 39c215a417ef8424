"""Which headers does a request carry? Ours, changed as a scenario says; built once, because most calls change none."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

HeaderEdits: TypeAlias = Mapping[str, "str | bytes | Sequence[str | bytes] | None"]
"""Name -> a value that replaces ours, several values (the header is sent that many times), or None (it is not sent)."""

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]

_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")


def edited(own: RawHeaders, edits: HeaderEdits | None) -> RawHeaders:
    """`own` with `edits` applied; changed and new headers come last, in the order of `edits`."""
    if not edits:
        return own
    names = {name.lower().encode("latin-1"): value for name, value in edits.items()}
    headers = [(name, value) for name, value in own if name not in names]
    for name, change in names.items():
        values = [] if change is None else [change] if isinstance(change, (str, bytes)) else list(change)
        headers.extend((name, value if isinstance(value, bytes) else value.encode("utf-8")) for value in values)
    return headers


def mcp_name(value: str) -> bytes:
    """A name as the 2026-07-28 header `Mcp-Name` carries it: as it is, or in base64 when a header would change it."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
        return value.encode("ascii")
    return b"=?base64?" + base64.b64encode(value.encode("utf-8")) + b"?="
