"""What a new adapter does with what an older one left: close it, say so, or send it, and nothing of it twice.

Source: contract lineup C-4 (adapter start), C-8; LU-10.
"""

from __future__ import annotations

from typing import Final

from lasttick.model.lineup import instructions, recovery, states
from lasttick.model.lineup.frames import TOOL_STATE
from lasttick.model.lineup.records import Result
from lasttick.reference.lineup.conversation import ResultItem
from lasttick.reference.lineup.ledger import CallRow
from lasttick.reference.lineup.turns import Turns
from lasttick.reference.lineup.workshop import Later, Workshop

CARD_CLOSED: Final = "a question was closed without an answer: the adapter was restarted"
TOLD_OF: Final = {
    "may not have reached": instructions.MAY_NOT_HAVE_REACHED,
    "not repeated": instructions.NOT_REPEATED,
}


def recover(shop: Workshop, turns: Turns) -> None:
    """One transition for all of it. Raises ValueError when the ledger holds a pair of states that cannot be."""
    with shop.writing("recovery") as later:
        told = shop.ledger.told_calls()
        for row in shop.ledger.unfinished():
            left = recovery.Left(row.source, row.state, row.sent, row.prompt_started, row.delivered)
            owed = recovery.recover(left)
            if owed == "abort":
                _abort(shop, turns, later, row)
            elif owed == "send result":
                _send(turns, later, row)
            elif owed in TOLD_OF and row.call_id not in told:
                shop.tell(row.conversation_id, TOLD_OF[owed], call_id=row.call_id)
        for conversation_id in shop.ledger.conversations():
            for seq in shop.ledger.open_turns(conversation_id):
                shop.tell(conversation_id, instructions.TURN_LOST, turn=seq)


def _abort(shop: Workshop, turns: Turns, later: Later, row: CallRow) -> None:
    step = states.after(row.pair, "older_epoch", row.source)
    if step is None:
        return
    shop.ledger.moved(row.call_id, step, None, step.reason)
    payload = {"call_id": row.call_id, "state": step.call, "disposition": step.disposition, "reason": step.reason}
    shop.ledger.message(row.conversation_id, "out", "host", TOOL_STATE, payload)
    if step.tells:
        shop.say(row.conversation_id, "system", CARD_CLOSED)
    if step.towards == "notice":
        notice = instructions.closed_notice(row.call_id, step.call)
        later.append(lambda: turns.conversation(row.conversation_id).notices.append(notice))


def _send(turns: Turns, later: Later, row: CallRow) -> None:
    """An answer that was recorded and never begun to be sent is the first prompt of the new session."""
    item = ResultItem(row.call_id, Result("cancelled" if row.result is None else "completed", row.result))
    later.append(lambda: turns.enqueue(turns.conversation(row.conversation_id), item))
