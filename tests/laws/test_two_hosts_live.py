"""Two served host agents over a real Redis, behind `lasttick serve hop`: the laws, as on a user's deployment."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterator

import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawEnd, LiveRun
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads
from lasttick.laws.verdict import LawFailed
from lasttick.targets.serve import mcp_token

from ..contracts.shared_servers import need, own_name
from .served_parts import Part, nothing_more, play_of

TTL_S = 2.0
KEPT = ["lease/stale-holder-refused", "lease/exclusive", "session/survives-replica"]
BROKEN = ["session/survives-replica"]
"""By the same hosts behind a hop that knows of no sessions: these are a host's own."""


@pytest.fixture(scope="module")
def redis_url() -> str:
    """With keys that nobody else uses."""
    return f"{need('redis')}#{own_name()}"


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[dict[tuple[str, bool], LawEnd]]:
    """How each law ended, behind a hop that keeps sessions at their replica (True) and one that does not."""
    folder = tmp_path_factory.mktemp("two-hosts")
    parts = [rack := Part(folder, "rack", "devices", "--port", "0", "--devices", "phone-1,phone-2,phone-3")]
    token = mcp_token(folder / "host-0")
    (folder / "host-1").mkdir(mode=0o700)
    shutil.copy2(folder / "host-0" / "host_mcp_token.json", folder / "host-1")  # one token, as behind one address
    shared = ["--ttl", f"{TTL_S:g}", "--lease-store", redis_url, "--devices", rack.url()]
    hosts = [
        Part(folder, f"host-{n}", "hostagent", "--port", "0", "--identity-dir", str(folder / f"host-{n}"), *shared)
        for n in range(2)
    ]
    to = ",".join(host.url().removesuffix("/mcp") for host in hosts)
    hops = {
        True: Part(folder, "sticky", "hop", "--port", "0", "--to", to, "--sticky"),
        False: Part(folder, "plain", "hop", "--port", "0", "--to", to),
    }
    parts += [*hosts, *hops.values()]

    def deploy(hop: Part) -> Deployment:
        environ = {
            "LASTTICK_TARGET_URL": f"{hop.url().rstrip('/')}/mcp",
            "LASTTICK_TOKEN": token,
            "LASTTICK_TTL_S": f"{TTL_S:g}",
            "LASTTICK_DEVICES_URL": rack.url().rstrip("/"),
        }
        loaded = loads(profile_text("seed-hostagent"), "lasttick.toml", environ)
        return Deployment(loaded.profile, run="two", secrets=loaded.secrets)

    async def deploy_sticky() -> Deployment:
        return deploy(hops[True])

    async def deploy_plain() -> Deployment:
        return deploy(hops[False])

    runs = {True: LiveRun(deploy_sticky), False: LiveRun(deploy_plain)}
    found: dict[tuple[str, bool], LawEnd] = {}
    try:
        for is_sticky, laws in ((True, KEPT), (False, BROKEN)):
            started = runs[is_sticky].start([play_of(law) for law in laws])
            for law, future in zip(laws, started, strict=True):
                found[law, is_sticky] = future.result(120)
        yield found
    finally:
        for run in runs.values():
            with contextlib.suppress(asyncio.CancelledError):
                run.close(nothing_more)
        for part in reversed(parts):
            part.stop()
        _clean(redis_url)


def _clean(url: str) -> None:
    from redis import Redis

    place, _, prefix = url.partition("#")
    with Redis.from_url(place, socket_timeout=2) as client:
        for key in client.scan_iter(match=f"{{{prefix}}}:*"):
            client.delete(key)


@pytest.mark.parametrize("law", KEPT)
def test_two_hosts_that_share_a_store_keep_it(law: str, ends: dict[tuple[str, bool], LawEnd]) -> None:
    assert ends[law, True].error is None, ends[law, True]


@pytest.mark.parametrize("law", BROKEN)
def test_behind_a_hop_that_knows_no_sessions_it_is_red(law: str, ends: dict[tuple[str, bool], LawEnd]) -> None:
    assert isinstance(ends[law, False].error, LawFailed), ends[law, False]
