"""Laws about sessions: whose they are, what is left of them, and what a replica makes of them.

Source: contract laws, catalogue.
"""

from __future__ import annotations

from lasttick import Target, control, law, must
from lasttick.laws.caller import Caller
from lasttick.laws.judges.tools import same_credentials
from lasttick.laws.profiles.profile import READING, Profile
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable

from .acts import NO_ACT, Act, act_of, tools_of, usual_tool
from .leases import term, term_of

OPENINGS = 3


@law("session/bound-to-caller", verbs=("effects",), callers=2, seconds=lambda profile: 5.0)
async def test_bound_to_caller(target: Target) -> None:
    """A session that one caller opened is of no use to another (of another tenant, where session.of says so): who
    presents it is refused, nothing happens, and it goes on."""
    target.needs("effects")
    for name, others in _bound(target.deployment.profile).items():
        owner = target.caller(name)
        opened = await owner.open()
        control(opened.ok, f"{name} cannot open a session", opened)
        async with act_of(target, await usual_tool(target, owner)) as act:
            _needs_sessions(act, owner)
            for other_name in others:
                other = target.caller(other_name)
                other.borrow(owner)
                await _cannot_act(target, act, owner, other)
                if owner.can("session.end"):
                    await _cannot_end(target, act, owner, other)


def _bound(profile: Profile) -> dict[str, list[str]]:
    """Whose session is tried, and by whom: the first caller's by all others, or that of each tenant's first caller by
    those of other tenants. Raises NotApplicable.
    """
    specs = {name: spec for name, spec in profile.callers.items() if not spec.decides}
    by_tenant = profile.session.of == "tenant"
    owners: dict[str | None, str] = {}
    for name, spec in specs.items():
        if spec.tenant or not by_tenant:
            owners.setdefault(spec.tenant if by_tenant else None, name)
    found = {
        owner: [
            name
            for name, spec in specs.items()
            if not same_credentials(specs[owner], spec)
            and not (by_tenant and spec.tenant in (None, specs[owner].tenant))
        ]
        for owner in owners.values()
    }
    if not any(found.values()):
        of = " of another tenant" if profile.session.of == "tenant" else ""
        raise NotApplicable(f"needs a second caller{of} with other headers; a session is all that tells these apart")
    return {owner: others for owner, others in found.items() if others}


def _needs_sessions(act: Act, caller: Caller) -> None:
    if not act.is_in_session_of(caller):
        raise NotApplicable(
            "needs calls that present a session: an MCP session id, what session.open puts out, or session.vars"
        )


async def _works(act: Act, owner: Caller) -> Said:
    """A good call in an open session: where that does not work, nothing is shown of sessions that are not."""
    said = await act.well(owner)
    control(said.ok, f"{owner.name}'s call in its own session is not answered ok", said)
    return said


async def _cannot_act(target: Target, act: Act, owner: Caller, other: Caller) -> None:
    said, effects = await target.sandwich(lambda: _works(act, owner), lambda: act.alone(other), lambda: act.well(owner))
    must(not effects, f"{other.name} acted in the session of {owner.name}", said)
    must(not said.ok, f"{other.name} was answered ok in the session of {owner.name}", said)
    control(said.refused, f"in the session of {owner.name}, {other.name} was {said.answer}", said)
    target.case(f"a call of {other.name}")


async def _cannot_end(target: Target, act: Act, owner: Caller, other: Caller) -> None:
    ended = await other.say("session.end")
    after = await act.alone(owner)
    must(not after.refused, f"{other.name} ended the session of {owner.name}", ended, after)
    control(after.ok and await target.effect_of(after) is not None, f"{owner.name} cannot act any more", ended, after)
    target.case(f"an end by {other.name}")


def _ended_s(profile: Profile) -> float:
    return 5.0 + (term(profile).high_s if profile.lease.session_end == "keeps" else 0.0)


