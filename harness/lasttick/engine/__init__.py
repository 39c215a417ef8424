"""Virtual time, seeded chance, in-memory network and the trace. Knows nothing of MCP, HTTP clients or pytest."""
