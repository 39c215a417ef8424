"""What the official MCP conformance suite asks of a server beside its own tools. Never loaded unless a start says so."""
