"""The laws of leases and sessions on two host agents behind one address: with a shared store they are kept.

Behind a hop that keeps a session at its replica, every caller's session is at another host than the one before.
"""

from __future__ import annotations

import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.reference import DEVICES
from lasttick.laws.servers.hop import hop_app
from lasttick.laws.servers.hop_options import HopOptions
from lasttick.targets.virtual import VirtualWorld

from .test_session_laws import Doors
from .verdicts import Change, asgi_transport, on_reference

TTL_S = 20.0  # as the law's profile says of the reference


def two_hosts(lease_store: str, *, sticky: bool = True) -> Change:
    async def change(world: VirtualWorld, deployment: Deployment) -> None:
        hosts = [
            await world.hostagent(devices=DEVICES, ttl_s=TTL_S, lease_store=lease_store, name=f"replica-{number}")
            for number in range(2)
        ]
        options = HopOptions(to=tuple(host.console_url for host in hosts), sticky=sticky)
        deployment.transport = asgi_transport(hop_app(options, Doors(world.transport(), hosts)))

    return change


@pytest.mark.parametrize(
    "law",
    [
        "lease/stale-holder-refused",
        "lease/exclusive",
        "lease/outlives-long-call",
        "lease/expires-exactly",
        "lease/reported-is-held",
        "session/ended-is-ended",
        "session/survives-replica",
    ],
)
def test_two_hosts_with_a_shared_store_keep_it(law: str) -> None:
    assert on_reference(law, change=two_hosts("shared")).word == "pass"


@pytest.mark.parametrize("law", ["lease/exclusive", "lease/outlives-long-call", "lease/stale-holder-refused"])
def test_two_hosts_with_leases_in_their_own_memory_break_it(law: str) -> None:
    end = on_reference(law, change=two_hosts(""))
    assert end.word == "fail", end


@pytest.mark.parametrize(
    ("law", "mutant", "word"),
    [
        ("lease/expires-exactly", "keeper-keeps-what-has-ended", "fail"),
        # The lease is lost under the call, and the device itself still lets nobody in: neither a pass nor a fail.
        ("lease/outlives-long-call", "keeper-missing", "inconclusive"),
    ],
)
def test_what_the_laws_say_of_wrong_hosts(law: str, mutant: str, word: str) -> None:
    assert on_reference(law, f"hostagent/{mutant}", two_hosts("shared")).word == word


def test_sessions_are_not_shared_so_a_hop_that_knows_none_is_red() -> None:
    end = on_reference("session/survives-replica", change=two_hosts("shared", sticky=False))
    assert end.word == "fail"
    assert end.reason.startswith("no open, list and call succeeded as a whole within 3 openings")
