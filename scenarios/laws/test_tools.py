"""Laws about who may call which tool, and about what never comes out. Source: contract laws, catalogue."""

from __future__ import annotations

from lasttick import Target, control, law, must
from lasttick.laws.binding import names_wanted
from lasttick.laws.caller import Caller
from lasttick.laws.judges.leaks import issued, kind_of, leaks, shows, unseen_canaries
from lasttick.laws.judges.secrets import CHARS_MIN, Secret, too_short
from lasttick.laws.judges.tools import ABSENT
from lasttick.laws.judges.untouched import judged
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.said import Effect, Said
from lasttick.laws.verdict import NotApplicable, NotShown

from .acts import LEASES, Act, Foreign, act_of, foreign_tools, usual_tool
from .leases import let_go
from .limits import is_limited, reads_of


def _tried_s(profile: Profile) -> float:
    return 3.0 + 2 * profile.lag_of("lease.release")


@law("tools/hidden-is-refused", verbs=("tools.list", "tools.call", "effects"), callers=2, seconds=_tried_s)
async def test_hidden_is_refused(target: Target) -> None:
    """A tool that one caller sees, and another does not see or may not use, is refused to the other under that same
    name, on every route, and does not happen."""
    target.needs("tools.list", "tools.call", "effects")
    found = await foreign_tools(target)
    if not found:
        raise NotApplicable(
            "needs a tool that a law may call (in somebody's `may`, or a recorder's ltread or ltwrite), which one "
            "caller sees and may use and another does not"
        )
    for foreign in found:
        for route in foreign.routes():
            await _is_refused(target, await foreign.on(route), route)


async def _is_refused(target: Target, foreign: Foreign, route: str | None) -> None:
    tool, other = foreign.tool, foreign.other
    said, effects = await _tried(target, foreign)
    must(not effects, f"{tool} is not for {other.name}, and it happened all the same", said)
    must(not said.ok, f"{tool} is not for {other.name}, who was answered ok", said)
    control(
        said.outcome == "denied",
        f"{tool} is not for {other.name}, and that it may not is not what it was told: {said.answer}",
        said,
    )
    target.case(f"{tool} of {other.name}" + (f" by {route}" if route else ""))


async def _tried(target: Target, foreign: Foreign) -> tuple[Said, list[Effect]]:
    """The call of who may not, between two good ones of who may."""
    async with act_of(target, foreign.tool) as act:
        return await target.sandwich(
            lambda: act.well_and_let_go(foreign.allowed), lambda: act.call(foreign.other, foreign.tool)
        )


# -- class-limit -------------------------------------------------------------------------------------------------------


@law(
    "tools/class-limit",
    verbs=("tools.call", "effects"),
    callers=2,
    seconds=lambda profile: 3 * _tried_s(profile),
)
async def test_class_limit(target: Target) -> None:
    """Who is limited to some tools causes no call of another: by its name, by a name that is nearly the same, on any
    route, or as an action in the arguments of a tool that he may use."""
    target.needs("tools.call", "effects")
    found = [(foreign, reads) for foreign in await foreign_tools(target) if (reads := await reads_of(target, foreign))]
    if not found:
        raise NotApplicable(
            "needs a caller who is limited: with a tool in its `may` that a law may call, and one that only another has"
        )
    for foreign, reads in found:
        for route in foreign.routes():
            await is_limited(target, await foreign.on(route), reads, f" by {route}" if route else "")


# -- refused-is-untouched ----------------------------------------------------------------------------------------------


@law("tools/refused-is-untouched", verbs=("effects",), callers=2, seconds=_tried_s, invariant=True)
async def test_refused_is_untouched(target: Target) -> None:
    """No call of the run that was answered as refused left an effect."""
    target.needs("effects")
    try:
        await _some_refusals(target)
    except NotShown:
        # A refused call that happened is a witness, whatever else did not work.
        await _no_refusal_touched(target)
        raise
    for said in await _no_refusal_touched(target):
        target.case(f"{said.verb} of {said.caller}")
    control(bool(target.cases), "no call of this law was refused and had a good one of the same resource after it")


async def _some_refusals(target: Target) -> None:
    """A call by somebody who may not, and one of a resource that another holds, each with a good call after it."""
    has_leases = all(target.bound(verb) for verb in LEASES)
    has_tools = target.bound("tools.list") and target.bound("tools.call")
    if not has_leases and not has_tools:
        raise NotApplicable(f"needs tools.list and tools.call, or {' and '.join(LEASES)}")
    if has_tools:
        for foreign in (await foreign_tools(target))[:1]:
            await _tried(target, foreign)
    if has_leases:
        holder, other = await target.callers(2)
        async with act_of(target, None) as act:
            await _contend(act, holder, other)
            if not any(said.refused and said.mark is not None for said in _own(target)):
                await _lose(act, holder, other)


async def _contend(act: Act, holder: Caller, other: Caller) -> None:
    """The other asks for what is held and uses it, and then the holder does."""
    assert act.subject is not None
    await _arrives(act, await act.well(holder), "a free resource cannot be acquired and used")
    if act.target.lease.busy == "refuses":
        await act.subject.acquire(other)
    await act.alone(other)
    await _arrives(act, await act.alone(holder), "the holder cannot use the resource after another's attempt")


