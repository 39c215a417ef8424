"""How is JSON put on the wire? Compact UTF-8; JSON is compared by value there, so it is not the text that is hashed."""

from __future__ import annotations

import json
from typing import Any


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encoded(value: Any) -> bytes:
    return text_of(value).encode("utf-8", "replace")
