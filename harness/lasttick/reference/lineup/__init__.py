"""The adapter between an agent that speaks ACP and a chat host that shows cards. Source: contract lineup."""
