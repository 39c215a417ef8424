"""The link against the recorded frames of both versions of the real agent: it says what the recorded client said."""

import asyncio
import json
from pathlib import Path

import pytest

from .links_rig import Rig, on_a_link

FIXTURES = Path(__file__).parents[2] / "fixtures/hermes"
NAMES = [
    "acp_permission_allow",
    "acp_permission_deny",
    "acp_permission_outcome_cancelled",
    "acp_permission_parallel",
    "acp_permission_allow_session",
    "acp_cancel_mid_stream",
    "acp_cancel_during_permission",
    "acp_smart_deny",
]


def frames(version: str, name: str) -> list[tuple[str, dict]]:
    lines = (FIXTURES / version / f"{name}.jsonl").read_text().splitlines()
    return [(line["dir"], line["frame"]) for line in map(json.loads, lines) if line["frame"] is not None]


@pytest.mark.parametrize("version", ["0.17.0", "0.19.0"])
@pytest.mark.parametrize("name", NAMES)
def test_the_link_says_what_the_recorded_client_said_and_hears_all_of_it(version, name):
    """The recorded agent speaks its part when ours is said; every frame of ours must be the recorded one."""
    recorded = frames(version, name)

    async def play(rig: Rig):
        rig.agent.answers = {}
        calls: list[asyncio.Task] = []
        place = 0
        for direction, frame in recorded:
            if direction == "agent->client":
                rig.agent.say(frame)
                continue
            await rig.settle()
            calls.append(asyncio.create_task(call(rig, frame)))
            async with asyncio.timeout(10):
                while len(rig.agent.heard) <= place:
                    await asyncio.sleep(0.001)
            assert same(rig.agent.heard[place], frame)
            place += 1
        results = await asyncio.gather(*calls)
        await rig.settle()
        return rig, results

    rig, results = on_a_link(play)
    said = [frame for direction, frame in recorded if direction == "agent->client"]
    assert len(rig.agent.heard) == len(recorded) - len(said)
    updates = [(frame["params"]["sessionId"], frame["params"]["update"]) for frame in said if is_update(frame)]
    assert [event[1:] for event in rig.seen.of("updated")] == updates
    asked = [frame for frame in said if frame.get("method") == "session/request_permission"]
    assert [event[1].rpc_id for event in rig.seen.of("permission")] == [frame["id"] for frame in asked]
    assert [event[1].tool_call for event in rig.seen.of("permission")] == [
        frame["params"]["toolCall"] for frame in asked
    ]
    assert rig.seen.of("refused") == rig.seen.of("undecodable") == []
    ends = [result for result in results if result is not None]
    prompts = [frame["id"] for _, frame in recorded if frame.get("method") == "session/prompt"]
    answers = {frame["id"]: frame for frame in said if "method" not in frame}
    assert [end.stop_reason for end in ends] == [answers[i].get("result", {}).get("stopReason") for i in prompts]
    assert [end.error_code for end in ends] == [answers[i].get("error", {}).get("code") for i in prompts]
    assert [end.has_usage for end in ends] == ["usage" in answers[i].get("result", {}) for i in prompts]


async def call(rig: Rig, frame: dict):
    """What the core asks of the link so that it says this frame; of a prompt, its end."""
    method, params = frame.get("method"), frame.get("params")
    if method == "initialize":
        return await rig.link.start(rig.seen)
    if method == "session/new":
        await rig.link.new_session()
        return None
    if method == "session/cancel":
        return await rig.link.cancel(params["sessionId"])
    if method == "session/prompt":
        return await rig.link.prompt(params["sessionId"], [block["text"] for block in params["prompt"]])
    return await rig.link.answer(frame["id"], frame["result"]["outcome"].get("optionId"))


def same(ours: dict, theirs: dict) -> bool:
    """All but who we are, what we can (nothing, both say) and our folder."""
    if theirs.get("method") == "initialize":
        return ours["id"] == theirs["id"] and ours["params"]["protocolVersion"] == theirs["params"]["protocolVersion"]
    if theirs.get("method") == "session/new":
        return ours == {**theirs, "params": {**theirs["params"], "cwd": "/work-folder"}}
    return ours == theirs


def is_update(frame: dict) -> bool:
    return frame.get("method") == "session/update"
