"""Does the official MCP conformance suite pass on our servers? It is installed, run, read and judged here."""
