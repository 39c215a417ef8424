"""The whole way from a person's words to a mail with documents that another person allowed, and each way it may end."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

from .steps_journey import (
    EXECUTING,
    RECIPIENT,
    STEPS,
    TYPES,
    VAULT_PATHS,
    approver,
    documents,
    forget_the_send_template,
    travel,
)

INPUTS = {"to": [RECIPIENT], "subject": "Papers", "text_plain": "Both are attached."}


@scenario("VC-23")
async def test_from_a_wish_to_a_mail_that_was_allowed(world: World) -> None:
    """An agent finds the documents and the newest template, renders, validates, executes, and waits for a person.

    Nothing is executed before the plan is valid and each document was found; the mail that goes out is what was shown.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme = server.client("acme")
    await acme.configure()
    await documents(vaultd, *TYPES)
    await approver(vaultd, "approve", after_s=world.tick_s)
    journey = await travel(acme, INPUTS)
    assert (journey.stopped, journey.why) == ("", ""), f"stopped at {journey.stopped}: {journey.why}"
    assert journey.done == list(STEPS)
    assert journey.versions[:2] == ["1.3.0", "1.2.0"], f"expected the newest first: {journey.versions}"
    assert (journey.ended["terminal_status"], journey.ended["decision_outcome"]) == ("SUCCEEDED", "ALLOW")

    calls = await vaultd.calls()
    paths = [call.partition("?")[0] for call in calls]
    executing = [path for path in paths if path.startswith("POST ") and path.removeprefix("POST ") in EXECUTING]
    assert executing == ["POST /v0/connectors/plans/execute"], executing
    at = paths.index(executing[0])
    assert paths[at - 3 : at] == ["POST /v0/connectors/plans/validate", *["GET /v0/docs/types/latest"] * 2], paths
    (sent,) = [one["body"] for one in await vaultd.log() if one["path"] == VAULT_PATHS["execute"]]
    (checked,) = [one["body"] for one in await vaultd.log() if one["path"] == VAULT_PATHS["validate"]]
    assert sent == checked, "the plan that was executed is another than the one that was valid"
    draft, mail = await vaultd.effects()
    assert (draft["verb"], draft["decided_by"]) == ("google.gmail.drafts.create", "")
    assert draft["arguments"]["to"] == [RECIPIENT]
    assert draft["arguments"]["document_attachments"] == [{"type_id": type_id} for type_id in TYPES]
    assert (mail["verb"], mail["decided_by"]) == ("google.gmail.drafts.send", "Pat")
    assert journey.ended["run"]["run_id"] == mail["work_id"] == journey.approval["run_id"]


FAILURES = {
    "suggest": "MCP_NETWORK_ERROR",
    "search": "nothing found",
    "render": "MCP_TEMPLATE_RENDER_UNRESOLVED",
    "validate": "not valid",
    "validate-down": "MCP_NETWORK_ERROR",
    "latest": "MCP_INTERNAL",
    "execute": "MCP_NETWORK_ERROR",
    "execute-refused": "MCP_APPROVAL_DENIED",
}


async def spoil(step: str, vaultd: Any, agent: Any) -> dict[str, Any]:
    """Make that step fail; the inputs with which the journey begins."""
    kind = step.partition("-")[0]
    if step == "search":
        await forget_the_send_template(agent)
    elif step == "validate":
        error = {"path": "/steps/0", "code": "PLAN_STEP_INVALID", "message": "no", "expected": "", "actual": ""}
        said = {"valid": False, "errors": [error]}
        await vaultd.control("POST", "/control/answers", {"path": VAULT_PATHS[kind], "body": said})
    elif step == "execute-refused":
        verbs = {"google.gmail.drafts.create": "deny"}
        await vaultd.control("PUT", "/control/policies", {"verbs": verbs})
    elif step not in ("render", "latest"):
        await vaultd.trouble("5xx", path=VAULT_PATHS[kind], count=1)
    if step != "latest":
        await documents(vaultd, *TYPES)
    return {"to": [RECIPIENT]} if step == "render" else INPUTS


@scenario("VC-23")
@pytest.mark.parametrize("step", list(FAILURES))
async def test_a_step_that_fails_leaves_nothing_executed(world: World, step: str) -> None:
    """One step of the journey fails: the vault is down, the plan not valid, a document missing, a rule says no.

    The agent learns which by its code. Before the execute step nothing executing was called; no mail is sent.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme = server.client("acme")
    await acme.configure()
    await approver(vaultd, "approve", after_s=0)
    journey = await travel(acme, await spoil(step, vaultd, acme))
    kind = step.partition("-")[0]
    assert (journey.stopped, journey.why) == (kind, FAILURES[step])
    assert journey.done == list(STEPS[: STEPS.index(kind)])
    expect_nothing_ran(await vaultd.calls(), await vaultd.effects(), tried=kind == "execute")


@scenario("VC-23")
@pytest.mark.parametrize("how", ["deny", "never"])
async def test_a_journey_that_nobody_allows_ends_without_a_mail(world: World, how: str) -> None:
    """The agent waits, and the person says no, or nothing at all until its time is up.

    No is told as DENY, silence as a time-out that can be tried again; there is a draft, and no mail.
    """
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    acme = server.client("acme")
    await acme.configure()
    await documents(vaultd, *TYPES)
    await approver(vaultd, how, after_s=world.tick_s)
    journey = await travel(acme, INPUTS)
    if how == "deny":
        assert journey.stopped == ""
        assert (journey.ended["terminal_status"], journey.ended["decision_outcome"]) == ("DENIED", "DENY")
    else:
        assert (journey.stopped, journey.why) == ("wait", "MCP_WAIT_TIMEOUT")
    assert [one["verb"] for one in await vaultd.effects()] == ["google.gmail.drafts.create"]


def expect_nothing_ran(calls: list[str], effects: list[dict[str, Any]], *, tried: bool) -> None:
    executing = [call for call in calls if call.partition(" ")[2] in EXECUTING]
    assert executing == (["POST /v0/connectors/plans/execute"] if tried else []), executing
    assert effects == [], "something was carried out"
