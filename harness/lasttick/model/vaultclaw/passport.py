"""What does the passport e-mail workflow read out of a request, and what does it write into the mail?

The server itself neither extracts nor reads a field: the mail's text names them, and the vault fills them in.
Source: contract vaultclaw 19.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.arguments import Arguments, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.routing.extract import IS, MAYBE_QUOTE, QUOTED, S, addresses, first, pattern, runs

TYPE_ID, SUBJECT_REF = "identity.passport", "self"
DEFAULT_SUBJECT = "Passport Copy and Details"
LABELS = {
    "given_name": "First Name",
    "family_name": "Last Name",
    "passport_number": "Passport Number",
    "passport_expiry_date": "Expiry Date",
    "passport_issuing_country": "Issuing Country",
}
"""The five slots, in order, with the words a person reads."""
SLOTS = tuple(LABELS)
TEXT_ORDER = ("given_name", "family_name", "passport_number", "passport_issuing_country", "passport_expiry_date")
STYLES = (
    ("formal", "formal"),
    ("casual", "casual"),
    ("concise", "concise"),
    ("brief", "concise"),
    ("detail", "detailed"),
)
"""A piece of the request text, and the style it asks for; the first one found counts."""
INTROS = {
    "formal": "Please find attached a copy of my passport, together with its details:",
    "casual": "Hi, my passport is attached. Here are the details:",
    "detailed": "A copy of my passport is attached to this message. All of its details are listed below:",
    "concise": "",
}
INTRO = "My passport is attached. Its details:"

_SUBJECT = (
    pattern(rf"\bsubject{IS}{QUOTED}"),
    pattern(rf"\bsubject{S}+{QUOTED}"),
    pattern(rf"\bsubject{S}+{MAYBE_QUOTE}{runs(10)}"),
)
"""A narrower rule than that of the routes (contract 18.2): neither "with" nor "as" nor "and body" count here."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a call asks for. `manual`: the slots given by hand, None when there is no manual_fields object."""

    recipient: str
    subject: str
    body_style: str
    document_id: str
    manual: dict[str, str] | None
    execute: bool

    @property
    def given(self) -> dict[str, str]:
        """The slots given by hand that are not empty, in slot order."""
        return {slot: value for slot, value in (self.manual or {}).items() if value}

    def with_document(self, document_id: str) -> Request:
        return Request(self.recipient, self.subject, self.body_style, document_id, self.manual, self.execute)


def read(arguments: Arguments) -> Request:
    """Raises ToolFailure: no e-mail address to send it to."""
    text = arguments.string("request_text", "request", "text")
    recipient = first_address(arguments.string("recipient_email") or text)
    if not recipient:
        raise ToolFailure(
            "MCP_RECIPIENT_REQUIRED",
            "the request names no e-mail address; expected one in recipient_email or in request_text; ask the user "
            "whom the passport goes to",
            {"next_action": "ASK_USER_FOR_RECIPIENT_EMAIL"},
        )
    manual = arguments.object("manual_fields")
    return Request(
        recipient=recipient,
        subject=arguments.string("subject") or subject_in(text) or DEFAULT_SUBJECT,
        body_style=arguments.string("body_style").lower() or style_in(text),
        document_id=arguments.string("passport_document_id"),
        manual=None if manual is None else {slot: string(manual.get(slot)) for slot in SLOTS},
        execute=arguments.boolean("execute", True),
    )


def first_address(text: str) -> str:
    """The first e-mail address in `text`; "" when there is none."""
    return next(iter(addresses(text)), "")


def subject_in(text: str) -> str:
    """The subject that the request text names, without punctuation around it; "" when it names none."""
    return trim(first(_SUBJECT, text).strip(" \t\r\n\f.,:;!?\"'"))


def style_in(text: str) -> str:
    lowered = text.lower()
    return next((style for piece, style in STYLES if piece in lowered), "")


def composed_text(body_style: str, step_id: str) -> str:
    """The mail's text, with a reference to what `step_id` read in the place of each value."""
    intro = INTROS.get(body_style, INTRO)
    lines = [f"{LABELS[slot]}: {{{{step_output:{step_id}:/values/{slot}}}}}" for slot in TEXT_ORDER]
    return "\n".join([intro, "", *lines] if intro else lines)


def pre_send_summary(request: Request) -> dict[str, Any]:
    """What the user may look at before the mail goes."""
    manual = request.manual or {}
    return {
        "recipient": request.recipient,
        "subject": request.subject,
        "fields": [{"slot": slot, "label": LABELS[slot], "value": manual.get(slot, "")} for slot in SLOTS],
        "attachment": {"type_id": TYPE_ID},
        "note": "Fields without a value here are read by the vault when the mail is written; they never pass through.",
    }


def resume_arguments(request: Request) -> dict[str, str]:
    """What the same call needs again, once the document is there."""
    return {"recipient_email": request.recipient, "subject": request.subject, "body_style": request.body_style}


def document_id_in(body: Mapping[str, Any] | None) -> str:
    """The id in an answer of the look-up of the latest document; "" when there is none."""
    body = body or {}
    item = body.get("item")
    return string(body.get("document_id")) or string(item.get("document_id") if isinstance(item, dict) else None)
