"""What scenarios about single cards have in common: an agent that wants something, and what became of its card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick_fakes.model import Call, Say
from lasttick_fakes.model.cards import choice, inputs

PATH = "notes/plan.txt"
CONTENT = "Überblick: 3 Schritte\n"
SIZE_BYTES = len(CONTENT.encode())
DANGER = "rm -r notes"
OFFERS = "HERMES_FAKE_OFFERS"
"""A variable of the fake agent: the ids of the options that it offers, in that order."""


async def wants_to_write(lineup: Any, word: str = "write") -> None:
    """To `word` the model answers with one edit, and then with a word."""
    await lineup.model.script(word, Call.one("write_file", path=PATH, content=CONTENT), Say("Well."))


async def wants_to_run(lineup: Any, word: str = "run", command: str = DANGER) -> None:
    """To `word` the model answers with a command that the agent asks about, and then with a word."""
    await lineup.model.script(word, Call.one("terminal", command=command), Say("Well."))


def written(lineup: Any) -> int | None:
    """The size in bytes of what the edit would write, measured on disk; None: it is not there."""
    place = lineup.files / PATH
    return place.stat().st_size if place.exists() else None


def asked(lineup: Any) -> list[dict[str, Any]]:
    """The permission requests that the agent sent, as its own log has them."""
    frames = [dict(event.data["frame"]) for event in lineup.agent_log("hermes.sent")]
    return [frame for frame in frames if frame.get("method") == "session/request_permission"]


def answers(lineup: Any) -> list[tuple[Any, Any]]:
    """(id, option or `cancelled`) of every answer that reached the agent, in order; all of them counted."""
    events = [event.data for event in lineup.agent_log("hermes.answered")]
    assert all(event["counts"] for event in events), f"an answer that nobody waited for: {events}"
    return [(event["rpc_id"], _outcome(event["frame"])) for event in events]


def offered(lineup: Any, number: int = 0) -> list[str]:
    """The ids of the options of a request."""
    return [option["optionId"] for option in asked(lineup)[number]["params"]["options"]]


def nothing_ran(lineup: Any) -> bool:
    """Neither an edit nor a command, by the agent's own log and by the disk."""
    return not lineup.agent_log("hermes.wrote", "hermes.ran") and written(lineup) is None


async def heard(lineup: Any) -> str:
    """The agent's next text to the default person, without the blank lines that it puts behind a tool."""
    return str((await lineup.person().text("agent")).strip())


async def shows_choice(lineup: Any, call_id: str = "pick-1", word: str = "choose", **more: Any) -> Any:
    """The default person asks, and the model answers with a choice of three: the card."""
    actions = [("study", "Study"), ("rest", "Rest"), ("other", "Other")]
    await lineup.model.script(word, choice(call_id, actions, **more))
    person = lineup.person()
    await person.say(f"please {word}")
    return await person.card()


async def shows_input(lineup: Any, fields: list[Mapping[str, Any]], call_id: str = "fill-1") -> Any:
    """The default person asks, and the model answers with an input: the card."""
    await lineup.model.script("fill", inputs(call_id, fields))
    person = lineup.person()
    await person.say("please fill")
    return await person.card()


async def answered(lineup: Any, card: Any, result: Any, status: str = "completed") -> Any:
    """Send a result, whatever it is, and wait for the adapter's word on it."""
    person, told = lineup.person(), len(card.states)
    await person.answer(card.call_id, status, result)
    return await person.told(card, told + 1)


async def prompts(lineup: Any) -> list[str]:
    """The newest user message of each of the model's requests: what the agent was prompted with."""
    requests = [asked for asked in await lineup.model.requests() if not asked.helper]
    texts = [_users(request.body["messages"])[-1] for request in requests]
    return [text for number, text in enumerate(texts) if number == 0 or text != texts[number - 1]]


def _users(messages: list[Mapping[str, Any]]) -> list[str]:
    return [str(message["content"]) for message in messages if message["role"] == "user"]


def _outcome(frame: Mapping[str, Any]) -> Any:
    outcome = frame["result"]["outcome"]
    return outcome["optionId"] if outcome["outcome"] == "selected" else outcome["outcome"]
