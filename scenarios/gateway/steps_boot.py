"""What scenarios about boot registration have in common: an operator's file, and what may have become of its text.

Written here, so that a wrong merge cannot agree with itself."""

from __future__ import annotations

import yaml

from lasttick.checks.boot_config import only_added

OPERATOR = b"""\
# by hand; please keep the order
model: {default: m}
mcp_servers:
  github: {command: npx, args: ["-y", 'server: github']}   # theirs
note: 'it''s'
"""


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
