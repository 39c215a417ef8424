"""Laws of what a yes is about: this request and no other, these arguments and no others, as the person saw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lasttick import Target, control, law, must
from lasttick.laws.approval_subject import Approval, asking
from lasttick.laws.judges.approvals import changed, shows
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable, NotShown, Unfound

from .approvals import VERBS, arrange, good, in_time, is_late, is_undecided, pending, runs, say_yes, takes


@law("approval/bound-to-request", verbs=VERBS, seconds=takes(0.5, 5))
async def test_bound_to_request(target: Target) -> None:
    """Two requests wait at the same time. One is approved, then in another pair one is denied.

    The other of each pair has not run, and is still the decider's to approve.
    """
    alice, boss = await arrange(target)
    beside = alice.twin()
    opened = await beside.open()
    control(opened.ok, f"{alice.name} cannot open another session", opened)
    await good(target, alice, boss)
    async with pending(target, alice, boss) as one, pending(target, beside, boss) as other:
        said = await say_yes(one, boss)
        ran = await one.effect() is not None
        must(not await other.effects(), "a request ran by the yes to another one", *one.said(), *other.said())
        await is_undecided(other, boss, "after the yes to another request")
        control(said.ok and ran, "an approved request did not reach the resource", *one.said(), timing=is_late(one))
        target.case("a yes to another")
    async with pending(target, alice, boss) as one, pending(target, beside, boss) as other:
        said = await one.decide(boss, "deny")
        control(said.ok, f"the denial of {boss.name} was {said.answer}", said, timing=is_late(one))
        await is_undecided(other, boss, "after the denial of another request")
        must(not await one.effects(), "a denied request ran by the yes to another one", *one.said(), *other.said())
        target.case("a denial of another")


@law("approval/bound-to-arguments", verbs=VERBS, seconds=takes(0.5, 5))
async def test_bound_to_arguments(target: Target) -> None:
    """What was shown is compared with what ran; then the asker goes on from an approved request with another argument.

    What runs is what was shown, and the other argument does not run.
    """
    alice, boss = await arrange(target)
    lists = target.bound("approval.pending", boss.spec.route)
    if not lists and not alice.can("approval.resume"):
        raise NotApplicable("needs approval.pending or approval.resume: what is shown, or a way to change it")
    async with pending(target, alice, boss) as request:
        text = await _text(request) if lists else None
        said = await runs(request, boss)
        effect = await request.effect()
        if lists and effect is not None:
            differs = changed(text, effect.args) or {}
            told = "; ".join(f"{name} was shown as {a!r} and ran as {b!r}" for name, (a, b) in differs.items())
            must(not differs, f"what ran is not what was shown: {told}", *request.said())
            control(shows(request.mark, text), "the entry does not show what was asked for", said)
            target.case("what was shown ran")
    way = target.deployment.way("approval.resume", alice.spec.route)
    if way is not None and way.marked:
        async with pending(target, alice, boss) as request:
            said = await request.decide(boss, "approve")
            control(said.ok, f"the yes of {boss.name} was {said.answer}", said, timing=is_late(request))
            other = target.deployment.mark(alice.name)
            resumed = await request.resume(other)
            await good(target, alice, boss)
            must(not await target.effects_with(other), "the asker went on with another argument, and it ran", resumed)
            in_time(request, resumed.answered_s)
            control(resumed.outcome != "lost", "whether the asker went on is not known", resumed)
            target.case("going on with another argument")


@law("approval/shows-what-runs", verbs=(*VERBS, "approval.pending"), seconds=takes(0.5, 4))
async def test_shows_what_runs(target: Target) -> None:
    """A request waits for a person. The entry that the person sees names what will run, and until when it waits."""
    alice, boss = await arrange(target, "approval.pending")
    async with asking(target, alice, boss) as request:
        before = [str(row.get("id", row)) for row in await _listed(request)]
        request.ask()
        seen = await request.seen()
        answer = request.answer
        turned_down = answer is not None and answer.outcome not in ("ok", "pending")
        control(not turned_down, f"the request of {alice.name} is turned down", *request.said())
        control(not await request.effects(), "it happened before anybody said yes", *request.said())
        listing, row = await request.entry()
        if row is None:
            marks = [one.mark for one in target.deployment.approvals]
            new = [row for row in listing.each if str(row.get("id", row)) not in before]
            nameless = [row for row in new if not any(shows(mark, row) for mark in marks)]
            must(not nameless, f"the entry does not name what {alice.name} asked for", listing)
        control(seen and row is not None, f"the request of {alice.name} is not seen to wait for a person", listing)
        assert row is not None
        text = row.get("text")
        must(shows(request.mark, text), f"the entry does not name what {alice.name} asked for", listing)
        await _names_its_end(target, request, listing, row)
        await runs(request, boss)
        target.case("what will run")


async def _names_its_end(target: Target, request: Approval, listing: Said, row: Any) -> None:
    """Only where the profile says where an end would be."""
    way = target.deployment.way("approval.pending", request.decider.spec.route)
    if way is not None and "expires" in way.binding.out:
        must(row.get("expires") not in (None, ""), "the entry does not name when it ends", listing)
        target.case("its end")


async def _listed(request: Approval) -> Sequence[Mapping[str, Any]]:
    """Everything that waits; nothing where the list needs what only an answer tells."""
    try:
        return (await request.entry())[0].each
    except Unfound:
        raise
    except NotShown:
        return ()


async def _text(request: Approval) -> Any:
    listing, row = await request.entry()
    control(row is not None, "the request is not seen to wait for a person", listing)
    return None if row is None else row.get("text")
