"""A device refuses the tokens of earlier holders, for a rack in the same process and over HTTP alike (HA-05)."""

from __future__ import annotations

import asyncio

from lasttick.ports import StaleFence
from lasttick_fakes.devices import trouble

from .test_rack import Stage, same

TAP = {"x": 1, "y": 1}


async def said(stage: Stage, fence: int | None, *, claim: bool = False) -> None:
    """Note what the phone answers to a call, or a claim, with this token."""
    driver = stage.by_id["phone-1"]
    try:
        if claim:
            assert fence is not None
            answer = f"idle: {await driver.claim(fence)}"
        else:
            answer = str((await driver.perform("tap", TAP, fence))["ok"])
    except StaleFence:
        answer = "stale"
    stage.answers.append((stage.loop.time(), fence, answer))


def test_a_token_is_good_until_a_later_one_was_seen() -> None:
    async def story(stage: Stage) -> None:
        for fence in (5, 5, 4, 7, 5, None, 7):
            await said(stage, fence)
        for fence in (6, 7, 9):
            await said(stage, fence, claim=True)
        for fence in (7, 8, 9):
            await said(stage, fence)

    history = same(story)
    answers = [answer for _, _, answer in history.answers[1:]]
    assert answers[:7] == ["True", "True", "stale", "True", "stale", "True", "True"]
    assert answers[7:] == ["stale", "idle: True", "idle: True", "stale", "stale", "True"]
    assert [line["kind"] for line in history.log].count("refused") == 4
    assert [line["kind"] for line in history.log].count("start") == 6


def test_a_claim_shuts_out_the_old_holder_before_its_action_has_ended() -> None:
    async def story(stage: Stage) -> None:
        stage.rack.device("phone-1").trouble(trouble.slow("tap", 10))
        running = asyncio.ensure_future(said(stage, 1))
        await asyncio.sleep(1)
        await said(stage, 2, claim=True)
        await said(stage, 1)
        await running
        await said(stage, 2, claim=True)

    assert [answer for _, _, answer in same(story).answers[1:]] == ["idle: False", "stale", "True", "idle: True"]
