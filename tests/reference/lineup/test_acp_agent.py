"""The agent link: the library carries the protocol, and what is heard is heard in the order of reading."""

import asyncio

import pytest

from lasttick.model.lineup.records import PromptEnd

from .links_rig import Rig, on_a_link


def test_it_starts_the_program_initializes_and_opens_a_session():
    async def play(rig: Rig):
        assert await rig.up() == "s1"
        return rig.programs.started, rig.agent.heard

    started, heard = on_a_link(play)
    assert started == [("agent", ("acp",), {"A": "1"})]
    assert heard[0]["id"] == 0
    assert heard[0]["params"]["protocolVersion"] == 1
    assert "fs" not in heard[0]["params"].get("clientCapabilities", {})
    assert heard[1] == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "session/new",
        "params": {"cwd": "/work-folder", "mcpServers": []},
    }


def test_each_text_is_a_block_and_the_end_says_whether_there_was_usage():
    async def play(rig: Rig):
        await rig.up()
        ends = []
        for place, result in enumerate(
            (
                {"stopReason": "end_turn"},
                {"stopReason": "cancelled", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}},
            )
        ):
            prompt = asyncio.create_task(rig.link.prompt("s1", ["first", "half a pair \ud800"]))
            asked = await rig.agent.prompt(place)
            rig.agent.say({"id": asked["id"], "result": result})
            ends.append(await prompt)
        return asked["params"], ends

    params, ends = on_a_link(play)
    assert [block["text"] for block in params["prompt"]] == ["first", "half a pair \ud800"]
    assert ends == [PromptEnd("end_turn"), PromptEnd("cancelled", has_usage=True)]


def test_an_error_is_an_end_of_the_prompt():
    async def play(rig: Rig):
        await rig.up()
        prompt = asyncio.create_task(rig.link.prompt("s1", ["x"]))
        asked = await rig.agent.prompt()
        await rig.link.cancel("s1")
        rig.agent.say({"id": asked["id"], "error": {"code": -32603, "message": "Internal error"}})
        end = await prompt
        await rig.still_works()
        return end, rig.agent.requests("session/cancel")

    end, cancels = on_a_link(play)
    assert end == PromptEnd(None, error_code=-32603)
    assert cancels == [{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}]


@pytest.mark.parametrize("seed", [None, *range(8)])
def test_what_is_heard_is_heard_in_the_order_of_reading(seed):
    """Also around the answer: its waiter goes on before anything behind the answer is read."""

    async def play(rig: Rig):
        await rig.up()

        async def turn():
            end = await rig.link.prompt("s1", ["x"])
            rig.seen.all.append(("end", end))

        prompt = asyncio.create_task(turn())
        asked = await rig.agent.prompt()
        for text in "abc":
            rig.agent.chunk(text)
        rig.agent.ask(0)
        rig.agent.chunk("d")
        rig.agent.say({"id": asked["id"], "result": {"stopReason": "end_turn"}})
        rig.agent.chunk("after")
        rig.agent.ask(1)
        await prompt
        await rig.settle()
        return [event[2]["content"]["text"] if event[0] == "updated" else event[0] for event in rig.seen.all]

    heard = on_a_link(play, seed=seed)
    assert heard == ["a", "b", "c", "permission", "d", "end", "after", "permission"]


def test_a_session_is_known_before_its_first_update_is_heard():
    async def play(rig: Rig):
        del rig.agent.answers["session/new"]
        await rig.link.start(rig.seen)

        async def opened():
            rig.seen.all.append(("opened", await rig.link.new_session()))

        opening = asyncio.create_task(opened())
        asked = await rig.agent.hear(lambda message: message.get("method") == "session/new")
        rig.agent.say({"id": asked["id"], "result": {"sessionId": "s9"}})
        rig.agent.chunk("early", "s9")
        await opening
        await rig.settle()
        return [event[0] for event in rig.seen.all]

    assert on_a_link(play) == ["opened", "updated"]


def test_nobody_is_waited_for_who_stopped_waiting():
    async def play(rig: Rig):
        await rig.up()
        prompt = asyncio.create_task(rig.link.prompt("s1", ["x"]))
        asked = await rig.agent.prompt()
        prompt.cancel()
        await asyncio.wait([prompt])
        rig.agent.say({"id": asked["id"], "result": {"stopReason": "end_turn"}})
        await rig.still_works()
        return rig.seen.of("refused")

    assert on_a_link(play) == []
