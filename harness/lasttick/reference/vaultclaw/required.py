"""Are the arguments there that a tool cannot do without? Checked before the session and before any call.

Source: contract vaultclaw 1 ("Order of checks in a tool").
"""

from __future__ import annotations

from typing import Any

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import ToolFailure


def required_text(arguments: Arguments, name: str) -> str:
    """A string argument, trimmed. Raises ToolFailure: it is blank, absent or no string."""
    return arguments.string(name) or _refuse(name, "a text that is not blank")


def required_object(arguments: Arguments, name: str) -> dict[str, Any]:
    """Raises ToolFailure: it is absent or no object."""
    given = arguments.object(name)
    return _refuse(name, "a JSON object") if given is None else given


def _refuse(name: str, expected: str) -> Any:
    raise ToolFailure(
        "MCP_VALIDATION_ERROR",
        f"{name} is missing; expected {expected}, as the tool's inputSchema lists it; give {name} and call again",
    )
