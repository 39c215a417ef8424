"""Under which other names might a target take a call for one of a tool? Pure."""

from __future__ import annotations

import re
from typing import Any

SEPARATORS = ("__", ":", ".", "/", "-")
SMUGGLED = ("action", "tool", "toolName", "tool_name", "name", "method", "operation")
"""Arguments in which a gateway, or what is behind it, might look for what to do."""


def names_like(tool: str, read: str) -> dict[str, str]:
    """The shapes of a tool's name by what was done to it; the name itself first. `read`: a tool the caller may use."""
    wide = chr(ord(tool[0]) + 0xFEE0) + tool[1:] if "!" <= tool[0] <= "~" else tool
    shapes = {
        "its name": tool,
        "upper case": tool.upper(),
        "capital": tool[0].upper() + tool[1:],
        "blank before": f" {tool}",
        "blank after": f"{tool} ",
        "line end after": f"{tool}\n",
        "NUL after": f"{tool}\0",
        "wide letter": wide,
        "dot path": f"./{tool}",
        "path up": f"{read}/../{tool}",
        "slash after": f"{tool}/",
        "list": f"{read},{tool}",
        "with its namespace": f"{read}:{tool}",
    }
    parts = [part for part in re.split(r"__|[:./]", tool) if part]
    if len(parts) > 1:
        shapes["without its namespace"] = parts[-1]
        shapes |= {f"parts joined by {by}": by.join(parts) for by in SEPARATORS}
    distinct: dict[str, str] = {}
    for what, name in shapes.items():
        if name not in (*distinct.values(), read):
            distinct[what] = name
    return distinct


def smuggled(tool: str) -> dict[str, Any]:
    """Arguments that name the tool, for a call of another one."""
    return dict.fromkeys(SMUGGLED, tool)
