"""Wrong answers to an agent that asks for what nobody serves. Source: contract lineup "Parts" (ACP client), C-9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.lineup import cards
from lasttick.model.lineup.records import PermissionAsked
from lasttick.mutants import Mutant
from lasttick.reference.lineup import acp_filter
from lasttick.reference.lineup.acp_filter import Dropped, UnreadablePermission, Unsupported

WILD = "lineup/wild-agent/every-wrong-line-has-its-one-answer"


def terminal_succeeds(right: Any) -> Callable[[Unsupported], dict[str, Any]]:
    """As the library does by itself: a terminal that nobody made."""

    def answer(request: Unsupported) -> dict[str, Any]:
        if request.method == "terminal/create":
            return {"jsonrpc": "2.0", "id": request.rpc_id, "result": None}
        return right(request)

    return answer


def as_the_library_words_it(request: Unsupported) -> dict[str, Any]:
    error = {"code": acp_filter.UNSUPPORTED, "message": "Method not found", "data": {"method": request.method}}
    return {"jsonrpc": "2.0", "id": request.rpc_id, "error": error}


def dropped(right: Any) -> Callable[[bytes], Any]:
    """A permission that cannot be read is not answered."""

    def read(data: bytes) -> Any:
        heard = right(data)
        return Dropped(heard.reason) if isinstance(heard, UnreadablePermission) else heard

    return read


def unknown_is_known(right: Any) -> Callable[[bytes], Any]:
    """An update that nobody knows passes without a record."""

    def read(data: bytes) -> Any:
        heard = right(data)
        if isinstance(heard, acp_filter.Update) and not heard.kind_is_known:
            return acp_filter.Update(heard.session_id, heard.update, True)
        return heard

    return read


def options_once(right: Any) -> Callable[..., Any]:
    """Of options with one id the last counts, whatever the person was shown."""

    def card(asked: PermissionAsked, *given: Any) -> Any:
        options = tuple({option.option_id: option for option in asked.options}.values())
        return right(PermissionAsked(asked.rpc_id, asked.session_id, options, asked.tool_call, asked.read_ns), *given)

    return card


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/terminal-create-succeeds",
        breaks="LU-11",
        text="terminal/create is answered with success and null, as the library does by itself",
        killed_by=WILD,
        patch=lambda seam: seam.wrap(acp_filter, "unsupported", terminal_succeeds),
    ),
    Mutant(
        "lineup/unsupported-as-the-library-words-it",
        breaks="LU-11",
        text="an unsupported request is refused in other words than those of the contract",
        killed_by=WILD,
        patch=lambda seam: seam.replace(acp_filter, "unsupported", as_the_library_words_it),
    ),
    Mutant(
        "lineup/unreadable-permission-is-dropped",
        breaks="LU-11",
        text="a permission that cannot be read gets no answer",
        killed_by=WILD,
        patch=lambda seam: seam.wrap(acp_filter, "read_message", dropped),
    ),
    Mutant(
        "lineup/unknown-update-leaves-no-record",
        breaks="LU-11",
        text="an update of an unknown kind is passed over without a record",
        killed_by=WILD,
        patch=lambda seam: seam.wrap(acp_filter, "read_message", unknown_is_known),
    ),
    Mutant(
        "lineup/repeated-options-are-merged",
        breaks="LU-11",
        text="a permission with one option id twice is shown, with one of the two",
        killed_by=WILD,
        patch=lambda seam: seam.wrap(cards, "permission_card", options_once),
    ),
]
