"""A permission that the agent asks for: what is shown, what the click does, and what it does not.

Source: contract lineup, rules 1 to 3; C-2, C-4, C-9; seed, A04A-09.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model import Call, Say

from .steps_cards import (
    CONTENT,
    OFFERS,
    PATH,
    SIZE_BYTES,
    answers,
    asked,
    heard,
    nothing_ran,
    offered,
    wants_to_run,
    wants_to_write,
    written,
)

VERSIONS = pytest.mark.parametrize("version", ["0.17.0", "0.19.0"])
COMMAND_OPTIONS = ("allow_once", "allow_session", "allow_always", "deny", "deny_always")


@scenario("LU-01")
@VERSIONS
async def test_a_click_lets_the_tool_run(world: World, version: str) -> None:
    """Nothing is on disk before the click, and all of it after. The agent hears the option that it offered, under the
    id that it asked with, which is 0 for its first; the ledger says resolved, completed, accepted, sent."""
    lineup = await world.lineup(hermes_version=version)
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()

    assert written(lineup) is None
    assert card.tool == "choice"
    assert card.actions == {"action_01": "Allow edit", "action_02": "Deny"}
    subject = card.data["subject"]
    assert subject["kind"] == "edit"
    assert not subject["truncated"]
    assert PATH in subject["text"]
    assert json.dumps(CONTENT, ensure_ascii=False)[1:-1] in subject["text"]
    assert lineup.ledger.pair(card.call_id) == "emitted/pending"
    assert lineup.ledger.interaction(card.call_id)["rpc_id"] == 0
    await world.advance(world.ttl_s / 3)
    assert nothing_ran(lineup)
    assert answers(lineup) == []

    await person.click(card, "Allow edit")
    assert await heard(lineup) == "Well."
    assert written(lineup) == SIZE_BYTES
    assert (lineup.files / PATH).read_text(encoding="utf-8") == CONTENT
    assert answers(lineup) == [(0, "allow_once")]
    assert (card.state, card.disposition) == ("completed", "accepted")
    _is_settled(lineup, card, "allow_once")

    again = await _next_card(lineup)
    assert lineup.ledger.interaction(again.call_id)["rpc_id"] == 1
    assert again.call_id != card.call_id
    assert lineup.problems == []


@scenario("LU-01")
@pytest.mark.parametrize("choice", range(3))
async def test_two_options_of_one_kind_are_two(world: World, choice: int) -> None:
    """Of a command the agent offers two options of kind allow_always: the agent gets the one that was clicked, and what
    that one means: the next command of the class is asked about after allow_once only."""
    lineup = await world.lineup()
    await wants_to_run(lineup)
    person = lineup.person()
    await person.say("please run")
    card = await person.card()
    assert offered(lineup) == list(COMMAND_OPTIONS)
    assert list(card.actions.values()) == [one["name"] for one in asked(lineup)[0]["params"]["options"]]
    await person.click(card, list(card.actions)[choice])
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, COMMAND_OPTIONS[choice])]
    assert len(lineup.agent_log("hermes.ran")) == 1
    _is_settled(lineup, card, COMMAND_OPTIONS[choice])

    await person.say("run it once more")
    if COMMAND_OPTIONS[choice] == "allow_once":
        await person.card()
    else:
        assert await heard(lineup) == "Well."
        assert len(person.cards) == 1
    assert ("allow" in (lineup.options.hermes_home / "config.yaml").read_text()) == (choice == 2)


@scenario("LU-01")
async def test_the_card_shows_what_will_run(world: World) -> None:
    """A path that reads backwards, a command with a line break and an escape sequence, a text too long for a card:
    the person sees each such character as its escape, and whether something was left away."""
    lineup = await world.lineup()
    path, command = "notes/\u202etxt.exe", "rm -r notes\n\x1b[2K echo harmless"
    await wants_to_run(lineup, command=command)
    for word, place, content in (("path", path, "x"), ("long", PATH, "y" * 5000)):
        await lineup.model.script(word, Call.one("write_file", path=place, content=content), Say("Well."))
    person = lineup.person()
    shown = {}
    for word in ("path", "run", "long"):
        await person.say(f"the {word}")
        card = await person.card()
        shown[word] = card.data["subject"]
        told = f"{card.title}{card.prompt}{shown[word]['text']}{''.join(card.actions.values())}"
        assert told.isprintable(), told
        await person.click(card, "Deny")
        assert await heard(lineup) == "Well."
    assert "notes/\\u202etxt.exe" in shown["path"]["text"]
    assert "rm -r notes\\n\\u001b[2K echo harmless" in shown["run"]["text"]
    assert [shown[word]["kind"] for word in shown] == ["edit", "execute", "edit"]
    assert [shown[word]["truncated"] for word in shown] == [False, False, True]
    assert "y" * 3000 in shown["long"]["text"]
    assert nothing_ran(lineup)


@scenario("LU-01", "LU-02")
@pytest.mark.parametrize("allows", [True, False])
async def test_the_order_of_the_options_is_the_agents(world: World, allows: bool) -> None:
    """An agent that offers deny first: the card shows it so, and each click gives the option under it, not the one that
    usually stands there."""
    lineup = await world.lineup(agent_environ={OFFERS: "deny,allow_once"})
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    assert list(card.actions.values()) == ["Deny", "Allow edit"]
    await person.click(card, "Allow edit" if allows else "Deny")
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, "allow_once" if allows else "deny")]
    assert written(lineup) == (SIZE_BYTES if allows else None)


@scenario("LU-01", "LU-02")
async def test_two_permissions_at_once_are_two_cards(world: World) -> None:
    """Two edits are asked about at once, ids 0 and 1. The second is denied and then the first allowed: each answer goes
    to its own question, and one file is there."""
    lineup = await world.lineup()
    calls = tuple(("write_file", {"path": path, "content": CONTENT}) for path in (PATH, "notes/other.txt"))
    await lineup.model.script("both", Call(calls), Say("Well."))
    person = lineup.person()
    await person.say("please do both")
    first, second = await person.card(), await person.card()
    assert PATH in first.data["subject"]["text"]
    assert "notes/other.txt" in second.data["subject"]["text"]
    await person.click(second, "Deny")
    await person.closed(second)
    assert first.enabled
    assert written(lineup) is None
    await person.click(first, "Allow edit")
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(1, "deny"), (0, "allow_once")]
    assert written(lineup) == SIZE_BYTES
    assert not (lineup.files / "notes/other.txt").exists()


@scenario("LU-02")
@VERSIONS
@pytest.mark.parametrize("what", ["edit", "command"])
async def test_deny_is_the_agents_own_option(world: World, version: str, what: str) -> None:
    """A click on Deny gives the agent the reject option that it offered; no file is written and no command runs, and a
    click on Allow afterwards changes nothing."""
    lineup = await world.lineup(hermes_version=version)
    await wants_to_write(lineup)
    await wants_to_run(lineup)
    person = lineup.person()
    await person.say("please write" if what == "edit" else "please run")
    card = await person.card()
    await person.click(card, "Deny")
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, "deny")]
    _is_settled(lineup, card, "deny")

    await person.click(card, next(label for label in card.actions.values() if label.startswith("Allow")))
    late = await person.told(card, 2)
    assert (late.state, late.disposition, late.reason) == ("completed", "rejected", "already resolved")
    await world.advance(1.5 * world.ttl_s)
    assert answers(lineup) == [(0, "deny")]
    assert nothing_ran(lineup)


@scenario("LU-02")
@pytest.mark.parametrize("offers", ["allow_once,deny", "allow_once"])
async def test_a_card_that_is_closed_is_cancelled(world: World, offers: str) -> None:
    """The person closes the card: the agent hears cancelled, also an agent that offers no way to say no, and nothing is
    written. No option was chosen, so none is sent."""
    lineup = await world.lineup(agent_environ={OFFERS: offers})
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    assert len(card.actions) == offers.count(",") + 1
    await person.dismiss(card)
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, "cancelled")]
    assert nothing_ran(lineup)
    _is_settled(lineup, card, "cancelled", status="cancelled")


@scenario("LU-02")
async def test_an_agent_that_offers_nothing_is_cancelled_at_once(world: World) -> None:
    """A question without an option is no card: the agent hears cancelled, the audit says why, nothing is written."""
    lineup = await world.lineup(agent_environ={OFFERS: ""})
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    assert await heard(lineup) == "Well."
    assert person.cards == []
    assert answers(lineup) == [(0, "cancelled")]
    assert nothing_ran(lineup)
    (refused,) = lineup.ledger.rows("tool_audit")
    assert (refused["phase"], refused["disposition"], refused["reason"]) == ("call", "rejected", "no options")
    assert lineup.ledger.calls == []
    assert lineup.ledger.interactions == []


async def _next_card(lineup: Any) -> Any:
    """Of a second edit in the same conversation."""
    person = lineup.person()
    await person.say("write it again")
    return await person.card()


def _is_settled(lineup: Any, card: Any, outcome: str, status: str = "completed") -> None:
    """The ledger has one end of the card, and has sent it."""
    ledger = lineup.ledger
    assert ledger.pair(card.call_id) == "completed/resolved"
    interaction = ledger.interaction(card.call_id)
    assert interaction["outcome"] == outcome
    assert interaction["sent_at"] is not None
    assert ledger.call(card.call_id)["result_status"] == status
    assert ledger.verdicts(card.call_id)[:2] == ["call/accepted", "result/accepted"]
    assert lineup.problems == []
