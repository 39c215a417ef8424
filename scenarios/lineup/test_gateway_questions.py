"""Is each question of the agent's own gateway answered at most once, and never by silence?

Source: contract lineup C-10; contract hermes, 5.2 and 5.3; LU-14.
"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

TITLE, MESSAGE = "Reload tools?", "The prompt cache is lost."
WORDS = {"once": "Once", "always": "Always", "cancel": "Cancel"}
CONFIRM_LIFE_S = 300.0
UPDATE_LIFE_S = 600.0


async def begin(world: World) -> tuple[Any, Any, Any]:
    lineup = await world.lineup()
    return lineup, await lineup.native(), lineup.person()


async def answers(world: World, native: Any) -> list[tuple[str, str, str]]:
    """What the gateway has got so far: kind, id, answer."""
    await world.settle()
    return [(one["kind"], one["id"], one["answer"]) for one in native.answers]


@scenario("LU-14")
async def test_a_confirmation_is_one_word_once(world: World) -> None:
    """Confirmations are clicked once, always and cancel, with a double-click each and another word after it, and closed
    without a word. The gateway gets one answer for each, the first word; a card closed without a word is a cancel."""
    lineup, native, person = await begin(world)
    clicks = {"c1": "once", "c2": "always", "c3": "cancel", "c4": None}
    for confirm_id, word in clicks.items():
        await native.slash_confirm("s1", confirm_id, TITLE, MESSAGE)
        card = await person.card()
        assert (card.title, card.prompt, card.actions) == (TITLE, MESSAGE, WORDS)
        if word is None:
            await person.dismiss(card)
        else:
            await person.click(card, word, times=2)
        await person.answer(card.call_id, "completed", {"action_id": "always"})
        await person.closed(card)
    expected = [("slash_confirm", confirm_id, word or "cancel") for confirm_id, word in clicks.items()]
    assert await answers(world, native) == expected
    assert [row["kind"] for row in lineup.ledger.interactions] == ["slash_confirm"] * len(clicks)
    assert [row["state"] for row in lineup.ledger.interactions] == ["resolved"] * len(clicks)
    assert lineup.problems == []


@scenario("LU-14")
async def test_a_newer_confirmation_takes_the_place_of_the_older(world: World) -> None:
    """A session asks for a second confirmation while one is open, another session for a third. The older is answered
    `cancel` and its card is closed, a click on it comes too late; the other session's stays; an id asked twice is
    refused, and what cannot be read brings no card."""
    lineup, native, person = await begin(world)
    await native.slash_confirm("s1", "old", TITLE, MESSAGE)
    old = await person.card()
    await native.slash_confirm("s2", "other", TITLE, MESSAGE)
    other = await person.card()
    await native.slash_confirm("s1", "new", TITLE, MESSAGE)
    new = await person.card()
    await person.closed(old)
    assert (old.state, old.reason, other.state) == ("aborted", "superseded", "emitted")
    await person.click(old, "once")
    assert (await person.told(old, 2)).reason == "aborted"
    await native.slash_confirm("s1", "new", "Another question", MESSAGE)
    await native.ask({"kind": "slash_confirm", "session_key": "s1", "confirm_id": "c9", "title": TITLE})
    await native.ask({"kind": "sudo", "id": "c9"})
    await native.ask(b"[half a line")
    await person.click(new, "always")
    await person.closed(new)
    await person.click(other, "once")
    await person.closed(other)
    assert await answers(world, native) == [
        ("slash_confirm", "old", "cancel"),
        ("slash_confirm", "new", "always"),
        ("slash_confirm", "other", "once"),
    ]
    assert len(person.cards) == 3
    refused = lineup.ledger.rows("tool_audit", phase="call", disposition="rejected")
    assert len(refused) == 4
    assert "was asked before" in refused[0]["reason"]
    assert lineup.problems == []


@scenario("LU-14")
async def test_a_default_needs_somebody_who_sends_it(world: World) -> None:
    """Update prompts with a default are answered with words, with an empty field, and closed. The words are the answer,
    the empty field means the default, and for a closed card the gateway hears nothing."""
    lineup, native, person = await begin(world)
    typed = {"u1": "later", "u2": "", "u3": None}
    for prompt_id, text in typed.items():
        await native.update_prompt("s1", prompt_id, "Which branch?", "main")
        card = await person.card()
        assert (card.tool, card.prompt, len(card.fields)) == ("input", "Which branch?", 1)
        if text is None:
            await person.dismiss(card)
        else:
            await person.type(card, text, times=2)
        await person.closed(card)
    assert await answers(world, native) == [("update_prompt", "u1", "later"), ("update_prompt", "u2", "main")]
    assert lineup.problems == []


@scenario("LU-14", needs=("scale",))
async def test_nobody_answers_and_nothing_is_agreed_to(world: World) -> None:
    """A confirmation and an update prompt with a default are left alone; another confirmation is clicked one tick
    before its 300 s are over. At 300 s the first is answered `cancel`; the update prompt expires without a word."""
    lineup, native, person = await begin(world)
    await native.slash_confirm("s1", "silent", TITLE, MESSAGE)
    silent = await person.card()
    await native.slash_confirm("s2", "clicked", TITLE, MESSAGE)
    clicked = await person.card()
    await native.update_prompt("s1", "u1", "Which branch?", "main")
    update = await person.card()
    begun_s = world.now_s
    await world.until(begun_s + CONFIRM_LIFE_S - world.tick_s)
    assert await answers(world, native) == []
    await person.click(clicked, "once")
    await world.until(begun_s + CONFIRM_LIFE_S)
    await person.click(silent, "once")
    await person.told(silent, 2)
    assert [told.reason for told in silent.states] == ["expired", "expired"]
    await world.until(begun_s + UPDATE_LIFE_S)
    await person.closed(update)
    assert update.state == "expired"
    await person.type(update, "")
    expected = [("slash_confirm", "clicked", "once"), ("slash_confirm", "silent", "cancel")]
    assert await answers(world, native) == expected
    assert lineup.problems == []


@scenario("LU-14")
@pytest.mark.parametrize("restarts", [False, True], ids=["gateway-gone", "adapter-restarted"])
async def test_a_question_ends_with_whoever_asked_it(world: World, restarts: bool) -> None:
    """The gateway hangs up with a confirmation open, or the adapter is restarted. The card is closed as aborted, a
    click then is rejected, and no gateway hears an answer to a question that has ended."""
    lineup, native, person = await begin(world)
    await native.slash_confirm("s1", "c1", TITLE, MESSAGE)
    card = await person.card()
    if restarts:
        await lineup.kill()
        await lineup.start()
    else:
        await native.close()
    await person.closed(card)
    assert card.state == "aborted"
    await person.click(card, "always")
    assert (await person.told(card, 2)).reason == "aborted"
    assert await answers(world, native) == []
    assert lineup.ledger.pair(card.call_id) == "aborted/aborted"
    assert lineup.problems == []


@scenario("LU-14")
async def test_a_question_without_a_host_is_a_text_and_silence_is_no_yes(world: World) -> None:
    """No host is there when a confirmation comes, so that its card cannot be sent: it is asked as a text once a host is
    there. Words that are no answer go to the agent as they are; only one of the three words is the answer, once."""
    lineup, native, person = await begin(world)
    await lineup.model.script("*", "I do not know.")
    await lineup.leave()
    await world.settle()
    await native.slash_confirm("s1", "c1", TITLE, MESSAGE)
    assert await answers(world, native) == []
    await lineup.come()
    said = await person.text("system")
    assert said.startswith(TITLE)
    assert all(word in said for word in WORDS)
    await person.say("Yes, sure.")
    assert await person.text("agent") == "I do not know."
    assert await answers(world, native) == []
    await person.say("once")
    await world.settle()
    await person.say("always")
    assert await person.text("agent") == "I do not know."
    assert await answers(world, native) == [("slash_confirm", "c1", "once")]
    assert person.cards == []
    assert lineup.problems == []
