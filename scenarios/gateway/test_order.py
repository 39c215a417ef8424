"""Which check answers? The first that fails, in one order, on what is in force at the time of the call (GW-08)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_calls import A_1, ABSENT, GET_ORDER, LOOKUP, ORG, REFUND, SHOP, open_shop, reclassified, watched

ON = {"tool_dispatch_enabled": True}
STEPS: dict[str, tuple[int, str]] = {
    "run": (404, "RUN_NOT_FOUND"),
    "state": (409, "RUN_NOT_ACTIVE"),
    "manifest": (403, "NOT_IN_MANIFEST"),
    "class": (403, "ACCESS_CLASS_FORBIDDEN"),
    "policy": (403, "POLICY_DENIED"),
    "flag": (403, "TOOL_DISPATCH_DISABLED"),
    "credentials": (424, "CREDENTIALS_INCOMPLETE"),
}
"""In the contract's order."""
NAMES = list(STEPS)
SINGLE = [[name] for name in NAMES]
PAIRS = [list(pair) for pair in itertools.pairwise(NAMES)]
TAILS = [NAMES[place:] for place in range(len(NAMES) - 2)]


@scenario("GW-08", "GW-05")
@pytest.mark.parametrize("door", ["internal", "runner"])
async def test_the_first_check_that_fails_answers(world: World, door: str) -> None:
    """Each check fails alone, with the next one, and with all after it: the answer is the first one's code, in the
    ledger too, and the third party sees no request. With all mended the call is made."""
    stage = await Stage.set_up(world, door)
    for broken in [*SINGLE, *PAIRS, *TAILS]:
        await stage.play(broken)
    await stage.play([])
    await stage.end()


@scenario("GW-08")
@given(broken=st.lists(st.sampled_from(NAMES), unique=True, min_size=2), door=st.sampled_from(["internal", "runner"]))
@settings(max_examples=4)
@example(broken=["credentials", "state", "policy"], door="runner")
async def test_any_checks_that_fail_answer_in_order(world: World, broken: list[str], door: str) -> None:
    """Any of them together."""
    stage = await Stage.set_up(world, door)
    await stage.play(broken)
    await stage.end()


class Stage:
    """An active and a finished run, and everything that a call depends on, to be broken at will."""

    def __init__(self, gateway: Any, door: str, run: Any, over: Any) -> None:
        self.gateway = gateway
        self.door = door
        self.run = run
        self.over = over

    @classmethod
    async def set_up(cls, world: World, door: str) -> Stage:
        gateway = await open_shop(world)
        run, over = await gateway.open_run(ORG, skill="all"), await gateway.open_run(ORG, skill="all")
        await over.end()
        return cls(gateway, door, run, over)

    async def play(self, broken: Sequence[str]) -> None:
        """Break these, call, and judge the answer."""
        gateway = self.gateway
        run = self.over if "state" in broken else self.run
        await gateway.set_manifest(run.id, [GET_ORDER] if "manifest" in broken else [LOOKUP])
        # The runner door lets every class pass; only an action that is gone fails there.
        access = ("write" if self.door == "internal" else None) if "class" in broken else "read"
        await gateway.registry(reclassified("order_lookup", "lookup", access))
        await gateway.org(
            ORG,
            **SHOP,
            policies={LOOKUP: "deny"} if "policy" in broken else {},
            flags={} if "flag" in broken else ON,
            credentials={"order_lookup": {"api_key": "" if "credentials" in broken else "a-key-of-org-a"}},
        )
        run_id = ABSENT if "run" in broken else run.id
        call = await watched(gateway, gateway.call(run_id, LOOKUP, A_1, org_id=ORG, door=self.door))
        first = next((name for name in STEPS if name in broken), None)
        if first is None:
            call.done()
        else:
            call.refused_as(*STEPS[first])

    async def end(self) -> None:
        await self.run.end()


# -- changed between createRun and the call ----------------------------------------------------------------------------


def _bound(**parts: Any) -> dict[str, Any]:
    return {"bindings": [{"slug": "order_lookup", "state": "published", **parts}]}


NEEDS_KEY = {**reclassified("order_lookup", "lookup", "read")}
NEEDS_KEY["order_lookup"] = {**NEEDS_KEY["order_lookup"], "credentials": ["api_key"]}

CHANGES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "reclassified as write": ("class", {"registry": reclassified("order_lookup", "lookup", "write")}),
    "no longer in the registry": ("class", {"registry": reclassified("order_lookup", "lookup", None)}),
    "binding back to draft": ("class", _bound(state="draft")),
    "binding narrowed to write": ("class", _bound(access="write")),
    "binding gone": ("class", {"bindings": []}),
    "denied": ("policy", {"policies": {LOOKUP: "deny"}}),
    "switched off": ("flag", {"flags": {"tool_dispatch_enabled": False}}),
    "no switch at all": ("flag", {"flags": {}}),
    "the switch is a text": ("flag", {"flags": {"tool_dispatch_enabled": "true"}}),
    "a credential was emptied": ("credentials", {"credentials": {"order_lookup": {"api_key": ""}}}),
    "the tool now needs a credential": ("credentials", {"registry": NEEDS_KEY}),
}


@scenario("GW-08")
@pytest.mark.parametrize("what", list(CHANGES))
async def test_what_changed_since_the_run_began_counts(world: World, what: str) -> None:
    """The call works; then an operator reclassifies, withdraws, denies or switches off, with the run still active: the
    next call gets that check's code. Undone, it works again."""
    step, parts = CHANGES[what]
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    before = await gateway.document(ORG)
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    if "registry" in parts:
        await gateway.registry(parts["registry"])
    await gateway.change_org(ORG, **{name: value for name, value in parts.items() if name != "registry"})
    (await watched(gateway, run.call(LOOKUP, A_1))).refused_as(*STEPS[step])
    await gateway.put_org(ORG, before)
    await gateway.registry(reclassified("order_lookup", "lookup", "read"))
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    await run.end()


@scenario("GW-08")
async def test_a_policy_is_about_one_action(world: World) -> None:
    """A denied action is denied by both doors, the write one too; its neighbours are not."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    await gateway.set_manifest(run.id, [LOOKUP, GET_ORDER, REFUND])
    await gateway.change_org(ORG, policies={REFUND: "deny", LOOKUP: "allow"})
    (await watched(gateway, run.call(REFUND, A_1, door="runner"))).refused_as(*STEPS["policy"])
    (await watched(gateway, run.call(REFUND, A_1))).refused_as(*STEPS["class"])
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    (await watched(gateway, run.call(GET_ORDER, A_1))).done()
    assert "refunded" not in await gateway.third_party.order("A-1")
    await run.end()


@scenario("GW-08")
@pytest.mark.parametrize("ended_by", ["its answer", "the operator"])
async def test_a_finished_run_calls_nothing(world: World, ended_by: str) -> None:
    """The run's manifest is worth something while it is active, and nothing from the instant on at which its answer is
    stored or an operator ends it, by both doors (ruling 12). Another run of the same organisation goes on."""
    gateway = await open_shop(world)
    run, other = await gateway.open_run(ORG, skill="all"), await gateway.open_run(ORG, skill="all")
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    if ended_by == "the operator":
        await gateway.finish(run.id)
    else:
        await run.end()
    for door in ("internal", "runner"):
        (await watched(gateway, run.call(LOOKUP, A_1, door=door))).refused_as(*STEPS["state"])
    (await watched(gateway, other.call(LOOKUP, A_1))).done()
    if ended_by == "the operator":
        await run.end()
    await other.end()