async def _lose(act: Act, holder: Caller, other: Caller) -> None:
    """The holder gives it back and uses it all the same, and then another has it."""
    assert act.subject is not None
    if await let_go(act.target, act.subject, holder) is not None:
        await act.alone(holder)
        await _arrives(act, await act.well(other), "what was given back cannot be acquired and used")


async def _arrives(act: Act, said: Said, otherwise: str) -> None:
    control(said.ok and await act.target.effect_of(said) is not None, otherwise, said)


def _own(target: Target) -> list[Said]:
    """What this law said so far."""
    return [said for said in target.deployment.history if said.law == target.law]


async def _no_refusal_touched(target: Target) -> tuple[Said, ...]:
    """The refused calls of this law that did nothing; of the whole run none may have done anything."""
    history = list(target.deployment.history)
    refusals = judged(history, await target.effects())
    must(not refusals.touched, "a call was answered as refused, and it happened all the same", *refusals.touched)
    return tuple(said for said in refusals.untouched if said.law == target.law)


# -- no-secret-out -----------------------------------------------------------------------------------------------------


@law("tools/no-secret-out", seconds=lambda profile: 5.0, invariant=True)
async def test_no_secret_out(target: Target) -> None:
    """No credential of the profile occurs in any reply, list, error, recorder body or bound log, and no session's id in
    what another caller is told; in five encodings."""
    try:
        absent = await _one_of_each(target)
    except NotShown:
        # A secret that came out is a witness, whatever else did not work.
        await _nothing_leaked(target)
        raise
    secrets, effects = await _nothing_leaked(target)
    control(
        bool(secrets),
        "there is nothing to look for: the profile has no secret (${NAME}) and the target gave no session id",
    )
    short = ", ".join(secret.name for secret in too_short(secrets))
    control(not short, f"shorter than {CHARS_MIN} characters, so it may occur by chance: {short}")
    own = _own(target)
    kinds = list(dict.fromkeys(kind for said in own if (kind := kind_of(said))))
    if absent is not None:
        control(not absent.ok and absent.reply.lost is None, "what is not there is not answered as an error", absent)
        kinds.append("error")
    wanted = ["ok", "refusal"] + (["list"] if target.bound("tools.list") or target.bound("lease.holder") else [])
    for kind in wanted:
        control(kind in kinds, f"no answer of the kind {kind} was seen by this law")
    unseen = unseen_canaries(own, effects)
    control(not unseen, f"a canary planted there is not found: {', '.join(unseen)}")
    for kind in sorted(dict.fromkeys(kinds)):
        target.case(kind)


async def _one_of_each(target: Target) -> Said | None:
    """A list, a good call, a refused one, and one of what is not there, which is returned; None: it cannot be asked."""
    has_leases = all(target.bound(verb) for verb in LEASES)
    callers = await target.callers(2 if has_leases else 1)
    owner = callers[0]
    tool = await usual_tool(target, owner)
    async with act_of(target, tool) as act:
        done = await act.well(owner)
        control(done.ok, "a good call is not answered ok", done)
        if target.sees_effects:
            effect = await target.effect_of(done)
            assert done.mark is not None
            seen = effect is not None and shows(dict(effect.row), done.mark)
            control(seen, "a good call is not seen at the resource", done)
        if target.bound("lease.holder"):
            await target.read("lease.holder")
        if act.subject is not None and has_leases:
            # Where a newcomer waits, or is given another, only a use of what is not his is refused.
            contend = act.subject.acquire if target.lease.busy == "refuses" else act.subject.use
            await contend(callers[1])
        if tool is not None:
            for foreign in (await foreign_tools(target))[:1]:
                await act.call(foreign.other, foreign.tool)
            return await act.call(owner, ABSENT)
        return await _use_of_what_is_not_there(target, act, owner)


async def _use_of_what_is_not_there(target: Target, act: Act, owner: Caller) -> Said | None:
    """What the owner was told of its lease, with another resource; None where a use names none."""
    binding = target.deployment.profile.reach("lease.use", owner.spec.route)
    if act.subject is None or binding is None or "resource" not in names_wanted(binding):
        return None
    return await owner.say("lease.use", act.subject.names, resource=ABSENT, hold=0.0)


async def _nothing_leaked(target: Target) -> tuple[list[Secret], list[Effect]]:
    """What was looked for in the whole run, and what reached the resource."""
    deployment = target.deployment
    if target.bound("log"):
        await target.read("log")
    effects = list(await target.effects()) if target.sees_effects else []
    history = list(deployment.history)
    secrets = [Secret(name, value) for name, value in deployment.secrets.items()]
    secrets += issued(deployment.profile, history)
    found = leaks(secrets, history, effects)
    # The answers themselves are not shown: they have the secret in them.
    must(not found, "a secret came out: " + "; ".join(map(str, found[:10])) + (" and more" if found[10:] else ""))
    return secrets, effects
