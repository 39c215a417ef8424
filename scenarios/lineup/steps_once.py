"""What can happen to permission cards, in any order, and what the agent must have heard at the end of it.

The oracle is small on purpose: the first valid answer of the right conversation before the deadline wins; a cancel,
the deadline, the end of the turn and a death close what is open; nothing else does anything.
Source: contract lineup C-3, C-4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lasttick import World
from lasttick_fakes.model import Call

LIFE_S = 55.0
KITCHEN, OFFICE = "kitchen", "office"
ALLOW, DENY = "action_01", "action_02"
OPTIONS = {ALLOW: "allow_once", DENY: "deny"}
CANCELLED = "cancelled"
UNANSWERED = "unanswered"
FILES = {KITCHEN: ("kitchen-1.txt", "kitchen-2.txt"), OFFICE: ("office-1.txt",)}
"""By conversation: what its agent wants to write in one message, each with a permission of its own."""

VALID = {
    "allow": ("completed", {"action_id": ALLOW}, OPTIONS[ALLOW]),
    "allow as a list": ("completed", {"action_ids": [ALLOW]}, OPTIONS[ALLOW]),
    "deny": ("completed", {"action_id": DENY}, OPTIONS[DENY]),
    "dismiss": ("cancelled", None, CANCELLED),
}
"""name -> status, result, and what the agent hears."""
INVALID = {
    "both members": ("completed", {"action_id": ALLOW, "action_ids": [ALLOW]}),
    "two actions": ("completed", {"action_ids": [ALLOW, DENY]}),
    "no action": ("completed", {"action_ids": []}),
    "the option's own id": ("completed", {"action_id": "allow_once"}),
    "an action that is not there": ("completed", {"action_id": "action_03"}),
    "a number": ("completed", {"action_id": 1}),
    "true": ("completed", True),
    "nothing": ("completed", None),
    "a dismissal with an action": ("cancelled", {"action_id": ALLOW}),
    "another status": ("approved", {"action_id": ALLOW}),
}


@dataclass(slots=True)
class Asked:
    """One permission. `heard`: what the agent must hear, as long as nothing has happened: nothing."""

    conversation_id: str
    path: str
    card: Any = None
    heard: str = UNANSWERED
    is_open: bool = True
    results: list[bool] = field(default_factory=list)
    """Of each result that was sent for it: must it be accepted?"""


class Table:
    """Three permissions of two conversations, open at once in one adapter."""

    def __init__(self, world: World, lineup: Any, ask_s: float) -> None:
        self.world = world
        self.lineup = lineup
        self.ask_s = ask_s
        self.asked = [Asked(where, path) for where, paths in FILES.items() for path in paths]
        self.shown_s = 0.0

    async def lay(self) -> None:
        """The people ask their agents for the files, and see the cards."""
        for where, paths in FILES.items():
            calls = tuple(("write_file", {"path": path, "content": f"of {path}"}) for path in paths)
            await self.lineup.model.script(f"files of the {where}", Call(calls), "Done.")
        for where in FILES:
            await self.lineup.person(where).say(f"Write the files of the {where}.")
        for asked in self.asked:
            asked.card = await self.lineup.person(asked.conversation_id).card()
            assert asked.path in asked.card.title
        self.shown_s = self.world.now_s

    async def answer(self, number: int, how: str, by: str | None = None) -> None:
        """A result for a card, by its own conversation or by another."""
        asked = self.asked[number]
        by = asked.conversation_id if by is None else by
        status, result = VALID[how][:2] if how in VALID else INVALID[how]
        counts = by == asked.conversation_id and how in VALID and asked.is_open
        asked.results.append(counts)
        if counts:
            self._close(asked, VALID[how][2])
        await self.lineup.person(by).answer(asked.card.call_id, status, result)
        await self.world.settle()

    async def answer_nobody(self) -> None:
        await self.lineup.person(KITCHEN).answer("call_that_nobody_made", "completed", {"action_id": ALLOW})
        await self.world.settle()

    async def cancel(self, where: str) -> None:
        """The person stops the turn: every question of it is answered `cancelled`."""
        for asked in self._open_in(where):
            self._close(asked, CANCELLED)
        await self.lineup.person(where).cancel()
        await self.world.settle()

    async def die(self, who: str) -> None:
        """The agent's process, or the adapter's, is gone; the adapter is started again. Nobody waits for an answer."""
        for asked in self.asked:
            if asked.is_open:
                self._close(asked, UNANSWERED)
        if who == "agent":
            await self.lineup.kill_agent()
        else:
            await self.lineup.kill()
            await self.lineup.start()
        await self.world.settle()

    async def wait(self, seconds: float) -> None:
        """Time passes; a card closes at its deadline, or with the turn of an agent that waits less long."""
        await self.world.until(self.world.now_s + seconds)
        await self.world.settle()
        passed_s = self.world.now_s - self.shown_s
        # An agent that has denied by itself ends its turn, and asks no more.
        heard = UNANSWERED if self.ask_s < LIFE_S else CANCELLED
        for asked in self.asked:
            if asked.is_open and passed_s >= min(self.ask_s, LIFE_S):
                self._close(asked, heard)

    def judge(self) -> None:
        """The agent's own log, the disk and the audit against the oracle. All cards are closed."""
        heard = answers(self.lineup)
        for asked in self.asked:
            rpc_id = self.lineup.ledger.interaction(asked.card.call_id)["rpc_id"]
            expected = [] if asked.heard == UNANSWERED else [asked.heard]
            assert heard.pop(rpc_id, []) == expected, f"{asked}: the agent heard something else"
            written = (self.lineup.files / asked.path).exists()
            assert written == (asked.heard == OPTIONS[ALLOW]), f"{asked}: written is {written}"
            self._judge_audit(asked)
        assert heard == {}, "the agent heard answers to questions that it never asked"
        assert self.lineup.problems == []

    def _judge_audit(self, asked: Asked) -> None:
        first, *verdicts = self.lineup.ledger.verdicts(asked.card.call_id)
        assert first == "call/accepted"
        accepted = [verdict == "result/accepted" for verdict in verdicts]
        assert accepted == asked.results, f"{asked}: {verdicts}"
        assert self.lineup.ledger.pair(asked.card.call_id) in LEGAL_AND_CLOSED

    def _open_in(self, where: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.conversation_id == where and asked.is_open]

    @staticmethod
    def _close(asked: Asked, heard: str) -> None:
        asked.is_open = False
        asked.heard = heard


LEGAL_AND_CLOSED = ("completed/resolved", "expired/expired", "aborted/aborted")


def answers(lineup: Any) -> dict[Any, list[str]]:
    """By the agent's own log: request id -> what it heard, first to last: the id of an option, or `cancelled`. Only the
    first can have counted."""
    found: dict[Any, list[str]] = {}
    for event in lineup.agent_log("hermes.answered"):
        outcome = event.data["frame"]["result"]["outcome"]
        found.setdefault(event.data["rpc_id"], []).append(outcome.get("optionId", outcome["outcome"]))
    return found
