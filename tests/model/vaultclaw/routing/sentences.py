"""A grammar of requests: each sentence comes with the parts it was made of, so that a test can rename one part.

The parts are drawn from words that no rule knows: no keyword (a host called mail adds to a score), no time word,
no phrase that defers a body.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

NAMES = ("ada", "grace", "linus", "barbara", "edsger", "katherine")
HOSTS = ("example.com", "corp.test", "sub.domain.example")
PLACES = ("boston", "oslo", "rome", "cape town", "new york", "st johns")
TOPICS = ("Quarterly figures", "the garden", "Lunch on Friday", "roof and chimney", "Budget 2027", "old bicycles")
SAYINGS = ("see you soon", "all went well", "Dinner at eight", "please call me back")
TIMES = ("today", "tomorrow", "tonight", "this weekend", "this week", "next week")
ACTIONS = ("send email", "send an email", "please send an email", "send a gmail email")


@dataclass(frozen=True)
class Mail:
    """One request for a mail. Empty parts are left out of the sentence."""

    action: str
    recipient: str
    topic: str = ""
    saying: str = ""

    def __str__(self) -> str:
        topic = f" about {self.topic}," if self.topic else ""
        saying = f" saying {self.saying}" if self.saying else ""
        return f"{self.action} to {self.recipient}{topic}{saying}"


@dataclass(frozen=True)
class Forecast:
    """One request for a mail with the weather. `time_first`: the time word stands before "weather", if there is one."""

    action: str
    recipient: str
    place: str
    time: str = ""
    time_first: bool = False

    def __str__(self) -> str:
        before = f"{self.time}'s " if self.time and self.time_first else ""
        after = f" {self.time}" if self.time and not self.time_first else ""
        return f"{self.action} to {self.recipient} with {before}weather in {self.place}{after}"


recipients = st.builds(lambda name, host: f"{name}@{host}", st.sampled_from(NAMES), st.sampled_from(HOSTS))
topics = st.sampled_from(TOPICS)
sayings = st.sampled_from(SAYINGS)
places = st.sampled_from(PLACES)
actions = st.sampled_from(ACTIONS)

mails = st.builds(Mail, actions, recipients, topics | st.just(""), sayings | st.just(""))
forecasts = st.builds(Forecast, actions, recipients, places, st.sampled_from((*TIMES, "")), st.booleans())

LOOSE = (
    *("with", "the", "subject", "and", "message", "body", "is", "=", ":", "as", "to", "be", "have", "x", "Y z"),
    *(" ", "  ", "\n", "\t", "'", '"', ",", ".", "saying", "about", "email", "send", "weather in", "passport"),
)
"""Pieces of which odd texts are made, for rules that must hold for any text."""
loose_texts = st.lists(st.sampled_from(LOOSE), max_size=30).map("".join) | st.lists(
    st.sampled_from(LOOSE), max_size=20
).map(" ".join)
any_texts = loose_texts | st.text(max_size=60)
