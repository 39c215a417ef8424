"""What scenarios about boot registration have in common: what a merged configuration must say, and what may have become
of its text. Written here, so that a wrong merge cannot agree with itself."""

from __future__ import annotations

from typing import Any

import yaml

ARGS = ["-I", "-m", "lasttick.reference.gateway.humanwork"]
NAMES = ("HUMANWORK_ORG_ID", "HUMANWORK_RUN_ID", "HUMANWORK_MCP_TOOLS", "PLATFORM_API_URL", "AGENT_SERVICE_SECRET")
OPERATOR = b"""\
# by hand; please keep the order
model: {default: m}
mcp_servers:
  github: {command: npx, args: ["-y", 'server: github']}   # theirs
note: 'it''s'
"""


def with_ours(data: Any, interpreter: str) -> dict[str, Any]:
    """The data of a configuration after boot: what it was, our server, and the time-out unless somebody set one."""
    result: dict[str, Any] = dict(data or {})
    result.setdefault("mcp_discovery_timeout", 30)
    servers = dict(result.get("mcp_servers") or {})
    server = dict(servers.get("humanwork") or {})
    tools = dict(server["tools"]) if isinstance(server.get("tools"), dict) else {}
    server["command"] = interpreter
    server["args"] = ARGS
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


def kept(before: str, after: str) -> bool:
    """Is every byte outside our block still there? A null in place of the servers, and an older block of ours, go."""
    data = yaml.safe_load(before) or {}
    if not data.get("mcp_servers"):
        for null in (" ~", " null"):
            before = before.replace(f"mcp_servers:{null}", "mcp_servers:")
        return only_added(before, after)
    if "humanwork" not in data["mcp_servers"]:
        return only_added(before, after)
    above, _, below = before.partition("mcp_servers")
    # What follows the servers at the margin; a comment there may belong to either.
    rest = below.splitlines(keepends=True)[1:]
    margin = next((n for n, line in enumerate(rest) if line[:1].isalpha()), len(rest))
    return after.startswith(above) and "".join(rest[margin:]).rstrip() in after
