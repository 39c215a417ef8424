"""Stories of the vault MCP server."""
