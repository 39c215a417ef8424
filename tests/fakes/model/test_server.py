"""Does the model's server speak chat completions, keep every request, and fail closed?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.targets.transports import memory_transport
from lasttick_fakes.model import Call, FakeModel, Say, Script

TOOLS = [{"type": "function", "function": {"name": "mcp__s__lookup", "parameters": {}}}]
Story = Callable[[FakeModel, httpx.AsyncClient], Awaitable[None]]


def with_model(story: Story, events: list[tuple[str, dict[str, Any]]] | None = None) -> None:
    async def main(loop: VirtualLoop) -> None:
        heard = [] if events is None else events
        scripts = [Script("LOOK", (Call.one("lookup", order_id="Ä"), Say("got it, thank you very much", "hm")))]
        model = FakeModel(VirtualClock(loop), scripts, lambda kind, data: heard.append((kind, data)))
        network = Network()
        network.serve("model:80", model)
        async with httpx.AsyncClient(transport=memory_transport(network), base_url="http://model") as client:
            await story(model, client)

    run_virtual(main)


def body(*messages: tuple[str, str], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": text} for role, text in messages], **more}


def deltas(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = [line for line in answer.text.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


def test_a_tool_call_is_streamed_in_pieces() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        asked = body(("user", "LOOK"), stream=True, tools=TOOLS)
        answer = await client.post("/v1/chat/completions", json=asked)
        assert answer.headers["content-type"].startswith("text/event-stream")
        frames = deltas(answer)
        assert frames[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        function = {"name": "mcp__s__lookup", "arguments": json.dumps({"order_id": "Ä"})}
        call = {"index": 0, "id": "call_1_0", "type": "function", "function": function}
        assert frames[1]["choices"][0]["delta"] == {"tool_calls": [call]}
        assert frames[2]["choices"][0]["finish_reason"] == "tool_calls"
        assert frames[3]["choices"] == []
        assert frames[3]["usage"]["total_tokens"] == 110
        assert {frame["model"] for frame in frames} == {"m"}

    with_model(story)


def test_a_text_is_streamed_in_pieces_behind_what_was_thought() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        asked = body(("user", "LOOK"), ("assistant", ""), ("tool", "x"), stream=True, tools=TOOLS)
        frames = deltas(await client.post("/v1/chat/completions", json=asked))
        pieces = [choice["delta"] for frame in frames for choice in frame["choices"]]
        assert pieces[1] == {"reasoning_content": "hm"}
        assert "".join(piece.get("content", "") for piece in pieces) == "got it, thank you very much"
        assert sum("content" in piece for piece in pieces) == 3
        assert frames[-2]["choices"][0]["finish_reason"] == "stop"

    with_model(story)


def test_without_stream_the_answer_is_whole() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = (await client.post("/v1/chat/completions", json=body(("user", "LOOK"), tools=[]))).json()
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] is None
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "lookup"
        asked = body(("user", "LOOK"), ("assistant", ""), tools=[])
        said = (await client.post("/v1/chat/completions", json=asked)).json()["choices"][0]["message"]
        assert said == {"role": "assistant", "content": "got it, thank you very much", "reasoning_content": "hm"}

    with_model(story)


def test_a_helper_request_is_answered_whatever_the_prompt_and_uses_up_no_step() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/chat/completions", json=body(("user", "a title for LOOK, please")))
        assert answer.json()["choices"][0]["message"]["content"] == "A conversation"
        streaming = await client.post("/v1/chat/completions", json=body(("user", "LOOK"), stream=True))
        assert "tool_calls" in streaming.text, "an agent whose servers all failed sends no tools, and is no helper"
        assert [asked.helper for asked in model.requests()] == [True, False]

    with_model(story)


def test_every_request_is_kept_as_it_came() -> None:
    events: list[tuple[str, dict[str, Any]]] = []

    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        raw = b'{"tools": [], "messages": [{"role": "user", "content": "LOOK"}], "stream": false}'
        await client.post("/v1/chat/completions", content=raw, headers={"authorization": "Bearer k"})
        await asyncio.sleep(1)
        await client.post("/v1/chat/completions", json=body(("user", "LOOK"), stream=True, tools=TOOLS))
        await client.post("/v1/chat/completions", json=body(("user", "LOOK"), stream=True))
        first, second, third = model.requests()
        assert (first.raw, first.authorization, first.t_ns, first.tools) == (raw, "Bearer k", 0, ())
        assert (second.tools, second.t_ns, second.authorization) == (("mcp__s__lookup",), 1_000_000_000, None)
        assert third.tools is None, "no list is not an empty list"
        told = (await client.get("/requests?after=1")).json()["requests"]
        assert told == [second.as_json(), third.as_json()]
        assert told[0]["tools"] == ["mcp__s__lookup"]
        assert model.requests(after=2) == [third]

    with_model(story, events)
    assert [kind for kind, _ in events] == ["model.request"] * 3
    assert events[1][1]["tools"] == ["mcp__s__lookup"]


def test_a_prompt_without_a_script_is_refused_by_naming_those_there_are() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/chat/completions", json=body(("user", "hello"), tools=[]))
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == (
            "no script for the prompt 'hello'; known words: LOOK; PUT /scripts"
        )
        assert len(model.requests()) == 1, "it is kept all the same"

    with_model(story)


@pytest.mark.parametrize("content", [b"", b"[]", b"nope", b'{"messages": NaN}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_is_refused(content: bytes) -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/chat/completions", content=content)
        assert answer.status_code == 400
        assert not model.requests()

    with_model(story)


@pytest.mark.parametrize("messages", [None, 7, "LOOK", [7], [{"role": "user", "content": None}]])
def test_odd_messages_are_a_prompt_without_a_script(messages: Any) -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = await client.post("/v1/chat/completions", json={"messages": messages, "tools": 7, "stream": True})
        assert answer.status_code == 400
        assert model.requests()[0].tools == ()

    with_model(story)


def test_it_thinks_as_long_as_the_script_says() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        model.script("SLOW", Say("now", after_s=7))
        await client.post("/v1/chat/completions", json=body(("user", "SLOW"), tools=[]))
        assert asyncio.get_running_loop().time() == 7

    with_model(story)


def test_a_stream_comes_in_pieces_with_time_between_them_and_none_after_the_last() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        model.script("LONG", Say("one two three", piece_chars=5, every_s=2))
        came: list[tuple[float, str]] = []
        asked = body(("user", "LONG"), tools=[], stream=True)
        async with client.stream("POST", "/v1/chat/completions", json=asked) as answer:
            async for line in answer.aiter_lines():
                delta = json.loads(line[6:])["choices"] if line.startswith("data: {") else []
                if delta and (text := delta[0]["delta"].get("content")):
                    came.append((asyncio.get_running_loop().time(), text))
        assert came == [(0, "one t"), (2, "wo th"), (4, "ree")]
        assert asyncio.get_running_loop().time() == 4

    with_model(story)


def test_a_text_comes_before_the_calls_of_its_message() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        model.script("BOTH", Call((("lookup", {}),), text="I will look."))
        whole = await client.post("/v1/chat/completions", json=body(("user", "BOTH"), tools=TOOLS))
        message = whole.json()["choices"][0]["message"]
        assert (message["content"], len(message["tool_calls"])) == ("I will look.", 1)
        streamed = await client.post("/v1/chat/completions", json=body(("user", "BOTH"), tools=TOOLS, stream=True))
        told = [one["choices"][0]["delta"] for one in deltas(streamed) if one["choices"]]
        assert [next(iter(delta), "") for delta in told] == ["role", "content", "tool_calls", ""]

    with_model(story)


def test_requests_on_the_side_have_scripts_of_their_own_and_else_one_answer() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        put = {"word": "LOOK", "steps": [{"say": "DENY"}], "helper": True}
        for word, said in (("LOOK", "A conversation"), ("LOOK", "DENY"), ("else", "A conversation")):
            answer = await client.post("/v1/chat/completions", json=body(("user", word)))
            assert answer.json()["choices"][0]["message"]["content"] == said
            assert (await client.put("/scripts", json=put)).json() == {"ok": True}
        answer = await client.post("/v1/chat/completions", json=body(("user", "LOOK"), tools=TOOLS))
        assert answer.json()["choices"][0]["finish_reason"] == "tool_calls", "the other scripts are as they were"
        model.reset()
        answer = await client.post("/v1/chat/completions", json=body(("user", "LOOK")))
        assert answer.json()["choices"][0]["message"]["content"] == "A conversation"

    with_model(story)


def test_scripts_can_be_put_over_the_wire_and_reset() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        put = await client.put("/scripts", json={"word": "NEW", "steps": [{"say": "new"}]})
        assert put.json() == {"ok": True}
        answer = await client.post("/v1/chat/completions", json=body(("user", "NEW"), tools=[]))
        assert answer.json()["choices"][0]["message"]["content"] == "new"
        assert (await client.put("/scripts", json={"word": "NEW"})).status_code == 400
        assert (await client.post("/reset")).json() == {"ok": True}
        assert not model.requests()
        answer = await client.post("/v1/chat/completions", json=body(("user", "NEW"), tools=[]))
        assert answer.status_code == 400
        assert [asked.seq for asked in model.requests()] == [2]

    with_model(story)


def test_models_are_listed_where_agents_look_and_not_beside() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/models")).json()["data"][0]["id"] == "scripted-model"
        assert (await client.get("/api/v1/models")).status_code == 404
        assert (await client.get("/v1/chat/completions")).status_code == 405

    with_model(story)


def test_what_a_turn_was_offered_is_found_by_its_prompt() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("mcp__s__shop__get_order", "terminal")]

    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        for text, offered in (("LOOK once", TOOLS), ("LOOK twice", tools)):
            await client.post("/v1/chat/completions", json=body(("user", text), tools=offered))
        await client.post("/v1/chat/completions", json=body(("user", "LOOK at a title")))
        both = [{"name": "mcp__s__shop__get_order", "short": "get_order"}, {"name": "terminal", "short": "terminal"}]
        one = [{"name": "mcp__s__lookup", "short": "lookup"}]
        for text, seq, found in (("LOOK", 2, both), ("once", 1, one), ("twice", 2, both)):
            answer = await client.get("/offered", params={"prompt": text})
            assert answer.json() == {"seq": seq, "tools": found}

    with_model(story)


def test_a_turn_that_is_to_come_is_waited_for() -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        missing = await client.get("/offered?prompt=LOOK")
        assert (missing.status_code, "send the message first" in missing.text) == (404, True)
        waiting = asyncio.ensure_future(client.get("/offered?prompt=LOOK&wait_s=5"))
        await asyncio.sleep(4)
        await client.post("/v1/chat/completions", json=body(("user", "LOOK"), tools=[]))
        assert (await waiting).json() == {"seq": 1, "tools": []}
        assert (await client.get("/offered?prompt=NEVER&wait_s=1")).status_code == 404

    with_model(story)


@pytest.mark.parametrize("wait", ["-1", "x", "61", "\u0661", ""])
def test_a_wait_that_is_none(wait: str) -> None:
    async def story(model: FakeModel, client: httpx.AsyncClient) -> None:
        answer = await client.get("/offered", params={"wait_s": wait})
        assert (answer.status_code, "expected whole seconds" in answer.text) == (400, True)

    with_model(story)
