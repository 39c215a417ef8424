"""In whose name is something done, and who may see how a request of another tenant's stands?"""

from __future__ import annotations

from lasttick import Target, control, must
from lasttick.laws.approval_subject import may_decide
from lasttick.laws.caller import Caller
from lasttick.laws.said import Said

from .acts import act_of, own_tools
from .approvals import arrange, askers, is_undecided, pending
from .tenants import Names, must_be_as_absent, own_of, theirs

REQUESTS = ("approval.request", "approval.decide", "approval.outcome")


async def done_in_own_names(target: Target, callers: list[Caller]) -> None:
    """With the sessions of all of them open, each does something: at the resource it is that caller's tenant's.

    Nothing is judged where `effects` does not say whose an effect is.
    """
    for caller in callers:
        tools = await own_tools(target, caller)
        if not tools:
            continue
        async with act_of(target, tools[0]) as act:
            said = await act.well_and_let_go(caller)
            effect = await target.effect_of(said)
            told = f"{caller.name} may use {tools[0]}, and its call was {said.answer}"
            control(effect is not None or said.ok, told, said)
            control(effect is not None, f"a call of {tools[0]} by {caller.name} did not arrive", said)
        assert effect is not None
        if (tenant := effect.row.get("tenant")) is None:
            return
        what = f"a call of {caller.name}, who is {caller.spec.tenant}'s, was carried out as {tenant}'s"
        must(tenant == caller.spec.tenant, what, said)
        target.case(f"{tools[0]} of {caller.name} is its own tenant's")


async def request_is_isolated(target: Target, other: Caller) -> None:
    """`other` asks how a request stands that waits for a person of another tenant: it is not told, and it waits on."""
    alice, boss = await arrange(target, *REQUESTS)
    async with pending(target, alice, boss) as request:
        names = theirs(alice, other, "approval.outcome", {**request.names, "id": request.id})
        known = list(own_of(other, request.names).values())

        async def say(names: Names) -> Said:
            return await other.say("approval.outcome", names, **({"id": names["id"]} if "id" in names else {}))

        if not names:
            return
        what = f"{other.name}'s look at a request of {alice.name}'s tenant"
        said = await say(names)
        must(not said.ok, f"{what} was answered ok", said)
        control(said.outcome != "lost", f"whether {other.name} was told is not known", said)
        if target.deployment.profile.tools.foreign == "refused":
            control(said.refused, f"{what} was {said.answer}", said)
        else:
            await must_be_as_absent(target, what, say, names, known)
        await is_undecided(request, boss, f"after {other.name} of another tenant had looked at it")
        target.case(f"how a request of {alice.name} stands, by {other.name}")


def stranger_to_requests(target: Target, pairs: list[tuple[str, str]]) -> str | None:
    """Who is of another tenant than whoever asks, and could name a request of his; None: nobody, or no request."""
    if not all(target.bound(verb) for verb in REQUESTS):
        return None
    profile, asker = target.deployment.profile, next(iter(askers(target)), "")
    if not any(may_decide(profile, name, asker) for name in profile.callers):
        return None
    return next((other for owner, other in pairs if owner == asker), None)
