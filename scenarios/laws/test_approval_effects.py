"""Laws of what follows a yes, judged over everything that the run asked for: it runs, and it runs once."""

from __future__ import annotations

import asyncio

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import asking
from lasttick.laws.judges.approvals import promises

from .approvals import VERBS, arrange, ask, good, open_until_s, pending, say_yes, takes


@law("approval/told-is-true", verbs=VERBS, seconds=takes(0.5, 5), invariant=True)
async def test_told_is_true(target: Target) -> None:
    """A request is approved; another one after its asker was cut, and one after it was denied.

    Nowhere in the run is a yes, a resume or the asker told ok while what it was about does not run.
    """
    alice, boss = await arrange(target)
    async with pending(target, alice, boss) as request:
        await say_yes(request, boss)
        await request.answered(target.lag_s("approval.decide"))
    asker = alice.twin()
    opened = await asker.open()
    control(opened.ok, f"{alice.name} cannot open another session", opened)
    async with pending(target, asker, boss) as request:
        await asker.vanish()
        await request.decide(boss, "approve")
    async with pending(target, alice, boss) as request:
        await request.decide(boss, "deny")
        await say_yes(request, boss)
    for request in list(target.deployment.approvals):
        if request.seen_s is None:
            continue
        told = promises(
            request.decided,
            request.resumed,
            request.answer,
            resumes=request.resumes,
            open_until_s=open_until_s(request),
        )
        if not told:
            continue
        ran = await target.effect_with(request.mark) is not None
        must(ran, f"{told[0].caller} was told ok, and what {request.asker.name} asked for did not run", *request.said())
        target.case(f"{told[0].verb} about what {request.asker.name} asked for")
    control(bool(target.cases), "nobody was told ok: no yes was accepted", *request.said())


@law("approval/once-only", verbs=VERBS, seconds=takes(0.5, 4), invariant=True)
async def test_once_only(target: Target) -> None:
    """A request gets two yeses at the same time and a third one later, and the asker goes on as often.

    Nowhere in the run does a request have more than one effect.
    """
    alice, boss = await arrange(target)
    second = boss.twin()
    opened = await second.open()
    control(opened.ok, f"{boss.name} cannot open another session", opened)
    async with asking(target, alice, boss) as request:
        await ask(request)
        await asyncio.gather(request.decide(boss, "approve"), request.decide(second, "approve"))
        if request.resumes:
            await asyncio.gather(request.resume(), request.resume())
        control(await request.effect() is not None, "an approved request did not reach the resource", *request.said())
        await request.decide(boss, "approve")
        if request.resumes:
            await request.resume()
        await good(target, alice, boss)
    for one in list(target.deployment.approvals):
        times = len(await target.effects_with(one.mark))
        must(times <= 1, f"what {one.asker.name} asked for once ran {times} times", *one.said())
        if times == 1:
            target.case(f"what {one.asker.name} asked for")
