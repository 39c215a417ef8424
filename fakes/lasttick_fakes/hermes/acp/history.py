"""What does a client see when a session is opened again? The whole conversation, as updates.

Edits get a `tool_call_update` here, which they never get while they happen. Source: recorded frames; read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick_fakes.hermes.acp import frames, views
from lasttick_fakes.hermes.acp.connection import Connection
from lasttick_fakes.hermes.acp.session import AcpSession
from lasttick_fakes.hermes.turn import arguments_of

_CHUNKS = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}


def replay(session: AcpSession, connection: Connection) -> None:
    """Calls have the ids that the model gave them."""
    called: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for message in session.history:
        role, content = message["role"], message["content"]
        if thought := message.get("reasoning_content"):
            connection.update(session.session_id, "agent_thought_chunk", content=frames.text(thought))
        if role in _CHUNKS and content:
            connection.update(session.session_id, _CHUNKS[role], content=frames.text(content))
        for call in message.get("tool_calls", ()):
            name, given = call["function"]["name"], arguments_of(call["function"]["arguments"]) or {}
            called[call["id"]] = (name, given)
            connection.update(session.session_id, "tool_call", **views.begun(call["id"], name, given))
        if role == "tool" and message["tool_call_id"] in called:
            number = message["tool_call_id"]
            name, arguments = called.pop(number)
            ended = views.ended(number, name, arguments, content)
            connection.update(session.session_id, "tool_call_update", **ended)
            if name == "todo" and (plan := views.plan(content)) is not None:
                connection.update(session.session_id, "plan", **plan)
