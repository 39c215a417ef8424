"""How a busy resource answers, for each declared policy, and what such an answer must not tell. Verbs only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from lasttick import Target, control, must
from lasttick.laws.binding import names_wanted
from lasttick.laws.caller import Caller
from lasttick.laws.judges.leaks import issued
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Said
from lasttick.laws.subject import Subject

from .lease_calls import Watch, short_call_of
from .leases import (
    acted,
    begin,
    let_go,
    running,
    term_of,
)


async def busy_refuses(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """Asked thrice, since one answer may have been long on its way."""
    target = watch.target
    limit_s = target.lag_s("lease.acquire") + target.tolerance_s
    answers: list[Said] = []
    compared = True
    for _ in range(TRIES):
        if lease.holder is not alice:
            await begin(target, lease, alice)
        said = await lease.acquire(bob)
        control(said.outcome not in ("lost", "error"), "a busy resource gave no answer that says anything", said)
        answers.append(said)
        if said.answered_s - said.sent_s > limit_s:
            compared = await _read(lease, bob) and compared
        if said.ok:  # he waited until her lease was over, or she never had one
            await acted(target, lease, bob, said)
            await watch.judged()
            await let_go(target, lease, bob)
    await _may_have_it(lease, alice, bob, answers)
    fastest_s = min(said.answered_s - said.sent_s for said in answers)
    slowest_s = max(_trips_s(target, answers))
    text = f"an answer took {fastest_s:.3f} s at least; declared: {limit_s:.3f} s (lag_s and tolerance_s of [lease])"
    slow = fastest_s > limit_s + slowest_s
    # Time alone says nothing of the target: what is read right after it, on the same way, tells it from the network.
    must(not (slow and compared), f"{text}, and no other answer took more than {slowest_s:.3f} s", *answers)
    for said in answers:
        control(not said.ok, "the lease may have been over already", said, timing=True)
        must(said.outcome == "busy", f"a busy resource answered {said.outcome}; lease.busy = refuses means busy", said)
    why = "but nothing else of it could be read to compare" if slow else "but others took as long"
    control(fastest_s <= limit_s, f"{text}, {why}", *answers, timing=True)
    return answers


async def _read(lease: Subject, bob: Caller) -> bool:
    """He reads something of the target, by the way on which he asked; whether he could."""
    if bob.can("lease.holder"):
        return (await bob.say("lease.holder", resource=lease.resource)).ok
    return bob.can("tools.list") and (await bob.list_tools()).ok


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
    await _may_have_it(lease, alice, bob, [said])
    must(not said.refused, f"a busy resource answered {said.outcome}; lease.busy = queues means to wait", said)
    control(said.ok, f"{bob.name} was queued and did not get the resource when it was free", said)
    control(said.pending_s is not None, f"{bob.name} was not seen to wait; lease.acquire needs a poll", said)
    return [said]


async def busy_provisions(watch: Watch, lease: Subject, alice: Caller, bob: Caller) -> list[Said]:
    """He gets another one."""
    target, hers = watch.target, lease.resource
    said = await lease.acquire(bob)
    await _may_have_it(lease, alice, bob, [said])
    must(not said.refused, f"a busy resource answered {said.outcome}; lease.busy = provisions means another one", said)
    control(said.ok, f"{bob.name} was not granted a resource", said)
    control(hers is not None and said.resource is not None, "lease.acquire puts out no resource to compare", said)
    await acted(target, lease, bob, said)
    must(said.resource != hers, f"{bob.name} was given {hers}, which {alice.name} holds", said)
    return [said]


BUSY = {"refuses": busy_refuses, "queues": busy_queues, "provisions": busy_provisions}


async def _may_have_it(lease: Subject, alice: Caller, bob: Caller, answers: list[Said]) -> None:
    """Who is denied what is free too may not have it at all, and that says nothing of a busy one."""
    if all(said.outcome != "denied" for said in answers):
        return
    said = await _when_free(lease, alice, bob)
    control(said.ok, f"{bob.name} is denied the resource also when it is free", *answers, said)


async def _when_free(lease: Subject, alice: Caller, bob: Caller) -> Said:
    """What he is answered when she has let it go, or must have lost it."""
    target = lease.target
    freed = await let_go(target, lease, alice) if lease.holder is alice else None
    await target.sleep(target.lag_s("lease.release") if freed is not None else term_of(target).high_s)
    return await lease.acquire(bob)


def _trips_s(target: Target, without: list[Said]) -> list[float]:
    """What the other answers of this law took, without the time that a call was to last."""
    own = [said for said in target.deployment.history if said.law == target.law and said not in without]
    return [said.answered_s - said.sent_s - float(said.inputs.get("hold", 0.0)) for said in own]


async def secrets_of(lease: Subject, alice: Caller, bob: Caller) -> dict[str, str]:
    """What opens doors for Alice, who holds the lease, and not for Bob, by name.

    Her session, her headers and variables, and what she was told of her lease and her session, where a binding presents
    it again and the report that everybody reads does not show it.
    """
    target = lease.target
    secrets = {"session id": alice.wire.session_id or ""}
    for kind in ("headers", "env", "vars"):
        his = getattr(bob.spec, kind)
        for name, value in getattr(alice.spec, kind).items():
            if isinstance(value, str) and value not in his.values():
                secrets[f"{name} of her {kind}"] = value.rpartition(" ")[2]
    public = ""
    if target.bound("lease.holder"):
        public = _shown(await lease.reported())
    presented = _presented(target.deployment.profile)
    for given in (*lease.told(alice), alice.names):
        for name, value in given.items():
            is_hers = name in presented and name != "resource" and value not in bob.names.values()
            if is_hers and isinstance(value, str) and not _holds(public, value):
                secrets[f"{name} that she was given"] = value
    for secret in issued(target.deployment.profile, target.deployment.history):
        if alice.name in secret.known_to and bob.name not in secret.known_to:
            secrets[secret.name] = secret.value
    named = (lease.name, lease.resource)
    return {name: value for name, value in secrets.items() if len(value) >= SECRET_CHARS_MIN and value not in named}


def _presented(profile: Profile) -> set[str]:
    """The names of what any binding sends."""
    verbs = [profile.bound_verbs(), *(route.bound_verbs() for route in profile.routes.values())]
    bindings = [binding for bound in verbs for binding in bound.values()]
    parts = [*bindings, *(binding.poll for binding in bindings if binding.poll is not None)]
    return {name for part in parts for name in names_wanted(part)}


async def must_tell_nothing(
    lease: Subject, alice: Caller, bob: Caller, answers: Sequence[Said], secrets: dict[str, str]
) -> None:
    """What is the same for everybody who is granted the resource is no secret of hers."""
    found = [(said, name) for said in answers for name, value in secrets.items() if _holds(_shown(said), value)]
    if not found:
        return
    his = next((said for said in answers if said.ok), None) or await _when_free(lease, alice, bob)
    own = [*his.out.values(), *bob.names.values()] if his.ok else []
    for said, name in found:
        must(secrets[name] in own, f"the answer to {said.caller} has the {name} of the holder in it", said)


def _shown(said: Said) -> str:
    return _text(said.reply.document()) + said.reply.raw


def _holds(text: str, value: str) -> bool:
    """As a word of its own: `session-1` is not in `session-12`."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])", text) is not None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


TRIES = 3
SECRET_CHARS_MIN = 8
"""Shorter ones occur by chance."""
