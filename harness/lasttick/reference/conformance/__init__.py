"""What does the official MCP conformance suite call beside a server's own tools? Loaded only if a start says so."""
