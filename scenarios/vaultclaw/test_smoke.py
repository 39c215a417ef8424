"""The smoke suite on the fake daemon: it passes where all is well, and says what is not, or what it could not see."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

CORE = ("Session", "Discovery", "Execute", "ExecuteJob", "Plan", "Approvals")
MANUAL = "ManualApprovalResume_Deny"
SCOPES = {
    "connectors.list.v1": "Discovery",
    "connectors.get.v1": "Discovery",
    "connectors.execute.v1": "Execute",
    "connectors.execute_job.v1": "ExecuteJob",
    "connectors.plans.execute.v1": "Plan",
    "connectors.plans.read.v1": "Plan",
    "connectors.approvals.pending.read.v1": "Approvals",
}
"""What the whole suite needs, and the group that needs it."""


async def environ(world: World, scopes: list[str] | None = None) -> dict[str, str]:
    vaultd = await world.vaultd()
    token = await vaultd.token("smoke-agent", tenant="acme", scopes=scopes)
    return {"VC_AGENT_TOKEN": token, "VC_BASE_URL": vaultd.url}


@scenario("VC-22")
@pytest.mark.parametrize("via", ["stdio", "http"])
async def test_the_core_groups_pass(world: World, via: str) -> None:
    """The suite plays on a vault that has everything. All core groups pass; the one for a person is not played.

    With nobody asked nothing waits for a decision, and the only thing that was carried out is reading a page.
    """
    server = await world.vaultclaw(via=via)
    said: list[str] = []
    run = await server.smoke(await environ(world), said.append)
    assert run.code == 0, said
    assert run.verdicts() == {**dict.fromkeys(CORE, "pass"), MANUAL: "not_applicable"}
    assert "VC_SMOKE_MANUAL_APPROVAL" in run.reason(MANUAL)
    vaultd = await world.vaultd()
    assert [one["verb"] for one in await vaultd.effects()] == ["generic.http.request.v1"] * 3
    assert (await vaultd.control("GET", "/approvals"))["items"] == []


@scenario("VC-22")
@pytest.mark.parametrize("scope", list(SCOPES))
async def test_a_missing_scope_is_named(world: World, scope: str) -> None:
    """The token lacks one scope. The group that needs it is inconclusive and names it; the others pass; exit code 4."""
    server = await world.vaultclaw()
    left = [one for one in SCOPES if one != scope]
    run = await server.smoke(await environ(world, left))
    assert run.code == 4
    lacking = SCOPES[scope]
    expected: dict[str, str] = {**dict.fromkeys(CORE, "pass"), lacking: "inconclusive", MANUAL: "not_applicable"}
    assert run.verdicts() == expected, run.outcomes
    assert scope in run.reason(lacking), run.reason(lacking)


@scenario("VC-22")
@pytest.mark.parametrize("decision", ["deny", "approve"])
async def test_a_person_denies_and_the_wait_resumes(world: World, decision: str) -> None:
    """By hand: the suite prints the ids and waits. When a person denies, it passes; when one approves, it fails."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    said: list[str] = []
    variables = {"VC_SMOKE_MANUAL_APPROVAL": "1", "VC_SMOKE_POLL_INTERVAL_MS": "250"}
    playing = world.start(server.smoke({**await environ(world), **variables}, said.append))
    while not (ids := printed(said)) and not playing.done():
        await world.advance(world.tick_s)
    assert ids, f"the suite ended without the three ids: {said}"
    pat = await vaultd.token(tenant="acme", approver="Pat")
    answer = await vaultd.decide(pat, ids["challenge_id"], ids["pending_id"], decision)
    assert answer.json()["item"]["job_id"] == ids["run_id"], "the ids that were printed are not those of one request"
    run = await playing
    if decision == "deny":
        assert (run.code, run.verdicts()[MANUAL]) == (0, "pass"), said
        assert all(one["verb"] == "generic.http.request.v1" for one in await vaultd.effects()), "a mail was sent"
    else:
        assert (run.code, run.verdicts()[MANUAL]) == (1, "fail"), said
        assert "SUCCEEDED/ALLOW; expected DENIED/DENY" in run.reason(MANUAL)


def printed(said: list[str]) -> dict[str, str]:
    """The three ids, once all are there."""
    pairs = dict(line.split(": ", 1) for line in said if line.count(": ") == 1)
    names = ("challenge_id", "pending_id", "run_id")
    return {name: pairs[name] for name in names} if all(name in pairs for name in names) else {}


BAD: dict[str, tuple[dict[str, str], int, str]] = {
    "allow-expected": ({"VC_SMOKE_EXPECT_OUTCOME": "ALLOW"}, 2, "VC_SMOKE_EXPECT_OUTCOME is 'ALLOW'"),
    "no-token": ({"VC_AGENT_TOKEN": " "}, 2, "VC_AGENT_TOKEN is not set"),
    "manual-maybe": ({"VC_SMOKE_MANUAL_APPROVAL": "maybe"}, 2, "VC_SMOKE_MANUAL_APPROVAL is 'maybe'"),
    "no-time": ({"VC_SMOKE_WAIT_TIMEOUT_MS": "soon"}, 2, "VC_SMOKE_WAIT_TIMEOUT_MS is 'soon'"),
    "nobody-there": ({"VC_BASE_URL": "http://127.0.0.1:9"}, 3, "does not answer at http://127.0.0.1:9"),
}


@scenario("VC-22")
@pytest.mark.parametrize("what", list(BAD))
async def test_what_cannot_be_played_is_said(world: World, what: str) -> None:
    """A variable that makes no sense, or a vault that is not there: no verdict, exit code 2 or 3, and what to do."""
    variables, code, named = BAD[what]
    server = await world.vaultclaw()
    said: list[str] = []
    given: dict[str, Any] = {**await environ(world), **variables}
    run = await server.smoke(given, said.append)
    assert (run.code, run.outcomes) == (code, ()), said
    assert named in said[-1], said
    assert "expected:" in said[-1], said
    assert "next:" in said[-1], said
    vaultd = await world.vaultd()
    assert await vaultd.calls() == []


@scenario("VC-22")
async def test_a_vault_that_is_broken_fails_by_group(world: World) -> None:
    """The vault answers one call of each kind with an error of its own. Those groups fail, by name; exit code 1."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    broken = {
        "Discovery": "/v0/connectors/generic.http",
        "ExecuteJob": "/v0/connectors/execute-job",
        "Plan": "/v0/connectors/plans/execute",
        "Approvals": "/v0/connectors/approvals/pending*",
    }
    for path in broken.values():
        await vaultd.trouble("5xx", path=path, count=1)
    run = await server.smoke(await environ(world))
    assert run.code == 1
    assert [group for group, verdict in run.verdicts().items() if verdict == "fail"] == list(broken)
