"""Is the tool in the run's manifest? The stored one, letter for letter, at the time of the call (GW-07)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.manifest import in_manifest

from .steps_calls import A_1, GET_ORDER, LOOKUP, ORG, REFUND, body_of, credentials_of, open_shop, watched

CALLS = (LOOKUP, GET_ORDER)
NEAR = ("order_lookup.lookup", "ORDER_LOOKUP:LOOKUP", "order_lookup", "order_lookup:", "order_lookup:*", "*", "")
NEAR_MORE = (f" {LOOKUP}", f"{LOOKUP},{GET_ORDER}", "order_lookup__lookup", "shop:get", "shop:get_order2")


@scenario("GW-07")
@pytest.mark.parametrize("door", ["internal", "runner"])
async def test_what_is_taken_out_of_the_manifest_is_refused(world: World, door: str) -> None:
    """A tool that the run called a moment ago is taken out of its stored manifest: the same call is 403, and the third
    party sees no request. Put back, it works again; with no manifest at all it does not."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    (await watched(gateway, run.call(LOOKUP, A_1, door=door))).done()
    for manifest in ([GET_ORDER, REFUND], []):
        await gateway.set_manifest(run.id, manifest)
        (await watched(gateway, run.call(LOOKUP, A_1, door=door))).refused_as(403, "NOT_IN_MANIFEST")
        await gateway.set_manifest(run.id, [GET_ORDER, LOOKUP])
        (await watched(gateway, run.call(LOOKUP, A_1, door=door))).done()
    await run.end()


@scenario("GW-07")
@given(
    listed=st.lists(st.sampled_from([*CALLS, *NEAR, *NEAR_MORE]), max_size=5),
    door=st.sampled_from(["internal", "runner"]),
)
@settings(max_examples=4)
@example(listed=[*NEAR, *NEAR_MORE], door="internal")
@example(listed=[REFUND, LOOKUP, LOOKUP], door="runner")
async def test_a_manifest_allows_what_it_lists_and_nothing_else(world: World, listed: list[str], door: str) -> None:
    """Whatever is stored, a call passes exactly if its own `name:action` stands there: other separators, other letters,
    wildcards, parts and lists in one text allow nothing."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    await gateway.set_manifest(run.id, listed)
    metadata = {"runtimeManifest": {"allowedTools": listed}}
    for pair in CALLS:
        call = await watched(gateway, run.call(pair, A_1, door=door))
        if in_manifest(metadata, pair):
            call.done()
        else:
            call.refused_as(403, "NOT_IN_MANIFEST")
    await run.end()


@scenario("GW-07")
async def test_a_name_that_is_folded_or_cut_elsewhere_is_not_in_the_manifest(world: World) -> None:
    """The pair is the tool and the action as they stand: a separator inside one of them, blanks or other letters make
    it another one."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    headers = credentials_of(gateway, "internal", ORG)
    for tool, action in (
        ("", LOOKUP),
        (LOOKUP, ""),
        ("order_lookup", "lookup "),
        ("Order_lookup", "lookup"),
        ("order_lookup:lookup", "lookup"),
        ("order_lookup", "lookup,shop:get_order"),
        ("nowhere", "lookup"),
        ("order_lookup", "get_order"),
    ):
        body = body_of(run.id, toolName=tool, action=action)
        (await watched(gateway, gateway.execute(headers, body))).refused_as(403, "NOT_IN_MANIFEST")
    await run.end()


@scenario("GW-07")
async def test_each_run_has_its_own_manifest(world: World) -> None:
    """Two active runs of one organisation: what one may call the other may not, in both directions."""
    gateway = await open_shop(world)
    runs = [await gateway.open_run(ORG, skill="all") for _ in CALLS]
    for run, pair in zip(runs, CALLS, strict=True):
        await gateway.set_manifest(run.id, [pair])
    for run, own in zip(runs, CALLS, strict=True):
        for pair in CALLS:
            call = await watched(gateway, run.call(pair, A_1))
            call.done() if pair == own else call.refused_as(403, "NOT_IN_MANIFEST")
    for run in runs:
        await run.end()


@scenario("GW-07")
async def test_a_run_without_tools_has_none(world: World) -> None:
    """A run that began with the flag off has no manifest, and gets none because the flag is on now."""
    gateway = await open_shop(world)
    await gateway.change_org(ORG, flags={})
    run = await gateway.open_run(ORG, skill="all")
    await gateway.change_org(ORG, flags={"tool_dispatch_enabled": True})
    (await watched(gateway, run.call(LOOKUP, A_1))).refused_as(403, "NOT_IN_MANIFEST")
    await run.end()
