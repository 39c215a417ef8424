"""How many bytes did a permitted edit write, by what the agent told its model?

A permission has an id of its own, which stands in no message of the model: the two are matched by what was to be
written, where, and in which order. What is not told is not observed. Source: contract lineup rule 3, LU-16.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lasttick.reproduce.reader import CallEvidence, Edit


def bytes_written(calls: Iterable[CallEvidence], requests: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """call_id -> bytes. `requests`: bodies of the model's chat requests, in order; the newest has the whole history of
    its conversation, so one tool call may stand in many."""
    told: dict[str, tuple[Edit, int | None]] = {}
    for request in requests:
        messages = [one for one in _list(request.get("messages")) if isinstance(one, Mapping)]
        asked = dict(edit for message in messages for edit in _edits(message))
        for message in messages:
            id_ = str(message.get("tool_call_id"))
            if message.get("role") == "tool" and id_ in asked:
                told[id_] = (asked[id_], _bytes(message.get("content")))
    by_edit: dict[Edit, list[int | None]] = {}
    for edit, count in told.values():
        by_edit.setdefault(edit, []).append(count)
    found: dict[str, int] = {}
    for call in calls:
        counts = by_edit.get(call.edit) if call.edit is not None else None
        count = counts.pop(0) if counts else None
        if count is not None:
            found[call.call_id] = count
    return found


def _edits(message: Mapping[str, Any]) -> list[tuple[str, Edit]]:
    """The files that a message of the model asks to write, by the id of the tool call."""
    found = []
    for call in _list(message.get("tool_calls")):
        try:
            arguments = json.loads(call["function"]["arguments"])
            found.append((str(call["id"]), Edit(arguments["path"], arguments["content"])))
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _bytes(content: Any) -> int | None:
    try:
        count = json.loads(content)["bytes_written"]
    except (KeyError, TypeError, ValueError):
        return None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
