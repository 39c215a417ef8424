"""How a busy resource answers, for each declared policy, and what such an answer must not tell. Verbs only."""

from __future__ import annotations

import json
from typing import Any

from lasttick import Target, control, must
from lasttick.laws.caller import Caller
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject

from .leases import Watch, acted, begin, let_go, running, short_call_of


async def busy_refuses(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """Asked thrice, since one answer may have been long on its way."""
    target = watch.target
    answers = []
    for _ in range(TRIES):
        if lease.holder is not alice:
            await begin(target, lease, alice)
        said = await lease.acquire(bob)
        control(said.outcome not in ("lost", "error"), "a busy resource gave no answer that says anything", said)
        answers.append(said)
        if said.ok:  # he waited until her lease was over, or she never had one
            await acted(target, lease, bob, said)
            await watch.judged()
            await let_go(target, lease, bob)
    limit_s = target.lag_s("lease.acquire") + target.tolerance_s
    fastest_s = min(said.answered_s - said.sent_s for said in answers)
    slowest_s = max(_trips_s(target, answers))
    text = f"an answer took {fastest_s:.3f} s at least; declared: {limit_s:.3f} s (lag_s and tolerance_s of [lease])"
    must(fastest_s <= limit_s + slowest_s, f"{text}, and no other answer took more than {slowest_s:.3f} s", *answers)
    for said in answers:
        control(not said.ok, "the lease may have been over already", said, timing=True)
        must(said.outcome == "busy", f"a busy resource answered {said.outcome}; lease.busy = refuses means busy", said)
    control(fastest_s <= limit_s, f"{text}, but others took as long", *answers, timing=True)
    return answers


async def busy_queues(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """He waits until she lets go, and then has it."""
    target = watch.target
    async with running(lease.acquire(bob)) as asked:
        await target.sleep(short_call_of(target))
        await let_go(target, lease, alice)
        said = await asked
    if said.ok:
        await acted(target, lease, bob, said)
    await watch.judged()
    must(
        not said.refused, f"a busy resource answered {said.outcome}; lease.busy = queues means a place in a queue", said
    )
    control(said.ok, f"{bob.name} was queued and did not get the resource when it was free", said)
    control(said.pending_s is not None, f"{bob.name} was not seen to wait; lease.acquire needs a poll", said)
    return [said]


async def busy_provisions(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """He gets another one."""
    target, hers = watch.target, lease.resource
    said = await lease.acquire(bob)
    must(not said.refused, f"a busy resource answered {said.outcome}; lease.busy = provisions means another one", said)
    control(said.ok, f"{bob.name} was not granted a resource", said)
    control(hers is not None and said.resource is not None, "lease.acquire puts out no resource to compare", said)
    await acted(target, lease, bob, said)
    must(said.resource != hers, f"{bob.name} was given {hers}, which {alice.name} holds", said)
    return [said]


BUSY = {"refuses": busy_refuses, "queues": busy_queues, "provisions": busy_provisions}


def _trips_s(target: Target, without: list[Said]) -> list[float]:
    """What the other answers of this law took, without the time that a call was to last."""
    own = [said for said in target.deployment.history if said.law == target.law and said not in without]
    return [said.answered_s - said.sent_s - float(said.inputs.get("hold", 0.0)) for said in own]


def secrets_of(alice: Caller, bob: Caller) -> dict[str, str]:
    """What opens doors for Alice and not for Bob, by name: her session, her headers and variables."""
    secrets = {"session id": alice.wire.session_id or ""}
    for kind in ("headers", "env", "vars"):
        his = getattr(bob.spec, kind)
        for name, value in getattr(alice.spec, kind).items():
            if isinstance(value, str) and value not in his.values():
                secrets[f"{name} of her {kind}"] = value.rpartition(" ")[2]
    return {name: value for name, value in secrets.items() if len(value) >= SECRET_CHARS_MIN}


def must_not_tell(said: Said, secrets: dict[str, str]) -> None:
    told = _text(said.reply.document()) + said.reply.raw
    for name, value in secrets.items():
        must(value not in told, f"the answer to {said.caller} has the {name} of the holder in it", said)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


TRIES = 3
SECRET_CHARS_MIN = 8
"""Shorter ones occur by chance."""
