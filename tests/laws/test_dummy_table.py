"""No law passes on a dummy, and each gets the verdict that the catalogue says."""

from __future__ import annotations

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop
from lasttick.engine.network import Network
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.load import loads
from lasttick.laws.servers.dummies import KINDS, DeadTransport, Dummy
from lasttick.laws.servers.dummy_profile import ENVIRON, Speaks, dummy_profile
from lasttick.laws.servers.origin import on_network
from lasttick.targets.transports import memory_transport

from .playing import Law, Ruled, all_laws, play

ORIGIN = "127.0.0.1:9001"
F, I, N = "fail", "inconclusive", "not_applicable"  # noqa: E741
# allow, deny, echo, liar; dead is always inconclusive.
TABLE = {
    "tools/hidden-is-refused": (F, I, I, F),
    "tools/refused-is-untouched": (I, I, I, F),
    "tools/class-limit": (F, I, I, F),
    "tools/tenant-isolated": (F, I, I, I),
    "tools/no-secret-out": (I, I, F, I),
    "tools/credential-stays-home": (I, I, I, I),
    "lease/exclusive": (F, I, I, I),
    "lease/outlives-long-call": (F, I, I, I),
    "lease/expires-exactly": (F, I, I, I),
    "lease/dies-with-holder": (I, I, I, I),
    "lease/only-own-release": (I, I, I, I),
    "lease/stale-holder-refused": (F, I, I, I),
    "lease/reported-is-held": (I, I, I, I),
    # A dummy's profile has no clock.step, so this one has nothing to say there.
    "lease/clock-proof": (N, N, N, N),
    "lease/busy-says-so": (F, I, I, I),
    "approval/silence-is-not-yes": (F, I, I, I),
    "approval/deny-is-final": (I, I, I, I),
    "approval/decider-only": (I, I, I, I),
    "approval/told-is-true": (I, I, I, I),
    "approval/once-only": (I, I, I, I),
    "approval/bound-to-request": (I, I, I, I),
    "approval/bound-to-arguments": (I, I, I, I),
    "approval/late-is-refused": (I, I, I, I),
    "approval/deadline-exact": (I, I, I, I),
    # A dummy's profile has no system.restart either.
    "approval/survives-restart": (N, N, N, N),
    "approval/timeout-is-no-person": (I, I, I, I),
    "approval/always-ends": (I, I, I, I),
    "approval/shows-what-runs": (I, I, I, I),
    "session/bound-to-caller": (F, I, I, I),
    "session/ended-is-ended": (F, I, I, I),
    "session/survives-replica": (I, I, I, I),
}
NEEDS_MORE = ("lease/clock-proof", "approval/survives-restart")
LAWS = all_laws()


@pytest.mark.parametrize("speaks", ["tool", "http"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", TABLE)
def test_no_law_passes_on_a_dummy(law: str, kind: str, speaks: Speaks) -> None:
    ruled = on_dummy(LAWS[law], kind, speaks)
    assert ruled.word != "pass", ruled
    column = {"allow": 0, "deny": 1, "echo": 2, "liar": 3}
    expected = TABLE[law][column[kind]] if kind in column else N if law in NEEDS_MORE else I
    assert ruled.word == expected, ruled


def test_every_law_stands_in_the_table() -> None:
    assert sorted(LAWS) == sorted(TABLE)


def on_dummy(law: Law, kind: str, speaks: Speaks) -> Ruled:
    async def deploy(loop: VirtualLoop) -> Deployment:
        loaded = loads(dummy_profile(f"http://{ORIGIN}", speaks), "dummy.toml", ENVIRON)
        network = Network()
        if kind != "dead":
            network.serve(ORIGIN, Dummy(kind, VirtualClock(loop)).app)
        transport = DeadTransport() if kind == "dead" else memory_transport(network)
        listen = on_network(network)
        return Deployment(loaded.profile, run="dum", secrets=loaded.secrets, transport=transport, listen=listen)

    return play(law, deploy)
