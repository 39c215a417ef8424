"""Short ways to make the records that judges read."""

from __future__ import annotations

from typing import Any

from lasttick.laws.profiles.profile import Outcome
from lasttick.laws.reply import Reply
from lasttick.laws.said import Effect, Mark, Said


def said(number: int, verb: str = "tools.call", outcome: Outcome = "ok", caller: str = "alice", **more: Any) -> Said:
    """Answer `number`, sent at that second and answered half a second later. `body`, `headers` ...: of its reply."""
    parts = {name: more.pop(name) for name in ("headers", "body", "error", "lost") if name in more}
    reply = Reply(outcome == "ok", 200, raw=more.pop("reply_raw", ""), **parts)
    values: dict[str, Any] = {"law": "x/y", "session": f"{caller}-1", "sent_s": number, "answered_s": number + 0.5}
    return Said(number=number, verb=verb, caller=caller, outcome=outcome, reply=reply, **{**values, **more})


def mark(number: int) -> Mark:
    return Mark(f"lt-t1-{number}", 1 + number / 1000)


def effect(number: int) -> Effect:
    """What the call with that mark did."""
    return Effect(mark=f"lt-t1-{number}")
