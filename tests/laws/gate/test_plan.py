"""The plan: what a law needs is found by playing it up to its first message, and nothing is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.plan import Plan, PlannedLaw, makespan, plan
from lasttick.laws.judges.tools import listed
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.target import Target
from lasttick.laws.verdict import NotApplicable, control

LEASE = {"acquire": {"same": "lease.use"}, "use": {"tool": "use"}, "ttl_s": 20, "renewed_by": ["use"]}
CALLERS: dict[str, Any] = {"alice": {}, "bob": {}, "boss": {"decides": True}}


class Nobody(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} was sent")


def law(
    law_id: str, function: Callable[[Target], Awaitable[None]], *verbs: str, callers: int = 1, **more: Any
) -> PlannedLaw:
    fields = {"seconds": lambda profile: 10.0, "invariant": False, **more}
    return PlannedLaw(law_id, function, verbs, callers, **fields)


def planned(
    *laws: PlannedLaw, resources: int = 1, listings: dict[str, tuple[str, ...]] | None = None, **sections: Any
) -> Plan:
    document = {
        "version": 1,
        "target": {"url": "http://127.0.0.1:7/mcp"},
        "callers": CALLERS,
        "lease": LEASE,
        **sections,
    }

    async def run() -> Plan:
        deployment = Deployment(Profile.model_validate(document), run="t", transport=Nobody())
        return await plan(laws, deployment, resources, listings)

    return asyncio.run(run())


async def speaks(target: Target) -> None:
    (alice,) = await target.callers(1)
    async with target.subject() as subject:
        said = await subject.acquire(alice)
        control(said.ok, "not granted", said)


async def needs_policy(target: Target) -> None:
    target.needs_policy("busy", "queues")
    await speaks(target)


async def needs_two_that_write(target: Target) -> None:
    await target.callers(2, may="ltwrite")


async def sleeps(target: Target) -> None:
    await target.sleep(1e9)


async def reads(target: Target) -> None:
    await target.effects()


def test_what_runs_and_why_the_rest_does_not() -> None:
    found = planned(
        law("b/runs", speaks, "lease.acquire"),
        law("a/policy", needs_policy, "lease.acquire"),
        law("c/verb", speaks, "clock.step", "lease.acquire"),
        law("d/callers", speaks, callers=3),
        law("e/may", needs_two_that_write),
        callers={**CALLERS, "bob": {"may": ["ltread"]}},
    )
    assert [(line.law, line.seconds, line.why_not) for line in found.lines] == [
        ("a/policy", 0.0, "needs lease.busy = queues; the profile says refuses"),
        ("b/runs", 10.0, ""),
        ("c/verb", 0.0, "needs the verb clock.step, which the profile does not bind"),
        ("d/callers", 0.0, "needs 3 callers; the profile has 2"),
        ("e/may", 0.0, "needs 2 callers that may ltwrite; the profile has 1"),
    ]


def test_nothing_is_sent_and_nobody_waits() -> None:
    effects = {"http": "GET /effects", "each": "/body"}
    found = planned(law("a/a", speaks), law("a/b", sleeps), law("a/c", reads), effects=effects)
    assert [line.why_not for line in found.lines] == ["", "", ""]


async def calls_a_tool(target: Target) -> None:
    (alice,) = await target.callers(1)
    names = listed(await alice.list_tools())
    if "ltread" not in names:
        raise NotApplicable("needs ltread")
    await alice.call("ltread")
    raise AssertionError("a call ends it")


async def presents_a_session(target: Target) -> None:
    alice, bob = await target.callers(2)
    async with target.subject() as subject:
        if alice.wire.session_id is None and not alice.names:
            raise NotApplicable("needs a session")
        bob.borrow(alice)
        await subject.acquire(bob)
        raise AssertionError("a call ends it")


@pytest.mark.parametrize(
    ("listings", "why"),
    [
        ({}, ""),
        ({"alice": ("ltread",)}, ""),
        ({"alice": ("echo",)}, "needs ltread"),
        ({"alice": ()}, "needs ltread"),
        ({"bob": ("echo",)}, ""),
    ],
)
def test_a_law_that_finds_no_tool_in_the_lists_that_were_seen(listings: dict[str, tuple[str, ...]], why: str) -> None:
    found = planned(law("a/a", calls_a_tool), listings=listings)
    assert [line.why_not for line in found.lines] == [why]


@pytest.mark.parametrize(
    ("sections", "why"),
    [
        ({}, ""),
        ({"target": {"url": "http://127.0.0.1:7/mcp", "era": "modern"}}, "needs a session"),
        ({"lease": {**LEASE, "use": {"http": "POST /use"}}}, "needs a session"),
        (
            {
                "lease": {**LEASE, "use": {"http": "POST /use"}},
                "session": {"open": {"http": "POST /open", "out": {"session": "/body/id"}}},
            },
            "",
        ),
    ],
    ids=["handshake", "modern", "http", "http with sessions"],
)
def test_a_law_that_needs_a_session_is_told_from_the_profile_alone(sections: dict[str, Any], why: str) -> None:
    assert [line.why_not for line in planned(law("a/a", presents_a_session), **sections).lines] == [why]


def test_what_a_gap_costs() -> None:
    laws = [law("a/a", speaks, "effects", "log"), law("a/b", speaks, "log"), law("a/c", speaks, "lease.use")]
    found = planned(*laws, log={"absent": "the vendor keeps it"})
    assert found.gaps == {"effects": ("a/a",), "log": ("a/a", "a/b")}
    assert found.lines[1].why_not == "needs the verb log, which the profile does not bind: the vendor keeps it"


def test_waits_overlap_as_far_as_resources_allow_and_invariants_come_last() -> None:
    laws = [law(f"a/{letter}", speaks, "lease.acquire") for letter in "abc"]
    last = law("a/d", speaks, invariant=True, seconds=lambda profile: 3.0)
    assert planned(*laws, last).seconds == 33.0
    assert planned(*laws, last, resources=2).seconds == 23.0
    assert planned(*laws, last, resources=9).seconds == 13.0
    assert planned(*(law(f"a/{n}", sleeps) for n in range(9))).seconds == 20.0, "eight at once"


def test_seconds_are_asked_only_of_laws_that_run() -> None:
    def never(profile: Profile) -> float:
        raise AssertionError

    assert planned(law("a/a", speaks, "clock.step", seconds=never)).seconds == 0.0


@given(st.lists(st.floats(0, 100), max_size=12), st.integers(1, 5))
def test_a_makespan_is_between_its_bounds(seconds: list[float], slots: int) -> None:
    found = makespan(seconds, slots)
    assert found >= max([*seconds, sum(seconds) / slots]) * 0.999999
    assert found <= sum(seconds) * 1.000001
    if slots == 1:
        assert found == pytest.approx(sum(seconds))
