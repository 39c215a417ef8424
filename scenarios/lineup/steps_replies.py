"""Replies of a model, made of parts, with what a person must see of them: the table of contract lineup C-6.

What is expected follows from how many blocks and markers were put in, so that no reader of replies judges itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lasttick_fakes.model import cards

Kind: TypeAlias = Literal["words", "block", "fenced", "invalid", "sentence", "quoted", "inside", "truncated"]
WORDS = "Wörter \N{GRINNING FACE} {und} mehr."
MARKERS: tuple[Kind, ...] = ("sentence", "quoted", "inside", "truncated")
BLOCKS: tuple[Kind, ...] = ("block", "fenced", "invalid")
REFUSED_MODE = "multi-choice not supported"


@dataclass(frozen=True, slots=True)
class Expected:
    """`texts`: what the agent says, without blanks around it. `reasons`: of the audit's refusals."""

    texts: tuple[str, ...]
    has_card: bool
    reasons: tuple[str, ...]


def part(kind: Kind, call_id: str) -> str:
    """One part of a reply, on lines of its own."""
    block = cards.choice(call_id, [("a", "A")])
    return {
        "words": WORDS,
        "block": block,
        "fenced": cards.fenced(block),
        "invalid": cards.choice(call_id, [("a", "A")], mode="multi-choice"),
        "sentence": f"A card is {block}, as you know.",
        "quoted": cards.fenced(block, "python"),
        "inside": json.dumps({"example": json.loads(block)}, ensure_ascii=False),
        "truncated": block[:-2],
    }[kind]


def reply(kinds: tuple[Kind, ...], call_id: str) -> str:
    return "\n".join(part(kind, f"{call_id}-{number}") for number, kind in enumerate(kinds))


def expected(kinds: tuple[Kind, ...], call_id: str) -> Expected:
    """A cut-off block counts as one only at the end, so `truncated` stands last."""
    blocks = [kind for kind in kinds if kind in BLOCKS]
    whole = reply(kinds, call_id)
    if any(kind in MARKERS for kind in kinds):
        return Expected(
            (whole.strip(),), False, ("truncated block" if kinds[-1] == "truncated" else "block not alone",)
        )
    rest = "\n".join(WORDS for kind in kinds if kind == "words")
    texts = (rest,) if rest else ()
    if len(blocks) > 1:
        return Expected(texts, False, ("several blocks",) * len(blocks))
    if blocks == ["invalid"]:
        return Expected(texts, False, (REFUSED_MODE,))
    return Expected(texts, blocks != [], ())


def seen(lineup: Any, where: str) -> Expected:
    """What became of the reply in a conversation."""
    said = [one.text.strip() for one in lineup.person(where).said if one.role == "agent"]
    refused = lineup.ledger.rows("tool_audit", conversation_id=where, phase="call", disposition="rejected")
    return Expected(tuple(said), bool(lineup.person(where).cards), tuple(row["reason"] for row in refused))
