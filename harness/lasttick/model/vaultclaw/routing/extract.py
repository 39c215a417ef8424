"""Which inputs does a request text name? Recipients, subject, body, ids, label, limit, method, URL, documents.

Patterns are tried in order; the first match of a pattern counts if its captured part is not blank. They mean what they
mean in an engine of linear time, and each is linear here too: what a pattern scans after a place where it can begin
ends at or before the next such place. `subject ... and body` is the one that is not so by itself; see `_before_body`.
Source: contract vaultclaw 18.2.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.routing.text import collapsed, lower

S = r"[\t\n\f\r ]"
"""White space of the patterns."""
QUOTE = "['\"]"
MAYBE_QUOTE = f"{QUOTE}?"
IS = f"{S}*(?:is|=|:){S}*"
QUOTED = rf"{QUOTE}([^'\"\n]+){QUOTE}"
_STOP = r"'\"\n,.;:!?"
RUN = f"[^{_STOP}]+"


def runs(more: int) -> str:
    """A run, then up to so many more of them after white space: this lets it go over line breaks."""
    return f"({RUN}(?:{S}+{RUN}){{0,{more}}})"


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII | re.IGNORECASE)


_WITH_SUBJECT = rf"\bwith{S}+(?:the{S}+)?subject{S}+"
_BEFORE_BODY = (pattern(_WITH_SUBJECT + MAYBE_QUOTE), pattern(rf"\bsubject{S}+{MAYBE_QUOTE}"))
_AND_BODY = pattern(rf"(?:{QUOTE}{S}+|(?<![\t\n\f\r '\"]){S}+)and{S}+(?:message{S}+)?body\b")
_END_OF_RUN = re.compile(f"[{_STOP}]")
_SUBJECT = [
    pattern(rf"\bsubject{IS}{QUOTED}"),
    pattern(rf"\bsubject{S}+as{S}+{MAYBE_QUOTE}({RUN})"),
    pattern(rf"\bsubject{S}+to{S}+be{S}+{MAYBE_QUOTE}({RUN})"),
]
_SUBJECT_AT_LAST = [
    pattern(rf"\bsubject{S}+{QUOTED}"),
    pattern(_WITH_SUBJECT + QUOTED),
    pattern(_WITH_SUBJECT + MAYBE_QUOTE + runs(10)),
]
_BODY = [
    pattern(rf"\bbody{IS}{QUOTED}"),
    pattern(rf"\bbody{IS}{MAYBE_QUOTE}{runs(24)}"),
    pattern(rf"\bbody{S}+to{S}+(?:have|say|include){S}+{MAYBE_QUOTE}([^'\"\n]+)"),
    pattern(rf"\bbody{S}+{QUOTED}"),
    pattern(rf"\bbody{S}+{MAYBE_QUOTE}{runs(24)}"),
    pattern(rf"\bwith{S}+(?:message{S}+)?body{S}+{QUOTED}"),
]
_ID = r"([a-z0-9_\-]+)"
_MESSAGE_ID, _THREAD_ID = (
    [
        pattern(rf"\b{name}(?:_|{S}|-)?id{IS}{_ID}"),
        pattern(rf"\b{name}{S}+([a-z0-9_\-]{{8,}})\b"),
    ]
    for name in ("message", "thread")
)
_LABEL = [pattern(rf"\blabel{IS}{MAYBE_QUOTE}{_ID}")]
_LIMIT = [
    pattern(rf"\b(?:first|top|last){S}+([0-9]{{1,3}})\b"),
    pattern(rf"\b([0-9]{{1,3}}){S}+(?:emails|messages)\b"),
]
_METHOD = [pattern(r"\b(GET|POST|PUT|PATCH|DELETE)\b")]
_URL = [pattern(r"\b(https?://[^\t\n\f\r '\"<>]+)")]
_ADDRESS = pattern(r"\b[a-z0-9._%+\-]++(@[a-z0-9.\-]+\.[a-z]{2,}\b)?")
"""Takes every run that an address could begin with, so that none is scanned twice; without the group it is none."""

DOCUMENTS: dict[str, str] = {
    "passport": "identity.passport",
    "passport copy": "identity.passport",
    "passport scan": "identity.passport",
    "drivers license": "identity.drivers_license",
    "driver license": "identity.drivers_license",
    "birth certificate": "identity.birth_certificate",
    "social security card": "identity.social_security_card",
}
"""What people call a document, and its type."""
_NO_ALIAS = re.compile("[^a-z0-9\t\n\f\r ]+")


def inputs_of(text: str) -> dict[str, Any]:
    """The inputs that the text names. Lists for `to` and `document_attachments`, an int for `page_limit`."""
    text = trim(text)
    low = lower(text)
    limit = int(first(_LIMIT, text) or 0)
    found: dict[str, Any] = {
        "to": addresses(text),
        "subject": subject_of(text),
        "text_plain": first(_BODY, text),
        "message_id": first(_MESSAGE_ID, text),
        "thread_id": first(_THREAD_ID, text),
        "label": lower(first(_LABEL, text)) or ("inbox" if "inbox" in low else ""),
        "page_limit": limit,
        "method": first(_METHOD, text).upper(),
        "url": first(_URL, text),
        "document_attachments": attachments(low),
    }
    return {name: value for name, value in found.items() if value}


def first(patterns: Iterable[re.Pattern[str]], text: str) -> str:
    """What the first of them captures that captures anything, trimmed; "" when none does."""
    for one in patterns:
        if (found := one.search(text)) and (part := trim(found[1])):
            return part
    return ""


def subject_of(text: str) -> str:
    """The subject by the eight patterns, in their order."""
    with_subject, subject = _BEFORE_BODY
    return (
        _before_body(with_subject, text)
        or first(_SUBJECT, text)
        or _before_body(subject, text)
        or first(_SUBJECT_AT_LAST, text)
    )


def addresses(text: str) -> list[str]:
    """E-mail addresses, distinct in any case, the first spelling kept."""
    found: dict[str, str] = {}
    for match in _ADDRESS.finditer(text):
        if match[1]:
            found.setdefault(match[0].lower(), match[0])
    return list(found.values())


def attachments(low: str) -> list[dict[str, str]]:
    """The documents that a text in lower case names, each type once, longest alias first."""
    plain = collapsed(_NO_ALIAS.sub(" ", low))
    types = (DOCUMENTS[alias] for alias in sorted(DOCUMENTS, key=lambda name: (-len(name), name)) if alias in plain)
    return [{"type_id": type_id} for type_id in dict.fromkeys(types)]


def _before_body(head: re.Pattern[str], text: str) -> str:
    """The shortest run between `head` and `and body`, where a run ends at a quote, a line break or punctuation.

    A plain pattern would scan one long run again from every word "subject" in it: here each run and each `and body` is
    found once.
    """
    tails = [tail.start() for tail in _AND_BODY.finditer(text)]
    run_end = -1
    for found in head.finditer(text) if tails else ():
        start = found.end()
        if start > run_end:
            stop = _END_OF_RUN.search(text, start)
            run_end = stop.start() if stop else len(text)
        at = bisect_right(tails, start)
        if at < len(tails) and tails[at] <= run_end and (part := trim(text[start : tails[at]])):
            return part
    return ""
