"""Permission requests on the agent link: told whole, answered once, and cancelled when they cannot be read."""

import asyncio

import pytest

from lasttick.model.lineup.records import Option, PermissionAsked

from .links_rig import OPTIONS, Rig, on_a_link


def test_a_permission_is_told_with_all_that_a_card_needs_and_answered_with_the_option():
    """LU-15: 0 is an id like any other."""

    async def play(rig: Rig):
        await rig.up()
        await asyncio.sleep(5)
        rig.agent.ask(0, options=OPTIONS, _meta={"options": [], "rpc_id": 7})
        await rig.settle()
        await rig.link.answer(0, "allow_once")
        return rig.seen.all, rig.agent.replies()

    [(_, asked)], replies = on_a_link(play)
    options = (Option("allow_once", "Allow once", "allow_once"), Option("deny", "Deny", "reject_once"))
    assert asked == PermissionAsked(0, "s1", options, {"toolCallId": "perm-1", "title": "t"}, 5_000_000_000)
    assert replies == [
        {"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}}
    ]


@pytest.mark.parametrize("order", [(0, 1, "0"), ("0", 1, 0), (1, "0", 0)])
def test_open_permissions_are_answered_in_any_order_each_once(order):
    """LU-08, rule 4. The id "0" is not 0."""

    async def play(rig: Rig):
        await rig.up()
        for rpc_id in (0, 1, "0"):
            rig.agent.ask(rpc_id)
        await rig.settle()
        for rpc_id in order:
            await rig.link.answer(rpc_id, None if rpc_id == 1 else f"option of {rpc_id!r}")
        for rpc_id in order:
            with pytest.raises(LookupError, match="is not open"):
                await rig.link.answer(rpc_id, "allow_once")
        return rig.agent.replies()

    replies = on_a_link(play)
    assert [reply["id"] for reply in replies] == list(order)
    outcomes = {repr(reply["id"]): reply["result"]["outcome"] for reply in replies}
    assert outcomes == {
        "0": {"outcome": "selected", "optionId": "option of 0"},
        "1": {"outcome": "cancelled"},
        "'0'": {"outcome": "selected", "optionId": "option of '0'"},
    }


def test_two_who_answer_at_the_same_moment_give_one_answer():
    async def play(rig: Rig):
        await rig.up()
        rig.agent.ask(0)
        await rig.settle()
        both = await asyncio.gather(
            rig.link.answer(0, "deny"), rig.link.answer(0, "allow_once"), return_exceptions=True
        )
        await rig.settle()
        return both, rig.agent.replies()

    (first, second), replies = on_a_link(play)
    assert first is None
    assert isinstance(second, LookupError)
    assert [reply["result"]["outcome"]["optionId"] for reply in replies] == ["deny"]


def test_an_answer_may_come_from_inside_the_telling():
    async def play(rig: Rig):
        await rig.up()
        answers = []
        rig.seen.permission = lambda asked: answers.append(asyncio.create_task(rig.link.answer(asked.rpc_id, "deny")))
        rig.agent.ask(0)
        await rig.settle()
        await asyncio.gather(*answers)
        return rig.agent.replies()

    assert len(on_a_link(play)) == 1


def test_an_id_that_is_open_is_not_answered_for_another_request():
    """LU-08: whatever else comes under that id, the agent gets one answer, and it is the person's."""

    async def play(rig: Rig):
        await rig.up()
        rig.agent.ask(0)
        rig.agent.ask(0)
        rig.agent.ask(0, options="none")
        rig.agent.say({"id": 0, "method": "terminal/create", "params": {}})
        await rig.settle()
        before = list(rig.agent.replies())
        await rig.link.answer(0, "deny")
        return before, rig.agent.replies(), [event[:2] for event in rig.seen.of("refused")]

    before, replies, refused = on_a_link(play)
    assert before == []
    assert len(replies) == 1
    assert refused == [("refused", "request id 0 is already open")] * 3


def test_an_id_that_was_used_is_answered_cancelled():
    async def play(rig: Rig):
        await rig.up()
        rig.agent.ask(0)
        await rig.settle()
        await rig.link.answer(0, "allow_once")
        rig.agent.ask(0)
        await rig.settle()
        return rig.agent.replies(), rig.seen.all

    (_, second), seen = on_a_link(play)
    assert second["result"] == {"outcome": {"outcome": "cancelled"}}
    assert [event[0] for event in seen] == ["permission", "undecodable"]
    assert seen[1][3] == "request id 0 was used before"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (None, "params: null is no object"),
        ([], "params: [] is no object"),
        ({"sessionId": 5}, "params.sessionId: 5 is no string"),
        ({"options": {}}, "params.options: {} is no array"),
        ({"options": [5]}, "params.options[0]: 5 is no object"),
        ({"options": [{**OPTIONS[0], "optionId": 1}]}, "params.options[0].optionId: 1 is no string"),
        ({"options": [{**OPTIONS[0], "kind": "allow_for_ever"}]}, 'params.options[0].kind: "allow_for_ever"'),
        ({"toolCall": None}, "params.toolCall: null is no object"),
        ({"toolCall": {"toolCallId": 0}}, "params.toolCall.toolCallId: 0 is no string"),
    ],
)
def test_a_permission_that_cannot_be_read_is_cancelled_by_the_link(params, reason):
    """C-9, LU-11. The library would leave out what it cannot read and show the rest."""

    async def play(rig: Rig):
        await rig.up()
        if isinstance(params, dict):
            rig.agent.ask(0, **params)
        else:
            rig.agent.say({"id": 0, "method": "session/request_permission", "params": params})
        await rig.settle()
        before = list(rig.agent.replies())
        await rig.still_works()
        return before, rig.seen.all[0]

    replies, seen = on_a_link(play)
    assert replies == [{"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "cancelled"}}}]
    assert seen[:2] == ("undecodable", 0)
    assert seen[3].startswith(reason)
