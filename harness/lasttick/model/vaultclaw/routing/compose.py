"""What subject and body does a mail get that names none? Facts, then phrases, then the document it carries.

Source: contract vaultclaw 18.5, steps 1 to 7; ruling 6 puts the attachment's body before the follow-up.
"""

from __future__ import annotations

from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.routing.extract import MAYBE_QUOTE, S, pattern, runs
from lasttick.model.vaultclaw.routing.request import FROM_FACTS, Inputs, Request
from lasttick.model.vaultclaw.routing.text import cleaned, has_phrase
from lasttick.model.vaultclaw.routing.weather import Weather

FROM_TEXT = "nl_heuristic"
FROM_ATTACHMENT = "attachment_default"
SUBJECT_BYTES_MAX = 70
BODY_BYTES_MAX = 220
TO_BE_WRITTEN = (
    "weather",
    "recipe",
    "how to",
    "instructions",
    "instruction",
    "summarize",
    "summary",
    "explain",
    "answer",
    "steps",
    "step by step",
)
"""Phrases by which a request asks for a text that somebody has yet to write."""

_ABOUT = pattern(rf"\b(?:about|regarding|re){S}+{MAYBE_QUOTE}{runs(10)}")
_SAYING = pattern(rf"\b(?:saying|that){S}+{MAYBE_QUOTE}([^'\"\n]+)")


def compose(request: Request, inputs: Inputs) -> None:
    """Fills `subject` and `text_plain` where they are empty."""
    document = document_name(inputs)
    wait_for_body = not inputs.has("text_plain") and body_deferred(request)
    _subject(request, inputs, document, wait_for_body)
    inputs.fill("text_plain", body_of_facts(request), FROM_FACTS, "composed from the facts of the context")
    if not wait_for_body and not inputs.has("text_plain"):
        body, source = body_of_text(request.text, inputs.text("subject"), document)
        inputs.fill("text_plain", body, source, "composed from what the request says")


def _subject(request: Request, inputs: Inputs, document: str, wait_for_body: bool) -> None:
    inputs.fill("subject", request.fact_text("email_subject"), FROM_FACTS, "the subject among the facts")
    if not inputs.has("subject") and (about := _ABOUT.search(request.text)):
        inputs.fill("subject", cleaned(about[1], SUBJECT_BYTES_MAX), FROM_TEXT, "the topic that the request names")
    if document and not wait_for_body:
        inputs.fill("subject", f"Document: {document}", FROM_ATTACHMENT, "the document that is attached")
    if request.weather.asked:
        inputs.fill("subject", weather_subject(request.weather), FROM_TEXT, "the weather that the request asks for")


def body_deferred(request: Request) -> bool:
    """Whether the body is for somebody else to write, so that nothing may be made up here."""
    if request.weather.asked and not request.weather_summary:
        return True
    return any(has_phrase(request.normal, phrase) for phrase in TO_BE_WRITTEN)


def weather_subject(weather: Weather) -> str:
    place = f" for {weather.place}" if weather.place else ""
    return f"Weather update{place}" + (" (tomorrow)" if weather.time == "tomorrow" else "")


def body_of_facts(request: Request) -> str:
    """The body that the facts give; "" when they give none. A weather summary counts also when nobody asked."""
    if body := request.fact_text("email_body"):
        return body
    summary, weather = request.weather_summary, request.weather
    return f"Weather for {weather.place} ({weather.time}): {summary}" if summary and weather.place else summary


def body_of_text(text: str, subject: str, document: str) -> tuple[str, str]:
    """A body without facts, and its source; ("", ...) for none."""
    found = _SAYING.search(text)
    said = trim(found[1]) if found else ""
    if body := cleaned(said, BODY_BYTES_MAX):
        return body, FROM_TEXT
    return default_body(subject, document, blocked=bool(said))


def default_body(subject: str, document: str, *, blocked: bool) -> tuple[str, str]:
    """The body of a request that gives no words for it. `blocked`: it gave some, of which nothing was left."""
    if document:
        return f"Attached is my {document.lower()}.", FROM_ATTACHMENT
    return (f"Following up regarding {subject}." if subject and not blocked else ""), FROM_TEXT


def document_name(inputs: Inputs) -> str:
    """What the first document is called in a sentence; "" when there is none."""
    documents = inputs.values.get("document_attachments") or [{"type_id": ""}]
    last = documents[0]["type_id"].rpartition(".")[2]
    return " ".join(word.capitalize() for word in last.replace("_", " ").replace("-", " ").split())
