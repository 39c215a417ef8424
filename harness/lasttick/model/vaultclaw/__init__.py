"""The rules of the vault MCP server: JSON text, arguments, errors, profiles, plans, approvals, catalog, routes."""
