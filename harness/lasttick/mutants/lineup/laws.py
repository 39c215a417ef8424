"""Wrong versions of what any approval must hold, whatever it is called: each breaks a law approval/* too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.lineup import cards
from lasttick.model.lineup.records import Option, PermissionAsked
from lasttick.mutants import Mutant
from lasttick.reference.lineup import permissions
from lasttick.reference.lineup.cards_open import OpenCards

LATE_S = 10.0
ALLOWING = ("allow_once", "allow_always")
OPEN_UNTIL = "lineup/clock/a-permission-is-open-up-to-its-last-tick"


def any_click_allows(right: Any) -> Callable[..., Option]:
    """A card was clicked, so the person agrees."""

    def option_of(asked: PermissionAsked, action_id: str) -> Option:
        chosen: Option = right(asked, action_id)
        return next((option for option in asked.options if option.kind in ALLOWING), chosen)

    return option_of


def allowed_with_the_card(right: Any) -> Callable[..., None]:
    """The agent need not wait: most people click Allow."""

    def ask(shop: Any, open_cards: Any, process: Any, conversation_id: Any, asked: PermissionAsked) -> None:
        right(shop, open_cards, process, conversation_id, asked)
        if asked.options:
            process.answer(asked.rpc_id, asked.options[0].option_id, sent=lambda: None, lost=lambda: None)

    return ask


def timer_runs_late(right: Any) -> Callable[..., Any]:
    """A card that nobody answers is closed some time after its end."""

    async def wait(self: OpenCards, shown: Any) -> None:
        await self._shop.clock.sleep((shown.deadline_ns - self._shop.clock.now_ns()) / 1e9 + LATE_S)
        await right(self, shown)

    return wait


def late_is_accepted(right: Any) -> Callable[..., None]:
    """Whoever answers too late is thanked all the same."""

    def state(self: OpenCards, conversation_id: str, call_id: str, state: Any, disposition: Any, reason: Any) -> None:
        if (disposition, reason) == ("rejected", "expired"):
            disposition, reason = "accepted", None
        right(self, conversation_id, call_id, state, disposition, reason)

    return state


def only_its_kind(right: Any) -> Callable[..., dict[str, Any]]:
    """The person is told that it is an edit, and not which."""

    def subject(tool_call: Mapping[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = right(tool_call)
        return {**shown, "text": shown["kind"]}

    return subject


def one_for_all(right: Any) -> Callable[..., None]:
    """An answer counts for every permission that waits, in whatever conversation."""

    def accept(self: OpenCards, frame: Any, shown: Any, result: Any) -> None:
        others = [card for card in self._open.values() if card is not shown and card.card.source == "permission"]
        right(self, frame, shown, result)
        for other in others if shown.card.source == "permission" else ():
            with self._shop.writing("result accepted") as later:
                self.close(later, other, "completed" if result.status == "completed" else "cancelled", result)

    return accept


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/any-click-allows",
        breaks="LU-02",
        text="a click on Deny gives the agent its allowing option",
        killed_by="lineup/permission/deny-is-the-agents-own-option",
        patch=lambda seam: seam.wrap(cards, "option_of", any_click_allows),
    ),
    Mutant(
        "lineup/allowed-with-the-card",
        breaks="LU-01",
        text="the agent is allowed as soon as the card is shown",
        killed_by="lineup/permission/a-click-lets-the-tool-run",
        patch=lambda seam: seam.wrap(permissions, "ask", allowed_with_the_card),
    ),
    Mutant(
        "lineup/timer-runs-late",
        breaks="LU-09",
        text="a card that nobody answers is closed ten seconds after its end",
        killed_by="lineup/clock/nobody-answers",
        patch=lambda seam: seam.wrap(OpenCards, "_wait", timer_runs_late),
    ),
    Mutant(
        "lineup/late-is-accepted",
        breaks="LU-09",
        text="an answer after the end is told to be accepted",
        killed_by=OPEN_UNTIL,
        patch=lambda seam: seam.wrap(OpenCards, "_state", late_is_accepted),
    ),
    Mutant(
        "lineup/subject-is-its-kind",
        breaks="LU-01",
        text="a card says that an edit is asked for, and not which one",
        killed_by="lineup/permission/a-click-lets-the-tool-run",
        patch=lambda seam: seam.wrap(cards, "subject", only_its_kind),
    ),
    Mutant(
        "lineup/one-answer-for-all",
        breaks="LU-15",
        text="an answer to one permission is an answer to all that wait",
        killed_by="lineup/many/two-hundred-open-cards-are-answered-once-each",
        patch=lambda seam: seam.wrap(OpenCards, "_accept", one_for_all),
    ),
]
