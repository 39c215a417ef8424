"""The law of silence: nothing runs, and nothing is reported as approved, unless a decider said yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import TypeAlias

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import Approval
from lasttick.laws.caller import Caller
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable

from .approvals import VERBS, arrange, fresh, good, in_time, pending, reads_outcome, takes, until_over

Act: TypeAlias = Callable[[Approval], Awaitable[Said | None]]
NEITHER = "lasttick-neither-yes-nor-no"


@law("approval/silence-is-not-yes", verbs=VERBS, seconds=takes(3, 8), restarts=True)
async def test_silence_is_not_yes(target: Target) -> None:
    """Requests are left alone until they end: nobody answers, the asker or the decider is cut, the target restarts, the
    answer is no decision, the asker goes on undecided. None of them runs or is reported as approved.
    """
    alice, boss = await arrange(target)
    await good(target, alice, boss, early=must)
    acts: dict[str, Act] = {"the deadline passed": _nothing, "the asker was cut": _asker_cut}
    for what, word in _malformed(target, boss).items():
        acts[what] = _says(boss, word)
    left_out = []
    if alice.can("approval.resume"):
        acts["the asker went on undecided"] = _resumes
    else:
        left_out.append("going on undecided (approval.resume is not bound)")
    await _silent(target, alice, boss, acts)
    await _silent(target, alice, boss, {"the decider was cut": _cut(boss)})
    if target.bound("system.restart"):
        await _silent(target, alice, boss, {"the target was restarted": _restart(target, boss)})
    else:
        left_out.append("a restart (system.restart is not bound)")
    if left_out:
        target.cases[-1] += f"; left out: {', '.join(left_out)}"


async def _silent(target: Target, alice: Caller, boss: Caller, acts: Mapping[str, Act]) -> None:
    """Each act on a request of its own, in a session of its own; then all are waited for."""
    async with AsyncExitStack() as stack:
        requests: dict[str, Approval] = {}
        for what in acts:
            asker = alice.twin()
            opened = await asker.open()
            control(opened.ok, f"{alice.name} cannot open another session", opened)
            requests[what] = await stack.enter_async_context(pending(target, asker, boss, early=must))
        tried_s: dict[str, float] = {}
        for what, act in acts.items():
            tried_s[what] = target.now_s
            said = await act(requests[what])
            tried_s[what] = tried_s[what] if said is None else said.answered_s
        for request in requests.values():
            await until_over(request)
        for caller in (alice, boss):
            await fresh(caller)
        await good(target, alice, boss, early=must)
        for what, request in requests.items():
            await _has_not_run(what, request)
            in_time(request, tried_s[what])
            target.case(what)


async def _has_not_run(what: str, request: Approval) -> None:
    must(not await request.effects(), f"it ran without a yes: {what}", *request.said())
    answer = request.answer
    told = request.blocks and answer is not None and answer.ok
    must(not told, f"the asker was answered ok without a yes: {what}", *request.said())
    if reads_outcome(request):
        record = await request.record()
        must(record.state != "approved", f"it is reported as approved without a yes: {what}", record.said)
        control(record.said.outcome != "lost", f"how it ended is not known: {what}", record.said)


async def _nothing(request: Approval) -> None:
    return None


async def _asker_cut(request: Approval) -> None:
    await request.asker.vanish()


async def _resumes(request: Approval) -> Said:
    return await request.resume()


def _cut(boss: Caller) -> Act:
    async def act(request: Approval) -> None:
        await boss.vanish()

    return act


def _says(boss: Caller, word: str) -> Act:
    async def act(request: Approval) -> Said:
        return await request.decide_in_words(boss, word)

    return act


def _restart(target: Target, boss: Caller) -> Act:
    async def act(request: Approval) -> None:
        await target.restart()

    return act


def _malformed(target: Target, boss: Caller) -> dict[str, str]:
    """Answers that are no decision; one has the word for yes in it."""
    way = target.deployment.way("approval.decide", boss.spec.route)
    if way is None:
        raise NotApplicable("needs the verb approval.decide, which the profile does not bind")
    yes = way.binding.say.get("approve", "approve")
    return {"the answer was no decision": NEITHER, "the answer was a text about the word for yes": f"do not {yes}"}
