"""The tool gateway: the platform's trusted door for tool calls, and the agent that goes through it."""
