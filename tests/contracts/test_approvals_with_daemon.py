"""Do the tools and the fake vault daemon mean the same? Profiles, hand-offs, waits and the passport, over real HTTP.

The whole path in virtual time: JSON-RPC, the tools, the sender, the daemon with its scripted people. Source: contract
vaultclaw 8, 11 to 14, 19; VC-09 to VC-13, VC-19.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.reference.vaultclaw.tools import all_tools
from lasttick.targets.transports import memory_transport
from lasttick_fakes.vaultd import Person, Policy, VaultDaemon

from ..reference.vaultclaw.core_rig import Rig

MAIL = {
    "connector_id": "google",
    "verb": "google.gmail.messages.send",
    "request": {"to": ["a@b.com"], "subject": "s", "text_plain": "t"},
}
HTTP = {
    "connector_id": "generic.http",
    "verb": "generic.http.request.v1",
    "request": {
        "method": "GET",
        "url": "https://api.example.com/data",
        "secret_attachments": [
            {
                "slot": "api_key",
                "intent": "http.auth",
                "expected_secret_types": ["api-key"],
                "mode": "read",
                "target": "https://api.example.com",
            }
        ],
    },
}
PROFILE_ID = "mcp.auto.8042d5b7fd92"
Body = Callable[[Rig, VaultDaemon, VirtualLoop], Coroutine[Any, Any, Any]]


def with_daemon(body: Body, *persons: Person) -> Any:
    """What `body` gives, with a session of agent-1 of acme."""

    async def main(loop: VirtualLoop) -> Any:
        daemon = VaultDaemon(VirtualClock(loop))
        daemon.state.persons = list(persons)
        network = Network()
        network.serve("127.0.0.1:8080", daemon)
        transport: Any = memory_transport(network)
        rig = Rig(transport, tools=all_tools())
        await rig.configure("vc-agent")
        return await body(rig, daemon, loop)

    return run_virtual(main)


def test_a_made_profile_is_one_that_the_vault_lets_the_request_use_and_is_found_again() -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        first, second = [await rig.call("connector_execute_job", {"request": HTTP}) for _ in range(2)]
        assert first["ok"], first
        assert first["data"]["response"]["job"]["status"] == "SUCCEEDED"
        told = [answer["data"]["preflight"] for answer in (first, second)]
        assert [(one["status"], one["profile_id"]) for one in told] == [
            ("created", PROFILE_ID),
            ("resolved", PROFILE_ID),
        ]
        assert [one["profile_match"]["score"] for one in told] == [5, 5]
        assert [effect["arguments"]["profile_id"] for effect in daemon.effects()] == [PROFILE_ID] * 2

    with_daemon(body)


def test_a_plan_is_run_with_the_profile_that_its_bound_attachments_need() -> None:
    plan = {
        "type": "connector.execution.plan.v1",
        "start_step_id": "s1",
        "steps": [
            {
                "step_id": "s1",
                "connector_id": "generic.http",
                "verb": "generic.http.request.v1",
                "policy_version": "1",
                "request_base": {"method": "GET", "url": "https://api.example.com/data"},
                "request_bindings": [{"path": "/secret_attachments", "ref": {"source": "plan_input", "path": "/att"}}],
            }
        ],
    }
    plan_input = {"att": HTTP["request"]["secret_attachments"]}  # type: ignore[index]

    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        arguments = {"plan": plan, "plan_input": plan_input}
        before = await rig.call("plan_unbounded_profile_preview", arguments)
        assert [item["status"] for item in before["data"]["resolutions"]] == ["FAILED"]
        done = await rig.call("plan_execute", arguments)
        assert done["ok"], done
        assert done["data"]["preflight"]["resolutions"][0]["status"] == "CREATED"
        assert done["data"]["plan"]["steps"][0]["request_base"]["profile_id"] == PROFILE_ID
        after = await rig.call("plan_unbounded_profile_preview", arguments)
        assert after["data"]["resolutions"][0]["profile_id"] == PROFILE_ID
        read = await rig.call("plan_run_get", {"run_id": done["data"]["response"]["run"]["run_id"]})
        assert read["data"]["approval_state"] == {"status": "TERMINAL", "decision_outcome": "ALLOW"}
        assert len(daemon.effects()) == 1

    with_daemon(body)


@pytest.mark.parametrize("effect", ["ask", "grant"])
@pytest.mark.parametrize(
    ("person", "terminal", "outcome", "effects"),
    [
        (Person("approve", 599.0), "SUCCEEDED", "ALLOW", 1),
        (Person("approve", 600.0), "SUCCEEDED", "ALLOW", 1),
        (Person("deny", 30.2), "DENIED", "DENY", 0),
        (Person("approve", 600.1), None, None, 0),
        (Person("never"), None, None, 0),
    ],
)
def test_a_job_that_waits_for_a_person(
    effect: str, person: Person, terminal: str | None, outcome: str | None, effects: int
) -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        daemon.state.policy = Policy({MAIL["verb"]: effect}, approval_ttl_s=900)  # type: ignore[dict-item]
        asked = await rig.call("connector_execute_job", {"request": MAIL})
        assert asked["error"]["code"] == "MCP_APPROVAL_REQUIRED", asked
        approval = asked["error"]["details"]["approval"]
        assert approval["pending_id_resolved"] is True
        listed = await rig.call("approvals_pending_list", {"states": "waiting"})
        assert [item["pending_id"] for item in listed["data"]["items"]] == [approval["pending_id"]]
        got = await rig.call("approvals_pending_get", {name: approval[name] for name in ("challenge_id", "pending_id")})
        assert got["data"]["item"]["decision_outcome"] == "PENDING"
        action = approval["next_action"]
        waited = await rig.call(action["tool"].removeprefix("vaultclaw_"), action["arguments"])
        if terminal is None:
            assert waited["error"]["code"] == "MCP_WAIT_TIMEOUT"
            assert loop.time() == 600
        else:
            assert waited["ok"], waited
            assert (waited["data"]["terminal_status"], waited["data"]["decision_outcome"]) == (terminal, outcome)
        job = await rig.call("job_get", {"job_id": approval["job_id"]})
        state = job["data"]["approval_state"]
        assert state["status"] == ("TERMINAL" if terminal else "PENDING_APPROVAL")
        assert len(daemon.effects()) == effects

    with_daemon(body, person)


@pytest.mark.parametrize(("on_expiry", "outcome"), [("DENIED", "DENY"), ("EXPIRED", "UNKNOWN")])
def test_silence_of_the_person_ends_a_wait_without_a_yes(on_expiry: str, outcome: str) -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        daemon.state.policy = Policy(approval_ttl_s=60, on_expiry=on_expiry)
        asked = await rig.call("connector_execute_job", {"request": MAIL})
        handle = asked["error"]["details"]["approval"]["next_action"]["arguments"]
        waited = await rig.call("approval_wait", handle)
        assert (waited["data"]["terminal_status"], waited["data"]["decision_outcome"]) == (on_expiry, outcome)
        assert 60 <= loop.time() <= 61.5
        assert daemon.effects() == []

    with_daemon(body)


SLOTS = {
    "given_name": "Ada",
    "family_name": "Lovelace",
    "passport_number": "P1",
    "passport_expiry_date": "2030-01-01",
    "passport_issuing_country": "GB",
}


def hold_passport(daemon: VaultDaemon, **fields: str) -> None:
    one = {"document_id": "doc-1", "tenant": "acme", "type_id": "identity.passport", "subject_id": "self"}
    daemon.state.documents.append({**one, "fields": fields})


def test_a_passport_mail_waits_for_a_person_and_then_names_every_value() -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        request = {"request_text": "email my passport details to a@b.com"}
        missing = await rig.call("passport_email_workflow", request)
        assert missing["error"]["code"] == "MCP_DOCUMENT_UPLOAD_REQUIRED", missing
        hold_passport(daemon, **SLOTS)
        ready = await rig.call("passport_email_workflow", {**request, "execute": False})
        assert (ready["data"]["status"], daemon.effects()) == ("READY_TO_SEND", [])
        asked = await rig.call("passport_email_workflow", request)
        assert asked["error"]["code"] == "MCP_APPROVAL_REQUIRED", asked
        assert asked["error"]["details"]["pre_send_summary"]["recipient"] == "a@b.com"
        waited = await rig.call("approval_wait", asked["error"]["details"]["approval"]["next_action"]["arguments"])
        assert waited["data"]["decision_outcome"] == "ALLOW", waited
        steps = [effect["step_id"] for effect in daemon.effects()]
        assert steps == [
            "read_existing_profile",
            "extract_passport_fields",
            "read_after_extract_profile",
            "create_draft_after_extract",
            "send_draft_after_extract",
        ]
        text = daemon.effects()[3]["arguments"]["text_plain"]
        assert [line for line in text.splitlines() if ": " in line][-5:] == [
            "First Name: Ada",
            "Last Name: Lovelace",
            "Passport Number: P1",
            "Issuing Country: GB",
            "Expiry Date: 2030-01-01",
        ]

    with_daemon(body, Person("approve", 20.0))


@pytest.mark.parametrize("allowed", [True, False])
def test_a_passport_mail_that_nobody_must_approve(allowed: bool) -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> None:
        daemon.state.policy = Policy({"google.gmail.drafts.send": "allow" if allowed else "deny"})
        hold_passport(daemon)
        daemon.state.identities["acme"] = {"self": dict(SLOTS)}
        sent = await rig.call("passport_email_workflow", {"recipient_email": "a@b.com"})
        if allowed:
            assert sent["data"]["status"] == "SENT", sent
            assert [effect["step_id"] for effect in daemon.effects()][-1] == "send_draft_from_existing"
        else:
            assert sent["error"]["code"] == "MCP_GMAIL_DRAFT_SEND_FAILED"
            assert sent["error"]["details"]["upstream_error"]["code"] == "MCP_APPROVAL_DENIED"

    with_daemon(body)


@pytest.mark.parametrize(
    ("verb", "details", "code"),
    [
        ("identity.extraction.run.v1", {}, "MCP_PASSPORT_EXTRACTION_FAILED"),
        ("identity.profile.read.v1", {}, "MCP_PASSPORT_PROFILE_READ_FAILED"),
        ("identity.profile.read.v1", {"missing_slots": ["passport_number"]}, "MCP_MANUAL_FIELDS_REQUIRED"),
        ("google.gmail.drafts.create", {}, "MCP_GMAIL_DRAFT_SEND_FAILED"),
    ],
)
def test_a_passport_plan_that_fails_is_named_after_its_step(verb: str, details: Any, code: str) -> None:
    async def body(rig: Rig, daemon: VaultDaemon, loop: VirtualLoop) -> Any:
        hold_passport(daemon, **SLOTS)
        daemon.state.verbs[verb] = {"error": {"status": 422, "code": "VERB_FAILED", "details": details}}
        return await rig.call("passport_email_workflow", {"recipient_email": "a@b.com"})

    error = with_daemon(body)["error"]
    assert error["code"] == code, error
    assert error["details"].get("missing_fields") == (["passport_number"] if code.startswith("MCP_MANUAL") else None)
