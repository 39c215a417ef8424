"""What the plan says of the shipped laws: what it promises to run is not found inapplicable by the check."""

from __future__ import annotations

import asyncio

import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.plan import PlannedLaw, plan
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads

from . import lease_service
from .playing import all_laws

LAWS = all_laws()
GATEWAY = {
    "GATEWAY_URL": "http://127.0.0.1:7/mcp",
    "GATEWAY_TOKEN_ALICE": "alice-1234",
    "GATEWAY_TOKEN_BOB": "bob-12345",
}
HOST = {"LASTTICK_TARGET_URL": "http://127.0.0.1:7/mcp", "LASTTICK_TOKEN": "token-12345"}
NO_SESSIONS = lease_service.PROFILE.format(origin="127.0.0.1:7", ttl_s=20, policy='renewed_by = ["renew"]')
NO_SESSIONS = NO_SESSIONS[: NO_SESSIONS.index("[session]")] + NO_SESSIONS[NO_SESSIONS.index("[lease]\n") :]


def running(text: str, environ: dict[str, str], **listings: tuple[str, ...]) -> list[str]:
    async def run() -> list[str]:
        loaded = loads(text, "f.toml", environ)
        laws = [
            PlannedLaw(id_, law.function, spec.verbs, spec.callers, spec.seconds, spec.invariant, spec.restarts)
            for id_, law in LAWS.items()
            if (spec := law.spec.law) is not None
        ]
        found = await asyncio.wait_for(plan(laws, Deployment(loaded.profile, run="t"), 1, listings), 10)
        return [line.law for line in found.lines if not line.why_not]

    return asyncio.run(run())


TOOLS = ["tools/hidden-is-refused", "tools/class-limit", "tools/refused-is-untouched", "tools/no-secret-out"]
SESSIONS = ["session/bound-to-caller", "session/ended-is-ended", "session/survives-replica"]


@pytest.mark.parametrize(
    ("listings", "laws"),
    [
        ({"alice": ("up__ltread", "up__ltwrite"), "bob": ("up__ltread",)}, [*TOOLS, *SESSIONS]),
        ({}, [*TOOLS, *SESSIONS]),
        ({"alice": ("echo",), "bob": ("echo",)}, ["tools/refused-is-untouched"]),
    ],
    ids=["with a recorder", "lists not seen", "without a recorder"],
)
def test_a_gateway(listings: dict[str, tuple[str, ...]], laws: list[str]) -> None:
    assert running(profile_text("mcp-gateway"), GATEWAY, **listings) == sorted(laws)


def test_our_tool_gateway() -> None:
    secrets = [f"LASTTICK_{name}" for name in ("AGENT_SECRET", "ADMIN_TOKEN", "RUNNER_TOKEN", "OTHER_TOKEN")]
    environ = dict.fromkeys(secrets, "s" * 9) | {"LASTTICK_TARGET_URL": "http://127.0.0.1:7"}
    found = running(profile_text("seed-gateway"), environ, agent=("get_order", "get_product"), idle=("terminal",))
    assert found == sorted(["session/bound-to-caller", "tools/tenant-isolated", *TOOLS])


def test_our_host_agent() -> None:
    seen = dict.fromkeys(("alice", "bob", "carol"), ("swipe", "tap"))
    found = running(profile_text("seed-hostagent"), HOST, **seen, stranger=())
    needs_more = ("lease/clock-proof", "tools/class-limit", "tools/credential-stays-home", "tools/tenant-isolated")
    ours = [law for law in LAWS if not law.startswith("approval/")]
    assert found == sorted(law for law in ours if law not in needs_more)


def test_a_service_of_approvals() -> None:
    environ = {"AGENT_URL": "http://127.0.0.1:7", "AGENT_TOKEN": "alice-1234", "DECIDER_TOKEN": "boss-12345"}
    laws = [law for law in LAWS if law.startswith("approval/")]
    found = running(profile_text("approval-http"), environ)
    assert [law for law in found if law.startswith("approval/")] == sorted(
        law for law in laws if law != "approval/survives-restart"
    )
    nobody = running(profile_text("approval-http").replace("decides = true", ""), environ)
    assert not any(law.startswith("approval/") for law in nobody)


def test_a_lease_service_without_sessions() -> None:
    text = NO_SESSIONS.replace(', json = { session = "{session}" }', "").replace('session = "{session}", ', "")
    found = running(text.replace('json = { session = "{session}" }\n', ""), {})
    assert "lease/exclusive" in found
    assert not any(law in SESSIONS for law in found)
