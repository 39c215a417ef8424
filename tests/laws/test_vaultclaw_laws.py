"""What the laws show on the vault MCP server: how much they judge, and the sentence for what a wrong version did."""

from __future__ import annotations

import pytest

from .verdicts import on_reference

TENANT, SILENCE = "tools/tenant-isolated", "approval/silence-is-not-yes"
CASES = {
    TENANT: (
        "vaultclaw_connector_execute of agent is its own tenant's",
        "vaultclaw_connector_execute of other is its own tenant's",
        "how a request of agent stands, by other",
    ),
    SILENCE: (
        "the deadline passed",
        "the asker was cut",
        "the answer was no decision",
        "the answer was a text about the word for yes",
        "the decider was cut",
        "the target was restarted; left out: going on undecided (approval.resume is not bound)",
    ),
    "approval/decider-only": (
        "agent, the asker",
        "other, who decides nothing",
        "stranger, who decides nothing",
        "other-approver, a decider of globex",
    ),
    "approval/survives-restart": ("a restart keeps it",),
    "tools/credential-stays-home": ("the address in an index", "a redirect"),
    "tools/hidden-is-refused": (
        "vaultclaw_connector_execute of stranger by unconfigured",
        "vaultclaw_connector_execute_job of stranger by unconfigured",
    ),
}


@pytest.mark.parametrize("law", CASES)
def test_the_reference_passes(law: str) -> None:
    ruled = on_reference(law, system="vaultclaw")
    assert ruled.word == "pass", ruled
    assert ruled.cases == CASES[law]


@pytest.mark.parametrize(
    ("law", "mutant", "reason"),
    [
        (SILENCE, "silence-is-allow", "the asker was answered ok without a yes: the deadline passed"),
        (TENANT, "last-configured-wins", "a call of agent, who is acme's, was carried out as globex's"),
        (TENANT, "token-of-the-first-caller", "a call of other, who is globex's, was carried out as acme's"),
        (TENANT, "tenants-in-any-case", "a call of agent, who is acme's, was carried out as globex's"),
    ],
)
def test_a_mutant_is_red_with_its_reason(law: str, mutant: str, reason: str) -> None:
    ruled = on_reference(law, f"vaultclaw/{mutant}", system="vaultclaw")
    assert ruled.word == "fail", ruled
    assert reason in ruled.reason
