"""Did the vault's validation say no? Then nothing may be executed. Source: ruling vaultclaw 7; VC-06."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def says_no(body: Mapping[str, Any] | None) -> bool:
    """`valid` is there and not `true`, or it is absent and `errors` is not empty. `body`: None for no JSON object."""
    if body is None:
        return False
    return body["valid"] is not True if "valid" in body else bool(body.get("errors"))
