"""Wrong versions of which option a click stands for, and of whether a question is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.lineup import cards, subjects
from lasttick.model.lineup.records import Option
from lasttick.mutants import Mutant
from lasttick.reference.lineup import permissions
from lasttick.reference.lineup.ledger import Ledger
from lasttick.reference.lineup.permissions import PermissionWaiter

USUAL = ("allow_once", "allow_session", "allow_always", "deny", "deny_always")


def by_kind(right: Any) -> Callable[..., Option]:
    """The action is remembered by its kind, which two options may have."""

    def option_of(asked: Any, action_id: str) -> Option:
        kind = right(asked, action_id).kind
        return next(option for option in asked.options if option.kind == kind)

    return option_of


def by_position(right: Any) -> Callable[..., Option]:
    """The first action is taken for the option that the agent usually offers first."""

    def option_of(asked: Any, action_id: str) -> Option:
        place = asked.options.index(right(asked, action_id))
        usual = sorted(asked.options, key=lambda option: USUAL.index(option.option_id))
        return usual[place]

    return option_of


def first_without_a_no(right: Any) -> Callable[..., Any]:
    """A closed card becomes a no; where the agent offers none, it becomes the first option."""

    def option_id(self: PermissionWaiter, step: Any, result: Any) -> Any:
        if step.result_status == "cancelled" and cards.reject_option(self.asked) is None:
            return self.asked.options[0].option_id
        return right(self, step, result)

    return option_id


def no_is_cancelled(right: Any) -> Callable[..., Any]:
    """A click on Deny tells the agent that nobody answered."""

    def option_id(self: PermissionWaiter, step: Any, result: Any) -> Any:
        rejecting = [option.option_id for option in self.asked.options if option.kind in cards.REJECTING]
        chosen = right(self, step, result)
        return None if chosen in rejecting else chosen

    return option_id


def zero_is_none(right: Any) -> Callable[..., Any]:
    """`if not rpc_id`: the first question of every agent looks like a notification."""

    def ask(shop: Any, open_cards: Any, process: Any, conversation_id: Any, asked: Any) -> None:
        if asked.rpc_id:
            right(shop, open_cards, process, conversation_id, asked)

    return ask


def before_the_answer(right: Any) -> Callable[..., Any]:
    """The agent gets its first option as soon as the card is shown; the click is for the books."""

    def ask(shop: Any, open_cards: Any, process: Any, conversation_id: Any, asked: Any) -> None:
        right(shop, open_cards, process, conversation_id, asked)
        if asked.options:
            process.answer(asked.rpc_id, asked.options[0].option_id, sent=lambda: None, lost=lambda: None)

    return ask


def sent_is_never_noted(right: Any) -> Callable[..., Any]:
    return lambda self, call_id: None


def only_the_title(right: Any) -> Callable[..., Any]:
    """What is shown of it is what the agent calls it."""
    return lambda tool_call: right({"kind": tool_call.get("kind"), "title": tool_call.get("title")})


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/shown-as-it-came",
        breaks="LU-01",
        text="characters that turn or hide the text around them are shown as they are",
        killed_by="lineup/permission/the-card-shows-what-will-run",
        patch=lambda seam: seam.replace(subjects, "visible", str),
    ),
    Mutant(
        "lineup/only-the-title-is-shown",
        breaks="LU-01",
        text="the card shows what the agent calls its tool call, not what it will do",
        killed_by="lineup/permission/the-card-shows-what-will-run",
        patch=lambda seam: seam.wrap(cards, "subject", only_the_title),
    ),
    Mutant(
        "lineup/allowed-before-the-click",
        breaks="LU-01",
        text="the agent gets its first option when the card is shown; what a person clicks is only written down",
        killed_by="lineup/permission/a-click-lets-the-tool-run",
        patch=lambda seam: seam.wrap(permissions, "ask", before_the_answer),
    ),
    Mutant(
        "lineup/maps-by-kind",
        breaks="LU-01",
        text="a click gives the agent the first option of the clicked one's kind",
        killed_by="lineup/permission/two-options-of-one-kind-are-two",
        patch=lambda seam: seam.wrap(cards, "option_of", by_kind),
    ),
    Mutant(
        "lineup/maps-by-position",
        breaks="LU-02",
        text="a click gives the agent the option that usually stands in that place: Deny, offered first, is Allow",
        killed_by="lineup/permission/the-order-of-the-options-is-the-agents",
        patch=lambda seam: seam.wrap(cards, "option_of", by_position),
    ),
    Mutant(
        "lineup/id-zero-is-none",
        breaks="LU-01",
        text="a permission request with id 0 is taken for a notification: no card, no answer",
        killed_by="lineup/permission/a-click-lets-the-tool-run",
        patch=lambda seam: seam.wrap(permissions, "ask", zero_is_none),
    ),
    Mutant(
        "lineup/answer-sent-is-not-noted",
        breaks="LU-01",
        text="the ledger never says that an answer was sent, so each start warns of it",
        killed_by="lineup/permission/a-click-lets-the-tool-run",
        patch=lambda seam: seam.wrap(Ledger, "answer_sent", sent_is_never_noted),
    ),
    Mutant(
        "lineup/deny-falls-back-to-first",
        breaks="LU-02",
        text="a closed card, where the agent offers no reject option, gives it its first one: it is allowed",
        killed_by="lineup/permission/a-card-that-is-closed-is-cancelled",
        patch=lambda seam: seam.wrap(PermissionWaiter, "_option_id", first_without_a_no),
    ),
    Mutant(
        "lineup/deny-is-cancelled",
        breaks="LU-02",
        text="a click on Deny gives the agent cancelled instead of the reject option that it offered",
        killed_by="lineup/permission/deny-is-the-agents-own-option",
        patch=lambda seam: seam.wrap(PermissionWaiter, "_option_id", no_is_cancelled),
    ),
]
