"""What does a reply mean? Conditions over its document, and the rules that make an outcome of them.

Source: contract laws, "Outcome".
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from lasttick.laws.profiles.profile import Condition, Outcome, Outcomes
from lasttick.laws.reply import NotFound, Reply, find

LOST_STATUS = (408, 504)
"""Somebody on the way gave up waiting: it may have happened."""
OUTCOME_OF_STATUS: Mapping[int | None, Outcome] = {
    202: "pending",
    401: "denied",
    403: "denied",
    409: "busy",
    423: "busy",
}


def matches(condition: Condition, document: Any) -> bool:
    """Whether every pointer of the condition finds what it asks for.

    A value, equal as JSON (1 is 1.0, true is not 1); a list: one of its values; {match = "regex"}: found somewhere in
    the text, or in the JSON of what is no text; {exists = true|false}.
    """
    return all(_holds(wanted, pointer, document) for pointer, wanted in condition.items())


def outcome_of(reply: Reply, *rules: Outcomes) -> Outcome:
    """What the reply means. `rules`: the verb's, then the profile's; the first condition that matches decides.

    They run on every answer, for errors hide in success. No answer is always `lost`.
    """
    if reply.lost is not None or reply.status in LOST_STATUS:
        return "lost"
    document = reply.document()
    for outcomes in rules:
        for outcome, conditions in outcomes.items():
            if any(matches(condition, document) for condition in conditions):
                return outcome
    if reply.status in OUTCOME_OF_STATUS:
        return OUTCOME_OF_STATUS[reply.status]
    return "ok" if reply.ok else "error"


def equal(found: Any, wanted: Any) -> bool:
    """JSON equality with a value that is no list and no object; true and false are no numbers."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return bool(found == wanted)


def _holds(wanted: Any, pointer: str, document: Any) -> bool:
    try:
        found = find(document, pointer)
    except NotFound:
        return wanted == {"exists": False}
    if isinstance(wanted, Mapping):
        if "exists" in wanted:
            return bool(wanted["exists"])
        return re.search(wanted["match"], _text(found)) is not None
    if isinstance(wanted, list):
        return any(equal(found, value) for value in wanted)
    return equal(found, wanted)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""  # nested too deep for a text, so no text of it is found
