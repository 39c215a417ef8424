"""What does an entry show of what will run, and did that run? Pure. Source: contract laws, catalogue, approval/*."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lasttick.laws.said import Mark, Said

_COVERED = re.compile(r"\.\.\.|…|\*\*|\[redacted|<redacted", re.IGNORECASE)
"""How a value is shown that is too long, or secret."""


def shows(mark: Mark, value: Any) -> bool:
    """Whether the mark stands anywhere in a value of whatever shape."""
    if isinstance(value, Mapping):
        return any(shows(mark, part) for part in value.values())
    if isinstance(value, list | tuple):
        return any(shows(mark, part) for part in value)
    return mark.is_in(value)


def changed(shown: Any, ran: Any) -> dict[str, tuple[Any, Any]] | None:
    """The arguments, by name, that ran otherwise than they were shown; None where the two cannot be compared.

    `shown`: what a person saw, a table or a text that is one in JSON; arguments may be a table within it. What only one
    of the two has, and what was shown cut short or covered, says nothing.
    """
    seen, args = _table(shown), _table(ran)
    if seen is None or args is None:
        return None
    tables = (seen, *(part for part in seen.values() if isinstance(part, Mapping)))
    common = [(table[name], name) for table in tables for name in table if name in args]
    clear = [(value, name) for value, name in common if not _COVERED.search(str(value))]
    return {name: (value, args[name]) for value, name in clear if str(value) != str(args[name])} if clear else None


def promises(
    decided: Sequence[tuple[str, Said]],
    resumed: Sequence[Said],
    answer: Said | None,
    *,
    resumes: bool,
    open_until_s: float = math.inf,
) -> list[Said]:
    """What was answered ok although only what runs may be: a yes, a resume, the asker's answer to a yes.

    Where the asker has to go on (`resumes`), a yes promises nothing before that was tried, in time.
    """
    yes = [said for decision, said in decided if decision == "approve" and said.ok]
    if resumes:
        tried = [one for one in resumed if one.answered_s < open_until_s and not _is_open(one)]
        yes = [said for said in yes if any(one.sent_s >= said.answered_s for one in tried)]
        yes += [said for said in resumed if said.ok]
    asked = [said.sent_s for decision, said in decided if decision == "approve"]
    if answer is not None and answer.ok and asked and answer.answered_s > min(asked):
        yes.append(answer)
    return yes


def _is_open(said: Said) -> bool:
    """Whether it may have been taken without an answer, or not at all for another reason."""
    return said.outcome in ("lost", "error", "pending")


def _table(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None
