"""What must an agent's configuration say after boot, and what may have become of its text? Without the code under test.

Source: contract gateway, boot registration (GW-16).
"""

from __future__ import annotations

from typing import Any

ARGS = ("-I", "-m", "lasttick.reference.gateway.humanwork")
NAMES = ("HUMANWORK_ORG_ID", "HUMANWORK_RUN_ID", "HUMANWORK_MCP_TOOLS", "PLATFORM_API_URL", "AGENT_SERVICE_SECRET")


def with_ours(data: Any, interpreter: str) -> dict[str, Any]:
    """The data of a configuration after boot: what it was, our server, and the time-out unless somebody set one."""
    result: dict[str, Any] = dict(data or {})
    result.setdefault("mcp_discovery_timeout", 30)
    servers = dict(result.get("mcp_servers") or {})
    server = dict(servers.get("humanwork") or {})
    tools = dict(server["tools"]) if isinstance(server.get("tools"), dict) else {}
    server["command"] = interpreter
    server["args"] = list(ARGS)
    server["env"] = {name: "${" + name + "}" for name in NAMES}
    server["tools"] = {**tools, "resources": False, "prompts": False}
    return {**result, "mcp_servers": {**servers, "humanwork": server}}


def only_added(before: str, after: str) -> bool:
    """Is `after` what `before` was, with at most two pieces put in?"""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    rest, longer = before[start:], after[start:]
    end = 0
    while end < min(len(rest), len(longer)) and rest[-1 - end] == longer[-1 - end]:
        end += 1
    return rest[: len(rest) - end] in longer[: len(longer) - end]
