"""Steps of the route stories: sentences made of parts, cookbooks to find by search, and one way to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

A = "send email to a@example.com"
SEND = "google.gmail.send_email.v1"
SUMMARY = "Tomorrow in Boston: 58F with morning showers."

PLACES = ("boston", "new york", "st johns", "oslo")
TIMES = ("today", "tomorrow", "tonight", "this weekend", "this week", "next week")
TOPICS = ("Quarterly figures", "the garden", "old bicycles")
SAYINGS = ("all went well", "Dinner at eight", "see you soon")
RECIPIENTS = ("ada@example.com", "grace@corp.test", "l.t+x@sub.example.org")
FACTS: dict[str, Any] = {
    "email_subject": "A subject",
    "email_body": "A body",
    "weather_summary": SUMMARY,
    "url": "https://api.example.com/v1",
}


@dataclass(frozen=True)
class Mail:
    """A request for a mail, in its parts: no part has a word that any route knows."""

    recipient: str
    topic: str
    saying: str

    def __str__(self) -> str:
        return f"send email to {self.recipient} about {self.topic}, saying {self.saying}"


@dataclass(frozen=True)
class Forecast:
    """A request for a mail with the weather. `first`: the time word stands before "weather"."""

    recipient: str
    place: str
    time: str = ""
    first: bool = False

    def __str__(self) -> str:
        before = f"{self.time}'s " if self.time and self.first else ""
        after = f" {self.time}" if self.time and not self.first else ""
        return f"send email to {self.recipient} with {before}weather in {self.place}{after}"


recipients = st.sampled_from(RECIPIENTS)
topics = st.sampled_from(TOPICS)
places = st.sampled_from(PLACES)
sayings = st.sampled_from(SAYINGS)
mails = st.builds(Mail, recipients, topics, sayings)
forecasts = st.builds(Forecast, recipients, places, st.sampled_from((*TIMES, "")), st.booleans())

LOOSE = (
    *(
        "send",
        "email",
        "gmail",
        "draft",
        "reply",
        "list",
        "inbox",
        "label: work",
        "messages",
        "top 5",
        "message_id=m-1",
    ),
    *(
        "with subject Hi and body Yo",
        "with the subject",
        "'it, all'",
        "body",
        "and",
        "about cars",
        "saying ho",
        "that ,",
    ),
    *("passport", "birth certificate", "fields", "a@b.com", "c@d.org", "weather in oslo", "tomorrow", "summary", "\n"),
    *("call the api", "http", "https://x.example/y", "POST", "what time is it", ",", "İ", "naïve"),
)
"""Of which sentences are made that nobody would say."""
loose = st.lists(st.sampled_from(LOOSE), max_size=9).map(lambda pieces: " ".join(("please", *pieces)))
sentences = st.one_of(mails.map(str), forecasts.map(str), loose)


async def resolve(client: Any, text: Any, facts: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The data of route_resolve, which never fails for a text."""
    given = {**more, **({} if facts is None else {"context": {"facts": facts}})}
    answer = await client.call("route_resolve", request_text=str(text), **given)
    assert answer.meta == {
        "request_id": "",
        "vault_http_status": 0,
        "vault_code": "",
        "resolver": "registry+search.v1",
    }
    data: dict[str, Any] = answer.data
    return data


def fact_requests(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By input: the facts that the answer asks the caller's agent to find."""
    guidance = data["missing_input_guidance"] or []
    return {one["input_key"]: one["external_fact_request"] for one in guidance if "external_fact_request" in one}


def template(entry_id: str, connector_id: str, bindings: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A verb template, whose bindings are given without their target."""
    return {
        "entry_id": entry_id,
        "entry_type": "template.verb.v1",
        "connector_id": connector_id,
        "base_request": {"connector_id": connector_id, "verb": "do.v1", "request": {}},
        "bindings": [{"target_path": f"/request/{one['input_key']}", **one} for one in bindings],
        **more,
    }


async def shelve(client: Any, cookbook_id: str, *entries: dict[str, Any], version: str = "1.0.0") -> None:
    """Put a cookbook into the server's catalog."""
    bundle = {
        "type": "accords.cookbook.bundle.v1",
        "cookbook_id": cookbook_id,
        "version": version,
        "title": "Stored by a story",
        "entries": list(entries),
    }
    stored = await client.call("cookbook_upsert", bundle=bundle)
    assert stored.ok, stored.envelope
