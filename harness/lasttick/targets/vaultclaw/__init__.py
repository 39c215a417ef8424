"""The vault MCP server of a world, its vault daemon and remote catalogs, in every mode."""
