"""Who may decide, and who may only look: the daemon takes the word of its own approvers, the server never gives one."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_calls import ARGUMENTS, NAMES, PLAUSIBLE, mail, only_looked_at

SOMEBODY_ELSES = "somebody-elses"


@scenario("VC-14")
@given(decision=st.sampled_from(["approve", "deny"]))
@settings(max_examples=2)
@example(decision="approve")
@example(decision="deny")
async def test_only_an_approver_of_the_tenant_decides(world: World, decision: str) -> None:
    """An agent's mail waits for a person. The agent, a colleague, a stranger's approver and nobody try to decide.

    Each is refused and nothing runs; then a person of the tenant decides, once, and the record says who and what.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme, globex = server.client("acme"), server.client("globex")
    agent = await vaultd.token("agent-1", tenant="acme")
    await acme.configure(agent)
    await globex.configure()
    asked = await acme.call("connector_execute_job", request=mail("ada@example.com"))
    approval = asked.details["approval"]
    pending = (approval["challenge_id"], approval["pending_id"])
    others = {
        "the asking agent": (agent, 403),
        "the asking agent, who is an approver too": (await vaultd.token("agent-1", tenant="acme", approver="Al"), 403),
        "another agent of the tenant": (await vaultd.token("agent-2", tenant="acme"), 403),
        "an approver of another tenant": (await vaultd.token(tenant="globex", approver="Sam"), 404),
        "an agent of another tenant": (await vaultd.token("agent-1", tenant="globex"), 403),
        "nobody": ("vat-unknown", 401),
    }
    for who, (token, status) in others.items():
        refused = await vaultd.decide(token, *pending, decision)
        assert refused.status == status, f"{who} decided {decision}: {refused.status} {refused.body!r}"
    assert await vaultd.effects() == [], "it ran before anybody of the tenant had decided"
    waiting = (await acme.call("approvals_pending_get", challenge_id=pending[0], pending_id=pending[1])).data["item"]
    assert (waiting["state"], waiting["decided_by"], waiting["decision_outcome"]) == ("WAITING", "", "PENDING")
    hidden = await globex.call("approvals_pending_list")
    assert hidden.data == {"items": []}, "another tenant sees the request"

    pat = await vaultd.token(tenant="acme", approver="Pat")
    decided = await vaultd.decide(pat, *pending, decision)
    assert decided.status == 200, decided.body
    again = await vaultd.decide(pat, *pending, "approve")
    assert again.status == 409, "a second word counts"
    item = (await acme.call("approvals_pending_get", challenge_id=pending[0], pending_id=pending[1])).data["item"]
    assert (item["decided_by"], item["decision"]) == ("Pat", decision)
    ended = await acme.call("approval_wait", approval["next_action"]["arguments"])
    effects = [(one["verb"], one["arguments"]["to"], one["decided_by"]) for one in await vaultd.effects()]
    if decision == "approve":
        assert (ended.data["terminal_status"], ended.data["decision_outcome"]) == ("SUCCEEDED", "ALLOW")
        assert effects == [("google.gmail.messages.send", ["ada@example.com"], "Pat")]
    else:
        assert (ended.data["terminal_status"], ended.data["decision_outcome"]) == ("DENIED", "DENY")
        assert effects == []


@scenario("VC-14")
async def test_nobody_decided_what_expired(world: World) -> None:
    """A request runs out. A person who comes after that is late, and the record names nobody as its decider."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme = server.client("acme")
    await acme.configure()
    ttl_s = 4 * world.tick_s
    verbs = {"google.gmail.messages.send": "ask"}
    await vaultd.control("PUT", "/control/policies", {"verbs": verbs, "approval_ttl_s": ttl_s})
    approval = (await acme.call("connector_execute_job", request=mail("ada@example.com"))).details["approval"]
    await world.advance(ttl_s + world.tick_s)
    pat = await vaultd.token(tenant="acme", approver="Pat")
    late = await vaultd.decide(pat, approval["challenge_id"], approval["pending_id"], "approve")
    assert (late.status, late.json()["error"]["code"]) == (409, "APPROVAL_DECISION_EXPIRED")
    items = (await acme.call("approvals_pending_list")).data["items"]
    assert [(one["state"], one["decided_by"], one["decision_outcome"]) for one in items] == [("EXPIRED", "", "DENY")]
    assert await vaultd.effects() == []


@scenario("VC-14")
async def test_there_are_forty_tools_and_none_decides(world: World) -> None:
    """A client lists the tools. They are the forty of the contract, so none of them gives a person's word."""
    server = await world.vaultclaw()
    listed = await server.client("acme").rpc("tools/list")
    assert listed is not None
    assert len(NAMES) == 40
    assert [tool["name"] for tool in listed["result"]["tools"]] == [f"vaultclaw_{name}" for name in NAMES]


CALLS = st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), min_size=8, max_size=16)


@scenario("VC-14", sees=("a job was read", "a run was read", "approvals were read"))
@settings(max_examples=8)
@given(calls=CALLS)
@example(calls=PLAUSIBLE)
async def test_what_the_server_looks_at_it_only_looks_at(world: World, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """An agent calls the tools with any arguments, and each once with arguments that fit.

    Whatever the vault hears about approvals, jobs and runs is a GET without a body; nothing is ever decided.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme = server.client("acme")
    await acme.configure(timeout_ms=1000)
    for state in ("FAILED", "PENDING"):
        told = {"tenant": "acme", "states": [{"status": state}]}
        await vaultd.control("POST", "/control/jobs", told)
        await vaultd.control("POST", "/control/runs", told)
    for name, arguments in calls:
        if name == "session_clear":  # then nothing would be asked any more
            continue
        if name == "session_configure":
            arguments = {**arguments, "token": SOMEBODY_ELSES}
            await server.client("another").call(name, arguments)
            continue
        await acme.call(name, arguments)
    for seen in await vaultd.log():
        what = only_looked_at(seen["path"])
        if what is not None:
            assert (seen["method"], seen["body"]) == ("GET", ""), f"{seen['method']} {seen['path']}: {seen['body']}"
            world.saw(f"{what} read")
    items = (await vaultd.control("GET", "/approvals"))["items"]
    assert [one["decided_by"] for one in items if one["decided_by"]] == [], "somebody decided"
