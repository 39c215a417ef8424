"""The columns of the review's evidence sections: one value for each adapter, all of them from its folder.

Source: contract lineup C-11; the columns are the seed's: message sequence, call id, result as sent, audit rows, states,
final text, file and byte count.
"""

from __future__ import annotations

import json
from typing import Any

from lasttick.model.lineup.frames import TOOL_CALL, TOOL_RESULT
from lasttick.reproduce.claims import states, verdicts
from lasttick.reproduce.kept import Side
from lasttick.reproduce.reader import NOT_OBSERVED, CallEvidence

NONE = "none"


def columns(side: Side) -> dict[str, str]:
    """Name of the column -> value, in the order in which they are shown."""
    found: dict[str, str] = {}
    for number, call in enumerate(side.calls, start=1):
        found |= {f"card {number}: {name}": value for name, value in _of_call(side, call).items()}
    texts = [one for one in side.said if one.role == "agent"]
    system = [f"{one.seq}: {one.text}" for one in side.said if one.role == "system"]
    return {
        **found,
        "cards that the host got": _listed([f"{card['call_id']} ({_mode(card)})" for card in side.got(TOOL_CALL)]),
        "refused cards": _listed([f"call/{row.disposition}: {row.reason}" for row in side.refused]),
        "system messages": _listed(system),
        "final text": f"{texts[-1].seq}: {texts[-1].text.strip()}" if texts else NONE,
        "file": _listed(list(side.files)),
        "bytes on disk": _listed([str(size) for size in side.files.values()]),
    }


def _of_call(side: Side, call: CallEvidence) -> dict[str, str]:
    before = next((one for one in side.before if one.call_id == call.call_id), None)
    results = [row for row in call.audit if row.phase == "result"]
    sent = [
        json.dumps(frame["payload"].get("result"), ensure_ascii=False)
        for way, frame in side.host
        if way == "sent" and frame.get("type") == TOOL_RESULT and frame["payload"].get("call_id") == call.call_id
    ]
    seqs = [("request", call.request_seq), ("card", call.card_seq), *(("result", row.message_seq) for row in results)]
    return {
        "call id": call.call_id,
        "message sequence": ", ".join(f"{name} {seq}" for name, seq in seqs if seq is not None) or NOT_OBSERVED,
        "result as sent": _listed(sent),
        "audit": _listed(verdicts(call)),
        **({} if before is None else {"states before the restart": states(before)}),
        "states": states(call) + ("" if call.mode is None else f", {call.mode}"),
        "options": _listed([f"{action} -> {option}" for action, option in call.options.items()]),
        "the agent got": _listed(side.answers) if call.source == "permission" else f"{call.result_prompts} prompts",
        "bytes_written, by the model's log": str(call.bytes_written),
    }


def _mode(card: Any) -> str:
    return str(card["data"].get("action_group", {}).get("mode", card["tool"]))


def _listed(values: list[str]) -> str:
    return "; ".join(values) if values else NONE
