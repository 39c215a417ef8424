"""The gateway-native source of questions (C-10, LU-14): what the link itself keeps."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.model.lineup.clarify import Clarify
from lasttick.model.lineup.gateway_events import SlashConfirm, UpdatePrompt
from lasttick.reference.lineup.event_source import EventSource

SLASH = {"kind": "slash_confirm", "session_key": "k", "confirm_id": "c1", "title": "Reload?", "message": "Tools change"}
UPDATE = {"kind": "update_prompt", "session_key": "k", "id": "c1", "prompt": "Restart?", "default": "n"}
CLARIFY = {"clarify_id": "q", "question": "Which?", "choices": ["a"]}


class Core:
    def __init__(self):
        self.all = []

    def asked(self, event, read_ns):
        self.all.append(("asked", event, read_ns))

    def refused(self, what, body):
        self.all.append(("refused", what, body))

    def source_gone(self):
        self.all.append(("gone",))


def on_a_source(play):
    """`play(source, core, say)`; what it returns, and the lines that the gateway got."""

    async def main(loop):
        ours, theirs = pipe_pair()
        core = Core()
        source = EventSource(ours, core, VirtualClock(loop))
        run = asyncio.create_task(source.run())

        async def say(message):
            theirs.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
            await asyncio.sleep(0.001)

        played = await play(source, core, say)
        theirs.close()
        await run
        return played, core.all, [json.loads(line) async for line in theirs.lines()]

    return run_virtual(main)


def test_each_kind_is_asked_once_and_answered_once():
    """The same id under two kinds is two questions."""

    async def play(source, core, say):
        await say(SLASH)
        await say(UPDATE)
        await say(CLARIFY)
        for kind, id_, answer in (
            ("update_prompt", "c1", ""),
            ("slash_confirm", "c1", "once"),
            ("clarify", "q", "其他"),
        ):
            await source.answer({"kind": kind, "id": id_, "answer": answer})
            with pytest.raises(LookupError, match="is not open"):
                await source.answer({"kind": kind, "id": id_, "answer": "always"})

    _, seen, said = on_a_source(play)
    assert [event[1] for event in seen[:-1]] == [
        SlashConfirm("k", "c1", "Reload?", "Tools change"),
        UpdatePrompt("k", "c1", "Restart?", "n"),
        Clarify("q", "Which?", ("a",)),
    ]
    assert [event[2] for event in seen[:-1]] == [0, 1_000_000, 2_000_000]
    assert seen[-1] == ("gone",)
    assert said == [
        {"kind": "update_prompt", "id": "c1", "answer": ""},
        {"kind": "slash_confirm", "id": "c1", "answer": "once"},
        {"kind": "clarify", "id": "q", "answer": "其他"},
    ]


def test_an_id_is_asked_once_before_and_after_its_answer():
    async def play(source, core, say):
        await say(SLASH)
        await say({**SLASH, "message": "Something else entirely"})
        await source.answer({"kind": "slash_confirm", "id": "c1", "answer": "cancel"})
        await say({**SLASH, "message": "And again"})
        with pytest.raises(LookupError):
            await source.answer({"kind": "slash_confirm", "id": "c1", "answer": "always"})

    _, seen, said = on_a_source(play)
    assert [event[:2] for event in seen[1:-1]] == [("refused", "slash_confirm c1 was asked before")] * 2
    assert len(said) == 1


def test_a_question_that_nobody_asked_has_no_answer():
    async def play(source, core, say):
        with pytest.raises(LookupError, match=r"slash_confirm c9 is not open; expected .*C-10"):
            await source.answer({"kind": "slash_confirm", "id": "c9", "answer": "once"})

    assert on_a_source(play)[2] == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", "[] is no object"),
        (b"half", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"kind":"slash_confirm","kind":"clarify"}', "repeated key"),
        (json.dumps({**SLASH, "kind": "exec"}).encode(), "kind:"),
        (json.dumps({**SLASH, "command": "rm"}).encode(), "command: unknown member"),
        (json.dumps({**CLARIFY, "multi_select": True}).encode(), "multi-choice not supported"),
        (json.dumps({**SLASH, "message": "m" * (1 << 20)}).encode(), "a line is too long"),
        (b"[" * (2**26 + 1), "a line is too long"),
    ],
    ids=range(9),
)
def test_a_bad_line_is_refused_and_the_next_question_is_asked(line, reason):
    async def play(source, core, say):
        await say(line)
        await say(SLASH)

    _, (refused, asked, _), said = on_a_source(play)
    assert refused[0] == "refused"
    assert refused[1].startswith(reason) or reason in refused[1]
    assert asked[0] == "asked"
    assert said == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                name: st.sampled_from([value, "x", "", None, 5, []]) for name, value in {**SLASH, **UPDATE}.items()
            },
        ),
        max_size=5,
    )
)
def test_whatever_the_gateway_says_the_link_goes_on_and_answers_nothing(messages):
    async def play(source, core, say):
        for message in messages:
            await say(message)
        await say({**CLARIFY, "clarify_id": "the last"})

    _, seen, said = on_a_source(play)
    assert seen[-2][1] == Clarify("the last", "Which?", ("a",))
    assert said == []


def test_an_answer_to_a_gateway_that_is_gone_is_an_error_and_is_not_repeated():
    async def play(source, core, say):
        await say(SLASH)
        source._stream.close()
        with pytest.raises(ConnectionError):
            await source.answer({"kind": "slash_confirm", "id": "c1", "answer": "once"})
        with pytest.raises(LookupError):
            await source.answer({"kind": "slash_confirm", "id": "c1", "answer": "once"})

    assert on_a_source(play)[2] == []
