"""Does the host show what it is sent, send what its people do, and see every frame that an adapter may not send?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick_fakes.host import NotSeen

from .bench import ALLOW_OR_DENY, ONE_FIELD, HostBench, card, with_host

MESSAGE = {"message_id": "m1", "role": "agent", "text": "Done."}


# -- what people do


def test_a_click_says_the_id_behind_a_label_and_makes_the_card_grey() -> None:
    async def story(bench: HostBench) -> None:
        person = bench.host.person()
        await bench.card()
        shown = await person.card()
        assert (shown.enabled, shown.actions) == (True, {"action_01": "Allow edit", "action_02": "Deny"})
        await person.click(shown, "Deny")
        payload = {"call_id": "call_1", "status": "completed", "result": {"action_id": "action_02"}}
        assert await bench.reads() == {"v": 1, "type": "lineup.v1.tool.result", "payload": payload}
        assert not shown.enabled

    bench = with_host(story)
    assert [kind for kind, _ in bench.events if kind.startswith("card.")] == ["card.shown", "card.answered"]


@pytest.mark.parametrize(
    ("state", "disposition", "reason", "enabled"),
    [
        ("emitted", "rejected", "invalid hermes interaction response: x", True),
        ("completed", "accepted", None, False),
        ("expired", None, "expired", False),
    ],
)
def test_only_a_rejection_of_an_open_card_gives_it_back(
    state: str, disposition: Any, reason: Any, enabled: bool
) -> None:
    async def story(bench: HostBench) -> None:
        await bench.card()
        shown = await bench.host.person().card()
        await bench.host.person().click(shown, "action_01")
        await bench.state("call_1", state, disposition, reason)
        assert (shown.state, shown.enabled) == (state, enabled)
        assert (shown.disposition, shown.reason) == (disposition, reason)

    assert with_host(story).host.problems == []


def test_a_double_click_is_two_frames_and_a_list_is_said_as_a_list() -> None:
    async def story(bench: HostBench) -> None:
        person = bench.host.person()
        await bench.card()
        await person.click(await person.card(), "Allow edit", times=2, as_list=True)
        results = [(await bench.reads())["payload"]["result"] for _ in range(2)]
        assert results == [{"action_ids": ["action_01"]}] * 2

    with_host(story)


def test_typing_closing_giving_cancelling_and_publishing_are_each_their_own_frame() -> None:
    async def story(bench: HostBench) -> None:
        person = bench.host.person("kitchen")
        await person.inventory("r1", {"lamp": {"on": {"type": "boolean", "required": True}}})
        await bench.card("a", ONE_FIELD, "input", conversation_id="kitchen")
        await bench.card("b", {"arguments": {"on": True}}, "lamp", conversation_id="kitchen")
        field, lamp = await person.card(), await person.card()
        await person.type(field, "tea")
        await person.type(field, {"task": "tea"})
        await person.give(lamp, {"ok": True})
        await person.dismiss(lamp)
        await person.cancel()
        await person.say("hello", "m-1")
        frames = [await bench.reads() for _ in range(7)]
        assert frames[0]["payload"]["capabilities"] == [
            {"tool": "lamp", "arguments": {"on": {"type": "boolean", "required": True}}}
        ]
        assert [frame["type"].rpartition(".")[2] for frame in frames[1:]] == [*["result"] * 4, "cancel", "message"]
        given = [(frame["payload"]["status"], frame["payload"]["result"]) for frame in frames[1:5]]
        assert given == [
            ("completed", {"text": "tea"}),
            ("completed", {"values": {"task": "tea"}}),
            ("completed", {"output": {"ok": True}}),
            ("cancelled", None),
        ]
        assert {frame.get("conversation_id") for frame in frames[1:]} == {"kitchen"}

    assert with_host(story).host.problems == []


def test_an_answer_to_a_card_of_another_conversation_leaves_that_card_alone() -> None:
    async def story(bench: HostBench) -> None:
        await bench.card()
        shown = await bench.host.person().card()
        thief = bench.host.person("other")
        await thief.answer("call_1", "completed", {"action_id": "action_01"})
        assert shown.enabled
        await bench.state("call_1", "emitted", "rejected", "wrong conversation", conversation_id="other")
        assert (await thief.refusal()).reason == "wrong conversation"
        assert (shown.states, shown.enabled) == ([], True)

    assert with_host(story).host.problems == []


def test_a_label_that_is_no_action_or_two_is_an_error_of_the_scenario() -> None:
    async def story(bench: HostBench) -> None:
        twice = {"action_group": {"mode": "single-choice", "actions": [{"id": i, "label": "A"} for i in "xy"]}}
        await bench.card(data=twice)
        shown = await bench.host.person().card()
        for choice in ("A", "B"):
            with pytest.raises(ValueError, match="expected one of"):
                await bench.host.person().click(shown, choice)

    with_host(story)


# -- waiting


def test_who_waits_in_vain_is_told_what_is_there_instead() -> None:
    async def story(bench: HostBench) -> None:
        await bench.sends("message", MESSAGE)
        with pytest.raises(NotSeen, match=r"no card in default within 7 s.*Done\."):
            await bench.host.person().card(within_s=7)
        assert bench.loop.time() == 7

    with_host(story)


def test_texts_are_read_once_and_by_role() -> None:
    async def story(bench: HostBench) -> None:
        person = bench.host.person()
        for number, role in enumerate(("agent", "system", "agent")):
            await bench.sends("message", {"message_id": f"m{number}", "role": role, "text": f"text {number}"})
        assert [await person.text(), await person.text("agent")] == ["text 0", "text 2"]
        with pytest.raises(NotSeen):
            await person.text("system", within_s=1)

    with_host(story)


# -- the link


def test_a_host_that_left_sends_nothing_and_keeps_its_screen() -> None:
    async def story(bench: HostBench) -> None:
        person = bench.host.person()
        await person.inventory("r1", {"lamp": {}})
        await bench.card()
        shown = await person.card()
        await bench.host.leave()
        with pytest.raises(ConnectionError):
            await person.click(shown, "Deny")
        assert shown.enabled
        await bench.come()
        await person.click(shown, "Deny")
        assert (await bench.reads())["payload"]["result"] == {"action_id": "action_02"}
        await bench.card("b", {"arguments": {}}, "lamp")
        assert "not in this host's inventory" in str(bench.host.problems[-1].problem)

    bench = with_host(story)
    assert [line.way for line in bench.host.log if line.way in ("came", "left")] == ["came", "left", "came", "left"]


def test_an_adapter_that_hangs_up_is_noticed() -> None:
    async def story(bench: HostBench) -> None:
        assert bench.adapter is not None
        bench.adapter.close()
        await bench.loop.settle()
        assert not bench.host.is_here

    with_host(story)


def test_what_a_later_link_sends_again_is_shown_once() -> None:
    async def story(bench: HostBench) -> None:
        for _ in range(2):
            await bench.sends("message", MESSAGE)
            await bench.card()
            await bench.come()
        assert (len(bench.host.person().said), len(bench.host.person().cards)) == (1, 1)
        await bench.sends("message", {**MESSAGE, "text": "other"})
        await bench.card(data=ONE_FIELD, tool="input")

    assert [line.problem for line in with_host(story).host.problems] == [
        "message_id 'm1' was shown before",
        "call_id 'call_1' was shown before",
    ]


# -- what an adapter may not send


def changed(**members: Any) -> Any:
    return {**card("call_1", ALLOW_OR_DENY, "choice"), **members}


GROUP = ALLOW_OR_DENY["action_group"]
ONE = {"id": "a", "label": "A"}
WRONG: dict[str, Any] = {
    "no JSON": b"{",
    "no object": [],
    "another version": {"v": 2, "type": "lineup.v1.message", "payload": MESSAGE},
    "true as version": {"v": True, "type": "lineup.v1.message", "payload": MESSAGE},
    "unknown type": {"v": 1, "type": "lineup.v1.hello", "payload": {}},
    "a type of the other direction": {"v": 1, "type": "lineup.v1.tool.result", "payload": {}},
    "unknown member of the envelope": {"v": 1, "type": "lineup.v1.message", "payload": MESSAGE, "x": 1},
    "unknown member of a text": ("message", {**MESSAGE, "x": 1}),
    "a role that nobody has": ("message", {**MESSAGE, "role": "user"}),
    "an empty text": ("message", {**MESSAGE, "text": ""}),
    "several at once": ("tool.call", changed(data={"action_group": {**GROUP, "mode": "multi-choice"}})),
    "a command": ("tool.call", changed(data={"action_group": {**GROUP, "command": "rm"}})),
    "twice the same action": ("tool.call", changed(data={"action_group": {**GROUP, "actions": [ONE, ONE]}})),
    "no action": ("tool.call", changed(data={"action_group": {**GROUP, "actions": []}})),
    "21 actions": (
        "tool.call",
        changed(data={"action_group": {**GROUP, "actions": [{"id": f"a{i}", "label": "A"} for i in range(21)]}}),
    ),
    "a local time": ("tool.call", changed(expires_at="2026-01-01T00:00:55+00:00")),
    "a long title": ("tool.call", changed(title="x" * 201)),
    "an id with a space": ("tool.call", changed(call_id="a b")),
    "a tool that was not published": ("tool.call", changed(tool="lamp", data={"arguments": {}})),
    "no state": ("tool.state", {"call_id": "x", "state": None, "disposition": "accepted", "reason": None}),
    "an unknown state": ("tool.state", {"call_id": "x", "state": "gone", "disposition": None, "reason": None}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_frame_stands_in_the_log_and_is_not_shown(name: str) -> None:
    async def story(bench: HostBench) -> None:
        wrong = WRONG[name]
        if isinstance(wrong, tuple):
            await bench.sends(*wrong)
        else:
            await bench.sends_raw(wrong.decode() if isinstance(wrong, bytes) else json.dumps(wrong))
        await bench.sends("message", {**MESSAGE, "message_id": "m9"})

    host = with_host(story).host
    assert [bool(line.problem) for line in host.log if line.way == "got"] == [True, False]
    assert (len(host.screen.cards), len(host.screen.said)) == (0, 1)


def test_a_card_that_changes_after_its_end_is_seen() -> None:
    async def story(bench: HostBench) -> None:
        await bench.card()
        await bench.state("call_1", "expired", None, "expired")
        await bench.state("call_1", "completed", "accepted", None)

    assert "was expired and is now completed" in str(with_host(story).host.problems[0].problem)


def test_an_accepted_answer_to_what_was_never_shown_is_seen() -> None:
    async def story(bench: HostBench) -> None:
        await bench.state("asked-in-text", "completed", "accepted", None)
        await bench.host.person().answer("zz", "completed", {"action_id": "action_01"})
        await bench.state("zz", "completed", "accepted", None)

    (wrong,) = with_host(story).host.problems
    assert "'zz' was accepted" in str(wrong.problem)
