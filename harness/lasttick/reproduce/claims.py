"""What must an exchange show, with the old defect and without it? The two columns of the contract's table, as code.

Nothing here knows the recorded texts: what is expected comes from the exchange that was played. Source: lineup C-11.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lasttick.model.lineup.cards import MULTI_CHOICE
from lasttick.model.lineup.frames import TOOL_CALL
from lasttick.model.lineup.instructions import RESPONSE_TIMEOUT
from lasttick.model.lineup.results import INVALID_INTERACTION, INVALID_TOOL
from lasttick.reproduce.exchanges import Exchange
from lasttick.reproduce.kept import Side
from lasttick.reproduce.reader import CallEvidence


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    holds: bool


Judge: TypeAlias = Callable[[Exchange, Side], list[Claim]]


def broken(exchange: Exchange, side: Side) -> list[Claim]:
    """What the adapter with the old defect must have done."""
    return _BROKEN[exchange.story](exchange, side)


def fixed(exchange: Exchange, side: Side) -> list[Claim]:
    """What the adapter without it must have done."""
    return _FIXED[exchange.story](exchange, side)


def verdicts(call: CallEvidence) -> list[str]:
    """`call/accepted`, `result/rejected: reason`, ..."""
    return [f"{row.phase}/{row.disposition}" + ("" if row.reason is None else f": {row.reason}") for row in call.audit]


def states(call: CallEvidence) -> str:
    return call.call_state if call.interaction_state is None else f"{call.call_state}/{call.interaction_state}"


def _permission_broken(exchange: Exchange, side: Side) -> list[Claim]:
    call, before = _only(side.calls), _only(side.before)
    said = verdicts(call) if call else []
    return [
        Claim("the card was accepted", said[:1] == ["call/accepted"]),
        Claim(
            "the click was rejected",
            len(said) > 1 and all(one.startswith(f"result/rejected: {INVALID_INTERACTION}") for one in said[1:]),
        ),
        Claim("the card stayed open", before is not None and states(before) == "emitted/pending"),
        Claim(f"the person was told {RESPONSE_TIMEOUT!r}", RESPONSE_TIMEOUT in _texts(side, "system")),
        Claim("the restart aborted it", call is not None and states(call) == "aborted/aborted"),
        Claim("nothing was allowed and no file is there", side.answers in ([], ["cancelled"]) and not side.files),
    ]


def _permission_fixed(exchange: Exchange, side: Side) -> list[Claim]:
    call = _only(side.calls)
    said = verdicts(call) if call else []
    option = call.options.get(exchange.choose) if call else None
    size = len((exchange.content or "").encode())
    return [
        Claim("the card is completed and resolved", call is not None and states(call) == "completed/resolved"),
        Claim("the click was accepted", said[:2] == ["call/accepted", "result/accepted"]),
        Claim(
            "the agent got the option behind the click, once",
            option is not None and side.answers == [option] and call is not None and call.outcome == option,
        ),
        Claim(f"the file has the {size} bytes that were asked for", side.files == {exchange.path: size}),
        Claim("the model was told so many bytes", call is not None and call.bytes_written == size),
        Claim("a second click was rejected", said[2:] == ["result/rejected: already resolved"]),
        Claim("nobody was told of a time-out", RESPONSE_TIMEOUT not in _texts(side, "system")),
    ]


def _clarify_broken(exchange: Exchange, side: Side) -> list[Claim]:
    first, second = _two(side.calls)
    said = verdicts(second) if second else []
    return [
        Claim("the first card is completed", first is not None and first.call_state == "completed"),
        Claim("the second was accepted", said[:1] == ["call/accepted"]),
        Claim("its answer was rejected", len(said) == 2 and said[1].startswith(f"result/rejected: {INVALID_TOOL}")),
        Claim("it stayed open", second is not None and second.call_state == "emitted"),
        Claim("the model was not told", second is not None and second.result_prompts == 0),
    ]


def _clarify_fixed(exchange: Exchange, side: Side) -> list[Claim]:
    both = [call for call in _two(side.calls) if call is not None]
    final = (_texts(side, "agent") or [""])[-1]
    return [
        Claim("both cards are completed", [call.call_state for call in both] == ["completed"] * 2),
        Claim("both answers were accepted", [verdicts(call)[1:] for call in both] == [["result/accepted"]] * 2),
        Claim("the model was told each once", [call.result_prompts for call in both] == [1, 1]),
        Claim("the final text names the choice", exchange.label != "" and exchange.label in final),
        Claim("the final text names what was typed", exchange.content is not None and exchange.content in final),
    ]


def _multi_broken(exchange: Exchange, side: Side) -> list[Claim]:
    call = _only(side.calls)
    return [
        Claim("the card was accepted", call is not None and verdicts(call) == ["call/accepted"]),
        Claim(
            "its row is emitted, of mode multi-choice",
            call is not None and (call.call_state, call.mode) == ("emitted", "multi-choice"),
        ),
        Claim("the host got it", len(_multi_cards(side)) == 1),
    ]


def _multi_fixed(exchange: Exchange, side: Side) -> list[Claim]:
    """Rows that are there were left by an older adapter: their last answers were tail answers."""
    tails = [[one for one in verdicts(call) if one.startswith("result/")] for call in side.calls]
    refused = side.refused[0].message_seq if side.refused else None
    system, agent = _texts(side, "system"), _texts(side, "agent")
    return [
        Claim("the insisting model's card was refused", [row.reason for row in side.refused] == [MULTI_CHOICE]),
        Claim(
            "no row came of it",
            refused is not None
            and all(call.card_seq is not None and call.card_seq < refused for call in side.calls)
            and all(call.call_state != "emitted" for call in side.calls),
        ),
        Claim("the host got no card", side.got(TOOL_CALL) == []),
        Claim("the person was told why", any(MULTI_CHOICE in text for text in system)),
        Claim("the other model's words were shown", agent[-1:] == [exchange.final]),
        Claim(
            "the answer to an old card was rejected",
            all(len(tail) == 1 and tail[0].startswith("result/rejected") for tail in tails),
        ),
    ]


def _multi_cards(side: Side) -> list[object]:
    cards = [card["data"].get("action_group", {}) for card in side.got(TOOL_CALL)]
    return [group for group in cards if group.get("mode") == "multi-choice"]


def _texts(side: Side, role: str) -> list[str]:
    return [one.text for one in side.said if one.role == role]


def _only(calls: list[CallEvidence]) -> CallEvidence | None:
    return calls[0] if len(calls) == 1 else None


def _two(calls: list[CallEvidence]) -> tuple[CallEvidence | None, CallEvidence | None]:
    return (calls[0], calls[1]) if len(calls) == 2 else (None, None)


_BROKEN: Mapping[str, Judge] = {"permission": _permission_broken, "clarify": _clarify_broken, "multi": _multi_broken}
_FIXED: Mapping[str, Judge] = {"permission": _permission_fixed, "clarify": _clarify_fixed, "multi": _multi_fixed}
