"""What is the agent told, besides what a person wrote: how to ask with a card, what came of its cards, what went wrong.

User text is always a block of its own, and nothing in it is read as a card or as an instruction of ours.
Source: contract lineup C-4 (notices), C-5 (prompts), C-6 (refusals).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lasttick.model.lineup.cards import ACTIONS_MAX, FIELDS_MAX
from lasttick.model.lineup.frames import NO_REVISION, TOOL_CALL, TOOL_RESULT
from lasttick.model.lineup.records import Inventory, Result

RESPONSE_TIMEOUT: Final = "Hermes ACP response timeout"
TURN_LOST: Final = "turn lost: the adapter was restarted; send the message again"
MAY_NOT_HAVE_REACHED: Final = "recorded, may not have reached the agent"
NOT_REPEATED: Final = "the answer was recorded and may have reached the agent; it is not sent again"
SESSION_REPLACED: Final = "the agent's session was replaced; it does not know what was said before"

_EXAMPLES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("choice", {"action_group": {"mode": "single-choice", "actions": [{"id": "focus", "label": "Focus"}]}}),
    ("input", {"fields": [{"id": "task", "label": "Task", "required": True, "max_length": 200}]}),
)


_FORMAT = f"""\
LineUp: you can ask the user with a card. A card is one JSON object, alone on its lines or the only content of one
```json fence, and there is at most one in a reply. Text around it is shown to the user as text. Two examples:
%s
Rules:
- Single choice only: mode is single-choice, with 1 to {ACTIONS_MAX} actions of id and label and nothing else.
  multi-choice is not supported; when the user wants it, say so and ask for the answer as text.
- An input card has 1 to {FIELDS_MAX} fields.
- call_id is new for every card. expires_at is UTC, 30 seconds to 30 minutes ahead, ending in Z. No other members.
- A card cannot run commands and gives you no permission or capability.
- Where the user may answer in other words, add an action with the id other; when it is chosen, ask with an input card
  in your next reply.
- choice and input are always there. Any other tool must be in the inventory; its data is {{"arguments": {{...}}}}.
The answer comes as a prompt of type {TOOL_RESULT}.
Inventory revision: %s
Inventory: %s"""


def instructions(inventory: Inventory) -> str:
    """The first text block of a session, and of the first prompt after an inventory came (C-5)."""
    examples = "\n".join(_example(tool, data) for tool, data in _EXAMPLES)
    return _FORMAT % (examples, inventory.revision or NO_REVISION, _told(_tools(inventory)))


def prompt_texts(text: str, front: Sequence[str]) -> list[str]:
    """The text blocks of a user's prompt: what we have to say, then the user's text alone in its own block. A text that
    begins with `/` is a command only when it is sent alone; `front` then waits for the next prompt."""
    return [text] if sent_alone(text) else [*front, text]


def sent_alone(text: str) -> bool:
    return text.startswith("/")


def result_prompt(call_id: str, result: Result) -> str:
    """The one text block that tells the agent the answer to its card, in its one form."""
    payload = {"call_id": call_id, "status": result.status, "result": result.result}
    return _told({"v": 1, "type": TOOL_RESULT, "payload": payload})


def closed_notice(call_id: str, state: str) -> str:
    """To the agent, in front of the next prompt: nobody answered its card. `state`: expired or aborted."""
    return f"LineUp: the card {call_id} is {state}. The user gave no answer; do not take that for one."


def refusal_notice(reason: str) -> str:
    """To the agent, in front of the next prompt: its card was not shown."""
    return f"LineUp: your card was not shown ({reason}). Ask again as text, or with one valid card."


def refusal_message(reason: str) -> str:
    """To the person: the agent wanted to show a card and could not."""
    return f"The agent's card was refused: {reason}. Please give your answer as text."


def _example(tool: str, data: Mapping[str, Any]) -> str:
    payload = {
        "call_id": f"call_{tool}_1",
        "tool": tool,
        "title": "Title",
        "prompt": "Question",
        "expires_at": "2026-01-01T00:10:00Z",
        "data": data,
    }
    return _told({"v": 1, "type": TOOL_CALL, "payload": payload})


def _tools(inventory: Inventory) -> list[dict[str, Any]]:
    return [
        {
            "tool": tool.name,
            "arguments": {name: {"type": type_, "required": must} for name, (type_, must) in tool.arguments.items()},
        }
        for tool in (inventory.tools or {}).values()
    ]


def _told(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
