"""The reference host agent: phones shared by MCP sessions and cloud assignments, one holder each at every instant.

Source: contract hostagent, rulings 1-16.
"""
