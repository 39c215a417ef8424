"""The smoke suite of the vault MCP server (VC-22): does this server, before this vault, do what its users need?

It runs against a real daemon or the fake one, and sends nothing that a person would have to undo.
"""
