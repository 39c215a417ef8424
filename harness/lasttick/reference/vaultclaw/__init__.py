"""The vault MCP server: 40 tools, approvals that wait, a catalog that survives. Source: contract vaultclaw."""
