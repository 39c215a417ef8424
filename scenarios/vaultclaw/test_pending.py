"""Which pending approval belongs to a job? The newest of its own, and none is no harm; reading them changes nothing.

Source: contract vaultclaw 14, 21; ruling 12.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import (
    EXECUTE_JOB,
    MAIL,
    PENDING,
    SEND,
    asks_people,
    begin,
    called,
    handed_off,
    http_request,
    says,
    take_next_action,
)

STATES = ["WAITING", "READY", "RUNNING", "SUCCEEDED", "DENIED", "FAILED", "EXPIRED"]
LOOK_UP = f"{PENDING}?challenge_id=ach_9&limit=200&states={'%2C'.join(STATES)}"
WITHOUT_ID = {"challenge": {"challenge_id": "ach_9"}}


def item(pending_id: Any, job_id: Any, created_seq: Any, state: str = "WAITING", **more: Any) -> dict[str, Any]:
    return {"pending_id": pending_id, "job_id": job_id, "created_seq": created_seq, "state": state, **more}


EXAMPLE = [item("apj_b", "job_9", 5), item("apj_a", "job_9", 5), item("apj_c", "job_9", 4), item("apj_x", "other", 99)]
"""The worked example: job JOB_9 gets apj_a."""


async def looked_up(vaultd: Any, client: Any, items: Any, job_id: str = "JOB_9") -> dict[str, Any]:
    """The hand-off of a job whose pending id the vault left out, and then lists `items`."""
    waits = {"job_id": job_id, "status": "PENDING", "pending_approval": WITHOUT_ID}
    await says(vaultd, EXECUTE_JOB, {"job": waits})
    await says(vaultd, PENDING, {"items": items})
    after = len(await vaultd.log())
    approval = handed_off(await client.call("connector_execute_job", request=http_request()))
    assert (await vaultd.calls(after))[-1] == f"GET {LOOK_UP}"
    return approval


@scenario("VC-13")
async def test_the_newest_of_its_own_is_taken(world: World) -> None:
    """The worked example: the highest sequence of the same job, in any case, and of equal ones the lowest id. One that
    was decided meanwhile is found as well."""
    vaultd, client = await begin(world)
    cases: list[tuple[Any, str]] = [
        (EXAMPLE, "apj_a"),
        ([item("apj_new", "job_9", 10, "SUCCEEDED"), item("apj_old", "job_9", 9)], "apj_new"),
        ([item("apj_1", "job_9", 1.5), item("apj_0", "job_9", 1)], "apj_1"),
        ([item("apj_x", "job_90", 7), item("apj_y", "", 8), item("apj_z", None, 9)], ""),
        ([], ""),
    ]
    for items, pending_id in cases:
        approval = await looked_up(vaultd, client, items)
        assert (approval["pending_id"], approval["pending_id_resolved"]) == (pending_id, bool(pending_id))
        assert approval["next_action"]["arguments"]["handle"]["job_id"] == "JOB_9"


pending_items = st.lists(
    st.builds(
        item,
        st.sampled_from(["apj_a", "apj_b", "apj_c", "apj_d"]),
        st.sampled_from(["job_9", "JOB_9", "job_8", "Job_9 "]),
        st.integers(0, 3),
        st.sampled_from(STATES),
    ),
    min_size=1,
    max_size=5,
)


@scenario("VC-13")
@given(items=pending_items, seed=st.randoms(use_true_random=False))
@example(items=EXAMPLE, seed=None)
@settings(max_examples=8)
async def test_the_order_of_the_list_does_not_count(world: World, items: list[dict[str, Any]], seed: Any) -> None:
    """The same approvals in another order: the same one is taken, and the list tool shows newest first, then by id."""
    vaultd, client = await begin(world)
    shuffled = list(reversed(items))
    if seed is not None:
        seed.shuffle(shuffled)
    ranks = [(-one["created_seq"], one["pending_id"]) for one in items if one["job_id"].strip().lower() == "job_9"]
    expected = min(ranks)[1] if ranks else ""
    for listed in (items, shuffled):
        assert (await looked_up(vaultd, client, listed))["pending_id"] == expected
        await says(vaultd, PENDING, {"items": [*listed, None, "apj_a"]})
        shown = (await client.call("approvals_pending_list")).data["items"]
        order = [(-one["created_seq"], one["pending_id"]) for one in shown]
        assert order == sorted((-one["created_seq"], one["pending_id"]) for one in items)


@scenario("VC-13", "VC-11")
async def test_without_the_scope_it_stays_unknown(world: World) -> None:
    """An agent that may not read pending approvals gets its hand-off without the pending id, and can still wait."""
    vaultd = await world.vaultd()
    client = (await world.vaultclaw()).client("acme")
    scopes = ["connectors.get.v1", "connectors.execute_job.v1"]
    await client.configure(token=await vaultd.token("agent-1", tenant="acme", scopes=scopes))
    waits = {"job_id": "job_9", "status": "PENDING", "pending_approval": WITHOUT_ID}
    await says(vaultd, EXECUTE_JOB, {"job": waits})
    approval = handed_off(await client.call("connector_execute_job", request=http_request()))
    assert (approval["pending_id"], approval["pending_id_resolved"]) == ("", False)
    assert (await vaultd.log())[-1]["status"] == 403
    await says(vaultd, "/v0/jobs/job_9", {"job": {**waits, "status": "SUCCEEDED"}})
    assert (await take_next_action(client, approval)).data["decision_outcome"] == "ALLOW"


@scenario("VC-13")
async def test_what_is_known_is_not_looked_up(world: World) -> None:
    """With the pending id in the answer, and without a challenge or a job to look it up by, there is no second call."""
    vaultd, client = await begin(world)
    known = {"pending_id": "apj_1", **WITHOUT_ID}
    for pending in (known, {"pending_id": "apj_1"}, {"note": "soon"}):
        await says(vaultd, EXECUTE_JOB, {"job": {"job_id": "job_9", "status": "PENDING", "pending_approval": pending}})
        approval = handed_off(await client.call("connector_execute_job", request=http_request()))
        assert approval["pending_id"] == pending.get("pending_id", "")
    assert f"GET {PENDING}" not in await called(vaultd)


@scenario("VC-13")
async def test_one_pending_approval_is_read(world: World) -> None:
    """A pending approval is shown as the vault has it, with its outcome and link; another tenant's, and one that is not
    there, is a clear miss. Only the list is asked for."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, SEND)
    approval = handed_off(await client.call("connector_execute_job", request=MAIL))
    after = len(await vaultd.log())
    asked = {"challenge_id": approval["challenge_id"], "pending_id": approval["pending_id"].upper()}
    found = (await client.call("approvals_pending_get", asked)).data["item"]
    assert (found["pending_id"], found["state"], found["decision_outcome"]) == ("apj_1", "WAITING", "PENDING")
    url = approval["remote_attestation_url"]
    assert (found["remote_attestation_url"], found["remote_attestation_link_markdown"]) == (url, f"[{url}]({url})")
    missing = await client.call("approvals_pending_get", {**asked, "pending_id": "apj_9"})
    assert (missing.code, missing.category) == ("MCP_APPROVAL_PENDING_NOT_FOUND", "approval")
    assert missing.details == {**asked, "pending_id": "apj_9"}
    other = (await world.vaultclaw()).client("globex")
    await other.configure()
    assert (await other.call("approvals_pending_get", asked)).code == "MCP_APPROVAL_PENDING_NOT_FOUND"
    assert (await other.call("approvals_pending_list")).data["items"] == []
    assert set(await called(vaultd, after)) == {f"GET {PENDING}"}


