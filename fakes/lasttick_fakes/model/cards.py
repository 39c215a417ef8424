"""What does a model say that wants a card, and one that insists on a card that nobody may show?

A card is a JSON object in a reply, alone on its lines (contract lineup, C-2 and C-6). `insisting` gives the scripts of
a model that asks for a multi-choice card whatever it was told: the model obeys its script, not its instructions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lasttick_fakes.model.script import Say, Script

TYPE = "lineup.v1.tool.call"
EXPIRES_AT = "2000-01-01T00:00:00Z"
"""Long past: an adapter puts its own in place of one that it does not take."""
INSISTS = ("bare", "fenced", "twice", "with command", "beside words")


def card(call_id: str, tool: str, title: str, prompt: str, data: Mapping[str, Any], **more: Any) -> str:
    """The block of any card on one line. `more`: members that do not belong there."""
    payload = {"call_id": call_id, "tool": tool, "title": title, "prompt": prompt, "expires_at": EXPIRES_AT}
    return json.dumps({"v": 1, "type": TYPE, "payload": {**payload, "data": dict(data), **more}}, ensure_ascii=False)


def choice(
    call_id: str,
    actions: Sequence[tuple[str, str]],
    *,
    title: str = "Choose",
    prompt: str = "Which one?",
    mode: str = "single-choice",
    **more: Any,
) -> str:
    """The block of a choice card. `actions`: id and label each; `more`: members beside mode and actions."""
    listed = [{"id": action_id, "label": label} for action_id, label in actions]
    return card(call_id, "choice", title, prompt, {"action_group": {"mode": mode, "actions": listed, **more}})


def inputs(
    call_id: str, fields: Sequence[Mapping[str, Any]], *, title: str = "Enter", prompt: str = "What is it?"
) -> str:
    """The block of an input card. `fields`: `{id, label, required?, max_length?}` each."""
    return card(call_id, "input", title, prompt, {"fields": [dict(field) for field in fields]})


def fenced(block: str, mark: str = "json") -> str:
    return f"```{mark}\n{block}\n```"


def insisting(how: str, word: str, call_id: str, actions: Sequence[tuple[str, str]]) -> Script:
    """A model that wants several answers at once when `word` stands in its prompt; with `*` after every refusal too.

    `how` is one of `INSISTS`. Raises ValueError for another.
    """
    block = choice(call_id, actions, mode="multi-choice")
    other = choice(f"{call_id}-2", actions, mode="multi-choice")
    ways = {
        "bare": block,
        "fenced": f"Please pick all that fit.\n\n{fenced(block)}\n",
        "twice": f"{block}\n\n{fenced(other)}",
        "with command": choice(call_id, actions, mode="multi-choice", command="rm -rf ./x"),
        "beside words": f"I insist: {block}",
    }
    if how not in ways:
        raise ValueError(f"how is {how!r}; expected one of {', '.join(INSISTS)}; use one of these")
    return Script(word, (Say(ways[how]),))
