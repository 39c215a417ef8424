"""Whose run is it? The organisation of the claims decides, and "not yours" is "not there". Source: ruling 5."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model import tool_call

from .steps_calls import A_1, ABSENT, LOOKUP, ORG, SHOP, body_of, credentials_of, open_shop, watched, without_date

OTHER = "org-b"
NOBODY = "org-c"
"""An organisation that nobody stored; a valid token or the agent's secret may still name it."""
SAID = (ORG, OTHER, NOBODY, " org-a", "", None, [ORG])
"""What a body may call its organisation."""


@scenario("GW-06")
@pytest.mark.parametrize("door", ["internal", "runner"])
async def test_another_tenants_run_is_a_run_that_is_not_there(world: World, door: str) -> None:
    """Every caller names every run, with every organisation in the body: what is not the caller's own is answered like
    an id that nobody has, in status, headers and every byte. Each attempt is in the caller's ledger, none in the
    victim's, and the third party sees only what an owner asked for."""
    gateway = await open_shop(world)
    await gateway.org(OTHER, **SHOP)
    ours, theirs = await gateway.open_run(ORG, skill="all"), await gateway.open_run(OTHER, skill="all")
    over = await gateway.open_run(ORG, skill="all")
    await over.end()
    owner = {ours.id: ORG, over.id: ORG, theirs.id: OTHER, ABSENT: None}
    absent = await gateway.call(ABSENT, LOOKUP, A_1, org_id=NOBODY, door=door)
    assert (absent.http_status, absent.code) == (404, "RUN_NOT_FOUND")
    attempts = {ORG: 0, OTHER: 0, NOBODY: 1}
    done = 0
    for claims in (ORG, OTHER, NOBODY):
        headers = credentials_of(gateway, door, claims)
        for run_id, of in owner.items():
            # By the internal door the body's organisation is the caller's.
            for said in (claims,) if door == "internal" else SAID:
                reply = await gateway.execute(headers, body_of(run_id, orgId=said))
                attempts[claims] += 1
                if tool_call.run_visible(of, claims, said):
                    assert reply.http_status == (409 if run_id == over.id else 200), reply.body
                    done += reply.ok
                else:
                    _same(reply, absent, f"{claims} says {said!r} and names the run of {of}")
    assert done == 2
    assert len(await gateway.third_party.log()) == done
    for claims, count in attempts.items():
        rows = await gateway.ledger(claims)
        assert (len(rows), {row["org_id"]: row["door"] for row in rows}) == (count, {claims: door})
    await ours.end()
    await theirs.end()


@scenario("GW-06")
@pytest.mark.parametrize("own", ["flag off", "policy", "nothing bound", "no manifest"])
async def test_nothing_of_the_caller_shows_that_a_run_is_there(world: World, own: str) -> None:
    """A caller whose own organisation is switched off, denied or bare still gets the one answer: a later check that is
    made on somebody else's run would tell that there is one."""
    gateway = await open_shop(world)
    parts: dict[str, dict[str, Any]] = {
        "flag off": {**SHOP, "flags": {}},
        "policy": {**SHOP, "policies": {LOOKUP: "deny"}},
        "nothing bound": {},
        "no manifest": SHOP,
    }
    await gateway.org(OTHER, **parts[own])
    ours = await gateway.open_run(ORG, skill="all")
    if own == "no manifest":
        await gateway.set_manifest(ours.id, [])
    absent = await gateway.call(ABSENT, LOOKUP, A_1, org_id=OTHER)
    call = await watched(gateway, gateway.call(ours.id, LOOKUP, A_1, org_id=OTHER), OTHER)
    call.refused_as(404, "RUN_NOT_FOUND")
    _same(call.reply, absent, own)
    assert await gateway.ledger(ORG) == []
    await ours.end()


@scenario("GW-06")
@given(ids=st.lists(st.text(max_size=40), min_size=1, max_size=4))
@settings(max_examples=3)
@example(ids=["run"])
async def test_a_run_id_is_taken_letter_for_letter(world: World, ids: list[str]) -> None:
    """What is nearly the id of one's own run, and any other text, is a run that is not there."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    absent = await gateway.call(ABSENT, LOOKUP, A_1, org_id=ORG)
    near = [run.id.upper(), f" {run.id}", run.id[:-1], f"{run.id}\x00", run.id.replace("-", ""), f"{{{run.id}}}"]
    for run_id in [*near, "%", "*", "' OR 1=1 --", "\ud800", "x" * 10_000, *ids]:
        if run_id != run.id:
            _same(await gateway.call(run_id, LOOKUP, A_1, org_id=ORG), absent, repr(run_id[:50]))
    assert await gateway.third_party.log() == []
    assert (await run.call(LOOKUP, A_1)).ok
    await run.end()


def _same(reply: Any, absent: Any, what: str) -> None:
    """Byte for byte the answer of a run that is not there."""
    assert reply.http_status == absent.http_status, f"{what}: {reply.body}"
    assert reply.content == absent.content, f"{what}: {reply.body}"
    assert without_date(reply.headers) == without_date(absent.headers), f"{what}: {reply.headers}"
