"""The forty tools, one file for each group. Each file lists its tools in `TOOLS`; `all_tools` puts them together."""

from __future__ import annotations

from lasttick.model.vaultclaw.json_text import byte_order
from lasttick.reference.vaultclaw.tool import Tool
from lasttick.reference.vaultclaw.tools import (
    approvals,
    connectors,
    cookbooks,
    documents,
    execute_job,
    jobs,
    passport,
    plans,
    profiles,
    recipes,
    routes,
    sessions,
    slots,
    sources,
)

GROUPS = (
    sessions.TOOLS,
    connectors.TOOLS,
    execute_job.TOOLS,
    documents.TOOLS,
    plans.TOOLS,
    slots.TOOLS,
    profiles.TOOLS,
    jobs.TOOLS,
    approvals.TOOLS,
    passport.TOOLS,
    cookbooks.TOOLS,
    recipes.TOOLS,
    sources.TOOLS,
    routes.TOOLS,
)


def all_tools() -> tuple[Tool, ...]:
    """All of them, by name in byte order."""
    tools = {tool.name: tool for group in GROUPS for tool in group}
    return tuple(tools[name] for name in byte_order(tools))
