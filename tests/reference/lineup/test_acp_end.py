"""The end of an agent, however it comes: told once, everybody who waits hears of it, and nothing counts as sent."""

import asyncio

import pytest

from lasttick.reference.lineup.links import AgentGone

from .links_rig import Rig, on_a_link


@pytest.mark.parametrize(
    "last_words", [b"", b'{"jsonrpc":"2.0","id":2,"resu'], ids=["at a line's end", "in half a line"]
)
def test_the_end_of_the_agent_is_told_once_and_everybody_who_waits_gets_it(last_words):
    async def play(rig: Rig):
        await rig.up()
        prompt = asyncio.create_task(rig.link.prompt("s1", ["x"]))
        await rig.agent.prompt()
        rig.agent.ask(0)
        await rig.settle()
        rig.agent.end.write(last_words)
        rig.agent.end.close()
        with pytest.raises(AgentGone, match="closed its output"):
            await prompt
        for call in (rig.link.answer(0, "allow_once"), rig.link.prompt("s1", ["y"]), rig.link.cancel("s1")):
            with pytest.raises(AgentGone, match="closed its output"):
                await call
        with pytest.raises(AgentGone, match="closed its output"):
            await rig.link.new_session()
        await rig.settle()
        left = [task.get_name() for task in rig.loop.open_tasks()]
        assert not [name for name in left if name.startswith("acp.")], "nobody waits for a person any more"
        await rig.link.stop()
        with pytest.raises(AgentGone, match="closed its output"):
            await rig.link.prompt("s1", ["z"])
        return rig.seen.all, rig.agent.replies(), rig.agent.at_end

    seen, replies, at_end = on_a_link(play)
    assert [event[0] for event in seen] == ["permission", *(["refused"] if last_words else []), "gone"]
    assert replies == []
    assert at_end


def test_an_answer_on_its_way_when_the_agent_ends_is_not_taken_for_sent():
    async def play(rig: Rig):
        await rig.up()
        rig.agent.ask(0)
        await rig.settle()
        rig.agent.ours.close()
        rig.agent.end.close()
        with pytest.raises(AgentGone):
            await rig.link.answer(0, "allow_once")
        return rig.agent.replies()

    assert on_a_link(play) == []


def test_after_stop_nothing_more_is_heard():
    async def play(rig: Rig):
        await rig.up()
        rig.agent.ask(0)
        await rig.settle()
        await rig.link.stop()
        rig.agent.ask(1)
        rig.agent.end.close()
        await rig.settle()
        await rig.link.stop()
        with pytest.raises(AgentGone, match="was stopped"):
            await rig.link.answer(0, "allow_once")
        return [event[0] for event in rig.seen.all], rig.agent.replies(), rig.agent.at_end

    assert on_a_link(play) == (["permission"], [], True)


def test_a_link_that_was_not_started_says_so():
    async def play(rig: Rig):
        await rig.link.stop()
        with pytest.raises(AgentGone, match="was not started"):
            await rig.link.new_session()

    on_a_link(play)


def test_a_program_that_is_not_there_is_an_agent_that_is_gone():
    async def play(rig: Rig):
        with pytest.raises(AgentGone, match=r"the agent nothing does not start: .*run it by hand"):
            await rig.link.start(rig.seen)
        return rig.seen.all

    assert on_a_link(play, command="nothing") == []


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no answer to initialize within 60 s"),
        ({"error": {"code": -32000, "message": "no key"}}, "initialize was answered with error -32000: no key"),
        ({"result": {"protocolVersion": 2}}, "ACP version 2; expected 1"),
        ({"result": {"protocolVersion": "one"}}, "unreadable answer to initialize: protocolVersion"),
    ],
)
def test_an_agent_that_does_not_start_is_given_up(answer, reason):
    """`start` says it by itself: there is no `gone` of an agent that never was."""

    async def play(rig: Rig):
        rig.agent.answers["initialize"] = answer
        with pytest.raises(AgentGone, match=reason):
            await rig.link.start(rig.seen)
        await rig.settle()
        return rig.seen.of("gone"), rig.agent.at_end

    assert on_a_link(play) == ([], True)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no answer to session/new within 60 s"),
        ({"error": {"code": -32602, "message": "bad cwd"}}, "session/new was answered with error -32602: bad cwd"),
        ({"result": {"sessionId": 5}}, "unreadable answer to session/new: sessionId"),
    ],
)
def test_an_agent_that_opens_no_session_is_given_up(answer, reason):
    async def play(rig: Rig):
        rig.agent.answers["session/new"] = answer
        await rig.link.start(rig.seen)
        with pytest.raises(AgentGone, match=reason):
            await rig.link.new_session()
        await rig.settle()
        return rig.seen.of("gone"), rig.agent.at_end

    [(_, told)], at_end = on_a_link(play)
    assert reason in told
    assert at_end


def test_what_stands_behind_the_answer_of_an_agent_that_is_given_up_is_not_heard():
    async def play(rig: Rig):
        rig.agent.answers["initialize"] = None
        starting = asyncio.create_task(rig.link.start(rig.seen))
        await rig.agent.hear(lambda message: message.get("method") == "initialize")
        rig.agent.say({"id": 0, "result": {"protocolVersion": 2}})
        rig.agent.ask(0)
        rig.agent.chunk("too late")
        with pytest.raises(AgentGone, match="version 2"):
            await starting
        await rig.settle()
        return rig.seen.all

    assert on_a_link(play) == []
