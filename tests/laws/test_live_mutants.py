"""Wrong versions of the host agent, served and gated as a user's system: red by the law that names the fault."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawEnd, LiveRun
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads
from lasttick.laws.verdict import LawFailed
from lasttick.targets.nursery import Forked, nursery
from lasttick.targets.serve import mcp_token

from .served_parts import nothing_more, play_of

TTL_S = 2.0
START_S = 60.0
RED = {
    "acquire-ignores-expiry": "lease/expires-exactly",
    "any-traffic-renews": "lease/expires-exactly",
    "cancel-unpins-before-driver": "lease/dies-with-holder",
    "lease-expires-mid-call": "lease/outlives-long-call",
    "lost-session-keeps-lease": "session/ended-is-ended",
    "owner-leaks-session-id": "lease/busy-says-so",
    "refusal-renews": "lease/only-own-release",
    "renew-touches-all-devices": "lease/expires-exactly",
    "session-end-under-call": "lease/dies-with-holder",
    "unsynchronised-arbitration": "lease/exclusive",
}


class Served:
    """A host agent on a free port; `mutant` None: the clean reference."""

    def __init__(self, folder: Path, mutant: str | None) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.log = folder / "log"
        self.log.touch()
        words = ["serve", "hostagent", "--port", "0", "--identity-dir", str(folder), "--ttl", f"{TTL_S:g}"]
        words += ["--devices", "phone-1,phone-2,phone-3"]
        words += ["--mutant", f"hostagent/{mutant}"] if mutant else []
        self.child: Forked = nursery().begin(words, self.log, os.environ)

    def url(self) -> str:
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            for line in self.log.read_text().splitlines():
                if line.startswith('{"name"'):
                    return str(json.loads(line)["url"])
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.log.read_text()}")

    async def deploy(self) -> Deployment:
        environ = {
            "LASTTICK_TARGET_URL": self.url(),
            "LASTTICK_TOKEN": mcp_token(self.folder),
            "LASTTICK_TTL_S": f"{TTL_S:g}",
        }
        loaded = loads(profile_text("seed-hostagent"), "lasttick.toml", environ)
        return Deployment(loaded.profile, run="mut", secrets=loaded.secrets)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LawEnd]]:
    """How each mutant's law ended. All are played at once: they mostly wait."""
    folder = tmp_path_factory.mktemp("served")
    served = {name: Served(folder / name, name) for name in RED}
    runs = {name: LiveRun(one.deploy) for name, one in served.items()}
    started: dict[str, Future[LawEnd]] = {name: runs[name].start([play_of(law)])[0] for name, law in RED.items()}
    try:
        yield {name: future.result(120) for name, future in started.items()}
    finally:
        for run in runs.values():
            with contextlib.suppress(asyncio.CancelledError):
                run.close(nothing_more)
        for one in served.values():
            one.child.terminate()
            one.child.wait(10)


@pytest.mark.parametrize("mutant", RED)
def test_a_served_mutant_is_red_by_the_law_that_names_it(mutant: str, ends: dict[str, LawEnd]) -> None:
    error = ends[mutant].error
    assert isinstance(error, LawFailed), f"{RED[mutant]} on {mutant} ended with {error!r}"
    assert "1 of 2" not in str(error), "it must fail again on a fresh subject"


def test_there_are_at_least_ten() -> None:
    assert len(RED) >= 10