@law("session/ended-is-ended", verbs=("session.end", "effects"), seconds=_ended_s)
async def test_ended_is_ended(target: Target) -> None:
    """An ended session can neither act nor hold: a call in it is refused and does nothing, and what it held is free."""
    target.needs("session.end", "effects")
    owner, *others = await target.callers(2 if target.bound("lease.acquire") else 1)
    async with act_of(target, await usual_tool(target, owner)) as act:
        _needs_sessions(act, owner)
        subject = act.subject
        # Another takes over what was held; where nothing is held, the owner goes on in a new session.
        heir = owner.twin() if subject is None else others[0]

        async def in_the_ended() -> Said:
            ended = await (subject.end_session(owner) if subject is not None else owner.end())
            control(ended.ok, "the session cannot be ended", ended)
            return await act.alone(owner)

        async def by_the_heir() -> Said:
            if subject is None:
                await heir.open()
                return await act.alone(heir)
            late_s = target.lag_s("lease.acquire") + target.tolerance_s
            await target.sleep(term_of(target).high_s if target.lease.session_end == "keeps" else late_s)
            taken = await subject.acquire(heir)
            # In a queue: whether it was still held in a reading that was sent when it had to be granted.
            waited = taken.pending_s is not None and taken.pending_s > taken.sent_s + late_s
            is_held = taken.outcome in ("busy", "pending") or waited
            must(not is_held, "what an ended session held is not free", taken)
            return await subject.use(heir) if taken.ok and target.bound("lease.use") else taken

        said, effects = await target.sandwich(lambda: _works(act, owner), in_the_ended, by_the_heir)
    must(not effects, "a call in an ended session happened", said)
    must(not said.ok, "a call in an ended session was answered ok", said)
    control(said.refused, f"a call in an ended session was {said.answer}", said)
    target.case("a call in an ended session")
    if subject is not None:
        target.case("what it held is free")


@law("session/survives-replica", verbs=("session.end", "effects"), seconds=lambda profile: 10.0)
async def test_survives_replica(target: Target) -> None:
    """Each call works or says that the session is unknown, and a whole open, list, call succeeds within three openings.

    A client is no wiser than that: it opens a new session when it is told that its own is unknown.
    """
    target.needs("session.end", "effects")
    name = next(name for name, spec in target.deployment.profile.callers.items() if not spec.decides)
    caller = target.caller(name)
    async with act_of(target, "" if target.bound("tools.call") else None) as act:
        for number in range(OPENINGS):
            opened = await (caller.again() if number else caller.open())
            if await _list_and_call(target, act, caller, opened):
                break
        else:
            await _some_worked(target, caller)
            must(
                False, f"no open, list and call succeeded as a whole within {OPENINGS} openings", *_acts(target, caller)
            )
        _needs_sessions(act, caller)
        odd = [said for said in _acts(target, caller) if said.outcome == "error"]
        must(not odd, "a call neither worked nor said that its session is unknown", *odd)
        target.case("open, list, call")
        ended = await (act.subject.end_session(caller) if act.subject is not None else caller.end())
        after = await act.alone(caller)
        why = "nothing here knows of sessions" if after.ok else f"it was {after.answer}"
        control(after.refused, f"a call in an ended session is not refused: {why}", ended, after)
        target.case("an unknown session is refused")


async def _list_and_call(target: Target, act: Act, caller: Caller, opened: Said) -> bool:
    """Whether the opening, the list and a call were all answered ok, and the call arrived.

    What is refused is asked once more: if another replica knows the session, the target does not simply refuse all.
    """
    if not opened.ok:
        return False
    is_whole = True
    if target.bound("tools.list"):
        listing = await caller.list_tools()
        if not listing.ok:
            is_whole = False
            listing = await caller.list_tools()
        if target.bound("tools.call"):
            act.tool = next(iter(tools_of(target, caller, listing)), None)
        if act.tool is None and act.subject is None:
            return _nothing_to_call(listing)
    said = await act.well(caller)
    if said.ok:
        return await target.effect_of(said) is not None and is_whole
    await act.well(caller)
    return False


def _nothing_to_call(listing: Said) -> bool:
    if listing.ok:
        raise NotApplicable(NO_ACT)
    return False


async def _some_worked(target: Target, caller: Caller) -> None:
    """A target where nothing works says nothing about its replicas."""
    acts = _acts(target, caller)
    for said in acts:
        if said.ok and await target.effect_of(said) is not None:
            return
    control(False, f"no call worked in {OPENINGS} openings", *acts)


def _acts(target: Target, caller: Caller) -> list[Said]:
    """What this law's caller did in all its sessions."""
    return [
        said
        for said in target.deployment.history
        if said.law == target.law and said.caller == caller.name and said.verb not in READING
    ]
