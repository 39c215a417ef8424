"""Fills the places of a world with real parts: virtual, process, live. The only package that wires parts together."""
