"""Which exchanges can be reproduced, and what is said, written, clicked and typed in them? Data; see exchanges.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["permission", "clarify", "multi"]
FILE = Path(__file__).with_name("exchanges.toml")
CONTENT_CHARS_MAX = 4_000
"""What a field of an input card takes."""


class UnknownExchange(Exception):
    """No exchange has that id, or it has no content to replace. The message has three parts."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Exchange:
    """`mutant`: the adapter with the old defect. `choose`: the id of the action that the person clicks. `content`: what
    is written or typed; None: nothing is. `final`: what the model says at last."""

    id: str
    title: str
    story: Kind
    mutant: str
    says: str
    choose: str
    final: str
    content: str | None = None
    path: str = ""
    call_ids: tuple[str, ...] = ()
    actions: tuple[tuple[str, str], ...] = ()

    @property
    def prompt(self) -> str:
        """What the person says. Without blanks at its ends, as an agent tells it to its model."""
        return self.says.replace("{content}", self.content or "").strip()

    @property
    def label(self) -> str:
        """Of the action that is clicked, where the model names it; "" for an option of the agent."""
        return dict(self.actions).get(self.choose, "")


def known() -> dict[str, Exchange]:
    document = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {id_: _read(id_, fields) for id_, fields in document.items()}


def find(exchange_id: str, content: str | None = None) -> Exchange:
    """The exchange, with other content if some is given. Raises UnknownExchange."""
    all_ = known()
    found = all_.get(exchange_id.upper())
    if found is None:
        raise UnknownExchange(
            f"no exchange {exchange_id!r}\n  expected: one of {', '.join(all_)} (contract lineup C-11)\n"
            "  next: give one of these"
        )
    if content is None:
        return found
    if found.content is None:
        with_content = ", ".join(one.id for one in all_.values() if one.content is not None)
        raise UnknownExchange(
            f"nothing is written or typed in {found.id}, so there is no content to replace\n"
            f"  expected: --content with {with_content}\n  next: leave it out"
        )
    if not content.strip() or len(content) > CONTENT_CHARS_MAX or not _is_text(content):
        raise UnknownExchange(
            f"--content is {content[:40]!r}\n  expected: a text that is not blank, of at most {CONTENT_CHARS_MAX} "
            "characters\n  next: give another one"
        )
    return replace(found, content=content)


def _read(id_: str, fields: dict[str, Any]) -> Exchange:
    call_ids = tuple(fields.pop("call_ids", ()))
    actions = tuple((action_id, label) for action_id, label in fields.pop("actions", ()))
    return Exchange(id=id_, call_ids=call_ids, actions=actions, **fields)


def _is_text(content: str) -> bool:
    try:
        content.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
