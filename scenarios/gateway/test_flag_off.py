"""With the flag off nothing is different from what was before there were tools. Source: contract gateway, GW-12, ruling
10. What was before stands in `flag_off.golden.json`, which is never written by a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.checks.flag_off import Golden, as_off, unlike_off

from .steps_lists import SKILL
from .steps_turns import observed, say_only

GOLDEN = Golden.from_json((Path(__file__).parent / "flag_off.golden.json").read_text())

STEPS: dict[str, dict[str, Any]] = {
    "flag off": {"org_id": "off", "skill": SKILL},
    "flag off, again": {"org_id": "off", "skill": SKILL, "regenerate": True},
    "flag unset": {"org_id": "unset", "skill": SKILL},
    "flag is a text": {"org_id": "text", "skill": SKILL},
    "nothing published": {"org_id": "draft", "skill": SKILL},
    "nothing published, again": {"org_id": "draft", "skill": SKILL, "regenerate": True},
    "no skill": {"org_id": "on"},
    "consultation": {"org_id": "on", "consult": True},
    "no dispatch org": {"org_id": None, "skill": SKILL},
}
FLAGS: dict[str, dict[str, Any]] = {
    "off": {"tool_dispatch_enabled": False},
    "unset": {},
    "text": {"tool_dispatch_enabled": "false"},
    "draft": {"tool_dispatch_enabled": True},
    "on": {"tool_dispatch_enabled": True},
}


async def _gateway(world: World) -> Any:
    gateway = await world.gateway()
    await say_only(gateway)
    for org_id, flags in FLAGS.items():
        state = "draft" if org_id == "draft" else "published"
        await gateway.org(
            org_id, bindings=[{"slug": "order_lookup", "state": state}], skills={SKILL: ["order_lookup"]}, flags=flags
        )
    return gateway


CONVERSATIONS = st.lists(
    st.tuples(st.sampled_from(list(STEPS)), st.sampled_from(["chat", "e-mail", "Anruf ☎"])), min_size=1, max_size=2
)


@scenario("GW-12")
@given(conversation=CONVERSATIONS)
@settings(max_examples=2)
@example(conversation=[(step, "chat") for step in STEPS])
async def test_without_tools_nothing_is_different(world: World, conversation: list[tuple[str, str]]) -> None:
    """Conversations of made-up messages, in which no run has a tool: the flag is off, not set or a text, nothing is
    published, no skill fits, an expert asks, or there is no organisation. The run's metadata, the wire letter for
    letter, the agent program's arguments and environment, that of the server it starts, and the model's tool list are
    as the golden document says."""
    gateway = await _gateway(world)
    turns = []
    for step, channel in conversation:
        text = f"{world.faker.sentence()} {world.faker.name()} äöü {{run_id}} -t"
        turns.append(await observed(gateway, text, channel=channel, **STEPS[step]))
    verdict = as_off(GOLDEN, turns)
    assert verdict.verdict == "pass", verdict.reason


@scenario("GW-12")
async def test_with_tools_every_channel_is_different(world: World) -> None:
    """The flag is on, and the skill matches what is published: by the same comparison, a message and another answer to
    it differ from the golden document in every channel, so the comparison sees what it is there to see."""
    gateway = await _gateway(world)
    turns = [
        await observed(gateway, world.faker.sentence(), org_id="on", skill=SKILL, regenerate=regenerate)
        for regenerate in (False, True)
    ]
    verdict = unlike_off(GOLDEN, turns)
    assert verdict.verdict == "pass", verdict.reason
