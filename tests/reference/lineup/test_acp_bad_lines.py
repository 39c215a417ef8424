"""Whatever else an agent says (LU-11): one stated answer each, nothing is approved, and the link goes on."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model.lineup.records import PromptEnd
from lasttick.reference.lineup.acp_filter import LINE_BYTES_MAX

from .links_rig import OPTIONS, Rig, on_a_link

PERMISSION = b'{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1",%s}}'
CANCELLED = {"outcome": {"outcome": "cancelled"}}
BAD_LINES = {
    "an array": (b'[{"jsonrpc":"2.0","id":0,"result":{}}]', "is no object", None),
    "a string": (b'"initialize"', "is no object", None),
    "a number": (b"7", "is no object", None),
    "no JSON": (b"Traceback (most recent call last):", "not JSON", None),
    "half a line": (b'{"jsonrpc":"2.0","id":0,"meth', "not JSON", None),
    "no UTF-8": (b'{"jsonrpc":"2.0","method":"session/update","x":"\xff"}', "not UTF-8", None),
    "a line of 50 MB": (b'{"x":"' + b"y" * 50_000_000 + b'"}', f"expected at most {LINE_BYTES_MAX}", None),
    "an answer with a list for id": (b'{"jsonrpc":"2.0","id":[0],"result":{}}', "no request of ours", None),
    "an answer with an id of text": (b'{"jsonrpc":"2.0","id":"0","result":{}}', "no request of ours", None),
    "an answer with id true": (b'{"jsonrpc":"2.0","id":true,"result":{}}', "no request of ours", None),
    "an answer with id 2.0": (b'{"jsonrpc":"2.0","id":2.0,"result":{}}', "no request of ours", None),
    "an answer with id null": (b'{"jsonrpc":"2.0","id":null,"result":{}}', "no request of ours", None),
    "an answer nobody waits for": (b'{"jsonrpc":"2.0","id":77,"result":{}}', "no open request", None),
    "an answer that came before": (b'{"jsonrpc":"2.0","id":0,"result":{}}', "no open request", None),
    "nothing at all": (b'{"jsonrpc":"2.0"}', "no request of ours", None),
    "another version": (b'{"jsonrpc":"1.0","method":"session/update"}', 'jsonrpc: "1.0"', None),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":5,"method":7}', "method: 7", None),
    "a request with a list for id": (b'{"jsonrpc":"2.0","id":[],"method":"x"}', "id: []", None),
    "a huge id": (b'{"jsonrpc":"2.0","id":' + b"9" * 40 + b',"method":"x"}', "expected an integer below 2^53", None),
    "an id that is no text": (b'{"jsonrpc":"2.0","id":"\\ud800","method":"x"}', "surrogate", None),
    "an unknown notification": (b'{"jsonrpc":"2.0","method":"session/news"}', "unknown notification", None),
    "an update without a kind": (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{}}}',
        "params.update.sessionUpdate",
        None,
    ),
    "a permission that asks for no answer": (
        b'{"jsonrpc":"2.0","method":"session/request_permission","params":{}}',
        "unknown notification",
        None,
    ),
    "terminal/create": (b'{"jsonrpc":"2.0","id":0,"method":"terminal/create"}', "unsupported request", "error"),
    "fs/read": (b'{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file"}', "unsupported request", "error"),
    "an extension": (b'{"jsonrpc":"2.0","id":0,"method":"_x"}', "unsupported request _x", "error"),
    "a method without name": (b'{"jsonrpc":"2.0","id":0,"method":""}', "unsupported request", "error"),
    "a request with repeated keys": (
        b'{"jsonrpc":"2.0","id":0,"method":"terminal/create","params":{"a":1,"a":2}}',
        "unsupported request",
        "error",
    ),
    "two ids": (b'{"jsonrpc":"2.0","id":1,"id":0,"method":"x"}', "repeated key", None),
    "two methods": (b'{"id":0,"jsonrpc":"2.0","method":"x","method":"y"}', "repeated key", None),
    "a permission with NaN": (PERMISSION % b'"options":[],"x":NaN', "NaN", CANCELLED),
    "a permission with repeated keys": (PERMISSION % b'"options":[],"options":[]', "repeated key", CANCELLED),
    "a permission too deep": (PERMISSION % (b'"x":' + b"[" * 50 + b"]" * 50), "deeper than 32", CANCELLED),
    "a permission with broken text": (PERMISSION % b'"x":"\xff"', "not UTF-8", CANCELLED),
    "a permission with half a pair": (PERMISSION % b'"x":"\\ud800"', "surrogate", CANCELLED),
    "a permission of another version": (
        b'{"jsonrpc":2,"id":0,"method":"session/request_permission"}',
        "jsonrpc: 2",
        CANCELLED,
    ),
    "a permission deeper than any decoder": (
        PERMISSION % (b'"x":' + b"[" * 200_000 + b"]" * 200_000),
        "deeper than 32",
        None,
    ),
}


@pytest.mark.parametrize(("line", "reason", "answer"), BAD_LINES.values(), ids=list(BAD_LINES))
def test_a_bad_line_has_one_stated_answer_and_the_link_goes_on(line, reason, answer):
    async def play(rig: Rig):
        await rig.up()
        rig.agent.say(line)
        await rig.settle()
        seen, replies = list(rig.seen.all), list(rig.agent.replies())
        await rig.still_works()
        return seen, replies

    [told], replies = on_a_link(play)
    assert reason in " ".join(str(part) for part in told[1:])
    assert all(len(str(part)) < 5_000 for part in told)
    if answer is None:
        assert told[0] == "refused"
        assert replies == []
    elif answer == "error":
        method = json.loads(line)["method"]
        error = {"code": -32601, "message": "Unsupported ACP client method", "data": {"method": method}}
        assert told[0] == "refused"
        assert replies == [{"jsonrpc": "2.0", "id": 0, "error": error}]
    else:
        assert told[0] == "undecodable"
        assert replies == [{"jsonrpc": "2.0", "id": 0, "result": answer}]


def test_a_line_that_the_stream_itself_does_not_take_is_recorded_and_the_link_goes_on():
    async def play(rig: Rig):
        await rig.up()
        rig.agent.say(b"[" * (2**26 + 1))
        await rig.settle()
        told = list(rig.seen.all)
        await rig.still_works()
        return told

    assert on_a_link(play) == [("refused", "a line longer than the stream takes", None)]


def test_an_unknown_kind_of_update_is_recorded_and_told():
    async def play(rig: Rig):
        await rig.up()
        update = {"sessionUpdate": "mood_update", "mood": [1]}
        rig.agent.say({"method": "session/update", "params": {"sessionId": "s1", "update": update}})
        await rig.still_works()
        return rig.seen.all[:2], update

    [refused, updated], update = on_a_link(play)
    assert refused[:2] == ("refused", "unknown update kind mood_update")
    assert updated == ("updated", "s1", update)


@pytest.mark.parametrize(
    ("answer", "code", "reason"),
    [
        (b'{"jsonrpc":"2.0","id":2,"result":5}', -32600, "unreadable prompt response"),
        (b'{"jsonrpc":"2.0","id":2,"result":{"stopReason":"tired"}}', -32600, "stopReason"),
        (b'{"jsonrpc":"2.0","id":2,"result":null}', -32600, "unreadable prompt response"),
        (b'{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","x":NaN}}', -32600, "NaN"),
        (b'{"jsonrpc":"2.0","id":2}', -32600, "either a result or an error"),
        (b'{"jsonrpc":"2.0","id":2,"result":{},"error":{}}', -32600, "either a result or an error"),
        (b'{"jsonrpc":"2.0","id":2,"error":"no"}', -32600, "is no object"),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":"x","message":"y"}}', -32600, "error.code"),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"busy"}}', -32000, None),
        (b'{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":5}}', -32600, "error.message"),
    ],
)
def test_an_answer_that_cannot_be_read_ends_its_prompt_and_no_other(answer, code, reason):
    async def play(rig: Rig):
        await rig.up()
        prompt = asyncio.create_task(rig.link.prompt("s1", ["x"]))
        await rig.agent.prompt()
        rig.agent.say(answer)
        end = await prompt
        told = list(rig.seen.all)
        await rig.still_works()
        return end, told

    end, told = on_a_link(play)
    assert end == PromptEnd(None, error_code=code)
    assert [event[0] for event in told] == ["refused"] * (reason is not None)
    assert all(reason in event[1] for event in told)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
METHODS = ["session/request_permission", "session/update", "terminal/create", "session/prompt", "initialize", ""]
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.sampled_from([0, 1, 2, "0", None, 1.0, True]) | json_values,
        "method": st.sampled_from(METHODS) | json_values,
        "params": json_values
        | st.fixed_dictionaries(
            {},
            optional={
                "sessionId": st.just("s1") | json_values,
                "options": st.just(OPTIONS) | st.lists(st.sampled_from(OPTIONS) | json_values, max_size=3),
                "toolCall": st.just({"toolCallId": "t"}) | json_values,
                "update": st.fixed_dictionaries(
                    {}, optional={"sessionUpdate": st.text(max_size=5), "mood": json_values}
                ),
                "_meta": st.just({"rpc_id": 0, "options": []}) | json_values,
            },
        ),
        "result": st.just({"stopReason": "end_turn"}) | json_values,
        "error": st.just({"code": -32603, "message": "m"}) | json_values,
    },
)
lines = st.one_of(
    messages.map(lambda message: json.dumps(message).encode()),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b" ")),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, max_size=6))
def test_whatever_the_agent_says_nothing_is_approved_and_the_link_stays_usable(said):
    """Bad input of issue 7; LU-11, rule 7: no person answers anything here, so no answer may carry an option."""

    async def play(rig: Rig):
        await rig.up()
        prompt = asyncio.create_task(rig.link.prompt("s1", ["x"]))
        await rig.agent.prompt()
        for line in said:
            rig.agent.say(line)
        await rig.settle()
        replies = list(rig.agent.replies())
        asked = [event[1].rpc_id for event in rig.seen.of("permission")]
        if not prompt.done():
            prompt.cancel()
        await asyncio.wait([prompt])
        await rig.still_works()
        assert rig.seen.of("gone") == []
        return replies, asked

    replies, asked = on_a_link(play)
    assert "selected" not in json.dumps(replies)
    for reply in replies:
        assert "error" in reply or reply["result"] == {"outcome": {"outcome": "cancelled"}}
        assert repr(reply["id"]) not in [repr(rpc_id) for rpc_id in asked], "an open permission waits for a person"
