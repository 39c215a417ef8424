"""The law of tenants: what is another tenant's is neither used nor changed, and looks as if it were not there.

Who decides a request of another tenant's is approval/decider-only's. Source: contract laws, catalogue.
"""

from __future__ import annotations

from lasttick import Target, control, law, must
from lasttick.laws.binding import names_wanted
from lasttick.laws.caller import Caller
from lasttick.laws.judges.alike import absent_names
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable

from .acts import LEASES, NO_ACT, Act, Foreign, act_of, foreign_tools, own_tools
from .leases import term
from .tenant_leases import lease_is_isolated
from .tenant_requests import done_in_own_names, request_is_isolated, stranger_to_requests
from .tenants import Impostor, Names, choices, must_be_as_absent, own_of, pairs_of, theirs


def _seconds(profile: Profile) -> float:
    has_leases = all(profile.reach(verb) is not None for verb in LEASES)
    return 5.0 + (2 * term(profile).high_s if has_leases else 0.0)


@law("tools/tenant-isolated", verbs=("effects",), callers=2, seconds=_seconds)
async def test_tenant_isolated(target: Target) -> None:
    """What is another tenant's (a tool, a session or run, a lease, a request for approval) can be neither used nor
    changed, named as a whole or in part, and answers like what is not there, where tools.foreign is hidden. What one
    does is done in its own tenant's name. How long an answer takes is not judged.
    """
    target.needs("effects")
    profile = target.deployment.profile
    pairs = pairs_of(profile)
    if not pairs:
        tenants = dict.fromkeys(spec.tenant for spec in profile.callers.values() if spec.tenant and not spec.decides)
        named = ", ".join(tenants) or "none"
        raise NotApplicable(f"needs callers of two tenants (`tenant` of [callers]); the profile names {named}")
    has_leases = all(target.bound(verb) for verb in LEASES)
    looks = stranger_to_requests(target, pairs)
    if target.bound("tools.call"):
        for foreign in await foreign_tools(target):
            if (foreign.allowed.name, foreign.other.name) in pairs:
                for route in foreign.routes():
                    await _tool_is_isolated(target, await foreign.on(route), f" on route {route}" if route else "")
        for owner, other in pairs:
            await _calls_are_isolated(target, await _opened(target, owner), await _opened(target, other))
        names = dict.fromkeys(name for pair in pairs for name in pair)
        await done_in_own_names(target, [await _opened(target, name) for name in names])
    elif not has_leases and looks is None:
        raise NotApplicable(NO_ACT)
    if has_leases:
        owner, other = pairs[0]
        await lease_is_isolated(target, await _opened(target, owner), await _opened(target, other))
    if looks is not None:
        await request_is_isolated(target, await _opened(target, looks))
    if not target.cases:
        raise NotApplicable(
            "needs something of one tenant's: a tool, a session, a lease, or a var that both have and use"
        )


async def _opened(target: Target, name: str) -> Caller:
    caller = target.caller(name)
    said = await caller.open()
    control(said.ok, f"{name} cannot open a session", said)
    return caller


async def _works(target: Target, act: Act, caller: Caller, tool: str) -> Said:
    """A good call: who can do nothing of its own is refused whatever it names."""
    said = await Act(target, tool, act.subject).well_and_let_go(caller)
    control(said.ok, f"{caller.name} may use {tool}, and is not answered ok", said)
    control(await target.effect_of(said) is not None, f"a call of {tool} by {caller.name} did not arrive", said)
    return said


# -- a tool that only the other tenant has


async def _tool_is_isolated(target: Target, foreign: Foreign, where: str) -> None:
    tool, owner, other = foreign.tool, foreign.allowed, foreign.other
    own = await own_tools(target, other)
    if not own:
        return  # whoever can do nothing at all is refused for that
    async with act_of(target, tool) as act:
        await _works(target, act, other, own[0])
        await _works(target, act, owner, tool)
        said, effects = await target.sandwich(
            lambda: act.well_and_let_go(owner), lambda: act.call(other, tool), lambda: act.well_and_let_go(owner)
        )
        what = f"{other.name}'s call of {tool}, which only {owner.name}'s tenant has{where},"
        must(not effects, f"{what} happened all the same", said)
        must(not said.ok, f"{what} was answered ok", said)
        control(said.outcome != "lost", f"whether {other.name} had {tool} is not known", said)
        binding = target.deployment.profile.reach("tools.call", other.spec.route)
        if target.deployment.profile.tools.foreign == "refused":
            control(said.refused, f"{what} was {said.answer}", said)
        elif binding is not None and "tool" in names_wanted(binding):

            async def say(names: Names) -> Said:
                return await act.call(other, str(names["called"]))

            known = [tool, *own, *target.deployment.profile.callers[owner.name].may]
            await must_be_as_absent(target, what, say, {"called": tool}, known)
        target.case(f"{tool} of {owner.name}, by {other.name}{where}")


# -- a session, a run or a name of the other tenant's


async def _calls_are_isolated(target: Target, owner: Caller, other: Caller) -> None:
    hers, his = await own_tools(target, owner), await own_tools(target, other)
    taken = theirs(owner, other, "tools.call")
    own = own_of(other)
    if not (hers and his and any(True for _ in choices(taken, own))):
        return
    # One that she has too, so that nothing but whose it is can be the reason.
    tool = next((name for name in his if name in hers), his[0])
    known = [*own.values(), *own_of(owner).values()]
    async with act_of(target, tool) as act:

        async def say(names: Names) -> Said:
            return await act.call(impostor.speaking(names), tool, about=names)

        impostor = Impostor(owner, other, taken)
        await _works(target, act, other, tool)
        for words, names in choices(taken, own):
            what = f"{other.name}'s call with {words} of {owner.name}'s tenant"
            await _works(target, act, owner, hers[0])
            nobodys = absent_names(names, known)
            absent = None if nobodys is None else await say(nobodys)
            said = await say(names)
            if absent is not None and absent.ok:
                continue  # it works with what is not there too: nobody looks at what is named
            await _must_fail(target, what, said)
            await _works(target, act, owner, hers[0])
            await _must_fail(target, what, said)
            if absent is None or target.deployment.profile.tools.foreign == "refused":
                control(said.refused, f"{what} was {said.answer}", said)
            else:
                await must_be_as_absent(target, what, say, names, known)
            target.case(f"{words} of {owner.name}, by {other.name}")


async def _must_fail(target: Target, what: str, said: Said) -> None:
    if said.ok:
        await target.effect_of(said)  # it may be on its way
    must(not await target.effects_with(said.mark), f"{what} happened", said)
    must(not said.ok, f"{what} was answered ok", said)
    control(said.outcome != "lost", f"whether {what} happened is not known", said)