@scenario("VC-13")
async def test_what_became_of_a_pending_approval(world: World) -> None:
    """The outcome of each state: waiting ones are pending, a success is a yes, and a no needs its code or none."""
    vaultd, client = await begin(world)
    rows = [
        ("WAITING", "", "PENDING"),
        ("ready", "PLAN_APPROVAL_DENIED", "PENDING"),
        ("RUNNING", "", "PENDING"),
        ("SUCCEEDED", "PLAN_APPROVAL_DENIED", "ALLOW"),
        ("DENIED", "", "DENY"),
        ("DENIED", "PLAN_APPROVAL_DENIED", "DENY"),
        ("EXPIRED", "APPROVAL_DECISION_EXPIRED", "DENY"),
        ("EXPIRED", "", "DENY"),
        ("DENIED", "PLAN_POLICY_DRIFT", "UNKNOWN"),
        ("FAILED", "", "UNKNOWN"),
        ("APPROVED", "", "UNKNOWN"),
        ("", "", "UNKNOWN"),
    ]
    items = [
        item(f"apj_{90 - at}", "job_1", 90 - at, state, last_error_code=code)
        for at, (state, code, _) in enumerate(rows)
    ]
    await says(vaultd, PENDING, {"items": items})
    shown = (await client.call("approvals_pending_list", states="waiting, DENIED,waiting", limit=-1)).data["items"]
    assert [one["decision_outcome"] for one in shown] == [outcome for _, _, outcome in rows]
    assert [{key: one[key] for key in items[0]} for one in shown] == items
    assert (await vaultd.calls())[-1] == f"GET {PENDING}?limit=50&states=WAITING%2CDENIED"
    after = len(await vaultd.log())
    for odd in ("waiting,GONE", [], "", " , ", ["WAITING", 7], {"WAITING": True}, 7, False):
        answer = await client.call("approvals_pending_list", states=odd)
        assert answer.code == "MCP_VALIDATION_ERROR", odd
    assert await vaultd.calls(after) == []
