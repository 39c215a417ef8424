"""The reference host agent."""
