"""What scenarios about whole turns have in common: one message, and what it left in every place on the way."""

from __future__ import annotations

import json
from typing import Any

from lasttick.checks.flag_off import Record, Sent, Turn

LIST = "HUMANWORK_MCP_TOOLS"


async def say_only(gateway: Any) -> None:
    """The model answers everything with a word."""
    await gateway.model.script("*", "Hello.")


def arguments_of(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The agent program's arguments, without the command it is started by on this machine."""
    return argv[argv.index("chat") :]


def server_of(turn: Any) -> Any:
    """The `humanwork` server among the programs that a turn started, known by the variables of its registration."""
    return next((child for child in turn.children if LIST in child.env), None)


async def observed(
    gateway: Any,
    text: str,
    *,
    org_id: str | None,
    skill: str | None = None,
    channel: str = "chat",
    regenerate: bool = False,
    consult: bool = False,
) -> Turn:
    """One message, or a consultation, and what it left in each channel."""
    asked = max((request.seq for request in await gateway.model.requests()), default=0)
    if consult:
        answer = await gateway.consult(org_id, text)
    else:
        answer = await gateway.chat(org_id, text, skill=skill, channel=channel, regenerate=regenerate)
    assert answer.text == "Hello."
    wire = (await gateway.wires())[-1]
    turn = (await gateway.hermes_turns())[-1]
    server = server_of(turn)
    metadata = None if answer.run_id is None else (await gateway.run(answer.run_id))["metadata"]
    requests = [request for request in await gateway.model.requests(asked) if not request.helper]
    # Where a person does not choose the conversation, its id is known from the wire alone.
    sent = Sent(json.loads(wire)["conversation_id"], text, channel, org_id, answer.run_id)
    return sent, Record(
        metadata=metadata,
        wire=wire,
        arguments=arguments_of(turn.argv),
        environment=turn.env,
        server=None if server is None else server.env,
        model_tools=tuple(request.tools for request in requests),
    )
