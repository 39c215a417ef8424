"""Laws of what follows a yes, judged over everything that the run asked for: it runs, and it runs once."""

from __future__ import annotations

import asyncio

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import Approval, asking
from lasttick.laws.judges.approvals import promises
from lasttick.laws.said import Said

from .approvals import VERBS, arrange, ask, good, is_late, open_until_s, pending, say_yes, takes


@law("approval/told-is-true", verbs=VERBS, seconds=takes(0.5, 5), invariant=True)
async def test_told_is_true(target: Target) -> None:
    """A request is approved; another one after its asker was cut, and one after it was denied.

    Nowhere in the run is a yes, a resume or the asker told ok while what it was about does not run.
    """
    alice, boss = await arrange(target)
    own: dict[str, Approval] = {}
    async with pending(target, alice, boss) as request:
        own["a yes"] = request
        await say_yes(request, boss)
        await request.answered(target.lag_s("approval.decide"))
    asker = alice.twin()
    opened = await asker.open()
    control(opened.ok, f"{alice.name} cannot open another session", opened)
    async with pending(target, asker, boss) as request:
        own["a yes after the asker was cut"] = request
        await asker.vanish()
        await request.decide(boss, "approve")
    async with pending(target, alice, boss) as request:
        own["a yes after a no"] = request
        await request.decide(boss, "deny")
        await say_yes(request, boss)
    for request in list(target.deployment.approvals):
        await _kept(target, request)
    for what, request in own.items():
        if _promised(request):
            target.case(what)
    late = is_late(own["a yes"])
    control(bool(target.cases), "nobody was told ok: no yes was accepted", *own["a yes"].said(), timing=late)


async def _kept(target: Target, request: Approval) -> None:
    told = _promised(request)
    ran = not told or await target.effect_with(request.mark) is not None
    by = told[0].caller if told else ""
    must(ran, f"{by} was told ok, and what {request.asker.name} asked for did not run", *request.said())


def _promised(request: Approval) -> list[Said]:
    if request.seen_s is None:
        return []
    return promises(
        request.decided,
        request.resumed,
        request.answer,
        resumes=request.resumes,
        open_until_s=open_until_s(request),
    )


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
        ran = await request.effect() is not None
        late = is_late(request)
        control(ran, "an approved request did not reach the resource", *request.said(), timing=late)
        await request.decide(boss, "approve")
        if request.resumes:
            await request.resume()
        await good(target, alice, boss)
    for one in list(target.deployment.approvals):
        times = len(await target.effects_with(one.mark))
        must(times <= 1, f"what {one.asker.name} asked for once ran {times} times", *one.said())
    target.case("several yeses and resumes")
