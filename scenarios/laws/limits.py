"""What can a caller who may only read cause? Every shape of a call of somebody else's tool, between good calls."""

from __future__ import annotations

from lasttick import Target, control, must
from lasttick.laws.said import Effect, Said
from lasttick.laws.verdict import NotShown

from .acts import Act, Foreign, act_of, own_tools
from .shapes import names_like, smuggled


async def reads_of(target: Target, foreign: Foreign) -> list[str]:
    """What the one who may not may call at all; empty for who is limited to nothing, or not limited."""
    return await own_tools(target, foreign.other) if foreign.other.spec.may else []


async def is_limited(target: Target, foreign: Foreign, reads: list[str], by: str) -> None:
    """`reads`: what the limited one may call; `by`: the route, for the names of the cases."""
    tool, other = foreign.tool, foreign.other
    shapes = {what: name for what, name in names_like(tool, reads[0]).items() if name not in reads}
    tried: dict[str, Said] = {}
    async with act_of(target, tool) as act:
        read = await Act(target, reads[0], act.subject).well_and_let_go(other)

        async def each_shape() -> Said:
            for what, name in shapes.items():
                tried[what] = await act.call(other, name)
            return tried["its name"]

        try:
            await target.sandwich(lambda: act.well_and_let_go(foreign.allowed), each_shape)
        except NotShown:
            # What he made happen is a witness, whatever else did not work.
            await _nothing_happened(target, foreign, tried)
            raise
        await _nothing_happened(target, foreign, tried)
        control(read.ok, f"{other.name} may use {reads[0]}, and is not answered ok", read)
        lost = [said for said in tried.values() if said.outcome == "lost"]
        control(not lost, f"whether {other.name} had {tool} is not known", *lost)
        for what in tried:
            target.case(f"{tool} of {other.name}{by}, {what}")
        if await _smuggles_nothing(target, act, foreign, read):
            target.case(f"{tool} of {other.name}{by}, in the arguments of {reads[0]}")


async def _nothing_happened(target: Target, foreign: Foreign, tried: dict[str, Said]) -> None:
    for what, said in tried.items():
        must(
            not await target.effects_with(said.mark),
            f"{foreign.tool} is not for {foreign.other.name}, and it happened all the same when called by {what}",
            said,
        )


async def _smuggles_nothing(target: Target, act: Act, foreign: Foreign, read: Said) -> bool:
    """Whether it was judged: `effects` puts `tool` out, and both tools leave an effect."""
    tool, other = foreign.tool, foreign.other
    writes = await act.well_and_let_go(foreign.allowed)
    of_read, of_write = _tool_of(await target.effect_of(read)), _tool_of(await target.effect_of(writes))
    if of_read is None or of_write is None or of_read == of_write:
        return False
    said = await act.call(other, str(read.inputs["tool"]), beside=smuggled(tool))
    after = await act.well_and_let_go(foreign.allowed)
    seen = [_tool_of(effect) for effect in await target.effects_with(said.mark)]
    must(
        of_write not in seen,
        f"{tool} is not for {other.name}, and it happened all the same as an action in the arguments of a read",
        said,
    )
    arrived = after.ok and await target.effect_of(after) is not None
    control(arrived, "the allowed call after the one with more arguments did not reach the resource", after)
    control(said.outcome != "lost", f"whether {other.name} had {tool} is not known", said)
    return True


def _tool_of(effect: Effect | None) -> str | None:
    found = None if effect is None else effect.row.get("tool")
    return None if found is None else str(found)
