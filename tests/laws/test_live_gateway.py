"""The tool gateway, served and gated as a user's system: green on the reference, red by the law that names the fault.

The commands are those of docs/gateway.md, "Check a served gateway". Wrong versions of the platform are served beside
the reference, with its secrets, model and third party; each is played the law that is about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawEnd, LiveRun
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads
from lasttick.laws.verdict import LawFailed

from .playing import ROOT
from .served_parts import START_S, Part, environ_of, nothing_more, play_of, ran, ready_url

PAGE = (ROOT / "docs" / "gateway.md").read_text()
SECTION = PAGE.partition("## Check a served gateway")[2]
SERVE, CHECK = (re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0] for text in (PAGE, SECTION))
RED = {
    "404-differs-by-reason": "tools/tenant-isolated",
    "body-org-overrides-token-org": "tools/tenant-isolated",
    "internal-door-allows-write": "tools/class-limit",
    "lookup-by-id-only": "tools/tenant-isolated",
    "manifest-after-executor": "tools/refused-is-untouched",
    "manifest-unchecked": "tools/hidden-is-refused",
    "redaction-off": "tools/no-secret-out",
    "secret-compared-by-its-beginning": "tools/hidden-is-refused",
    "skill-unread": "tools/hidden-is-refused",
}
CHANGES_LISTS = ("skill-unread",)
"""What the model is offered differs: its turns are the real agent's. The others' are held by a stand-in, which costs
nothing, and the lists are those of the reference's turns."""
RUNS = {
    "LASTTICK_RUN_ID": ("CHAT_TOKEN", {"text": "Hold the shop open", "skill": "shop"}),
    "LASTTICK_IDLE_RUN_ID": ("CHAT_TOKEN", {"text": "Hold on"}),
    "LASTTICK_OTHER_RUN_ID": ("OTHER_CHAT_TOKEN", {"text": "Hold the other shop", "skill": "shop"}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def reference(folder: Path) -> Iterator[dict[str, str]]:
    """What `check.env` of the served reference says."""
    words = shlex.split(SERVE.replace("8770", "0"))
    identity = folder / words[words.index("--identity-dir") + 1]
    served = Part(folder, "reference", *words[2:-1], str(identity))
    try:
        served.url()
        lines = (identity / "check.env").read_text().splitlines()
        yield dict(word.split("=", 1) for line in lines for word in shlex.split(line)[1:])
    finally:
        served.stop()


@pytest.fixture(scope="module")
def shell(folder: Path) -> dict[str, str]:
    """The environment of a fresh shell."""
    return environ_of(folder)


@pytest.fixture(scope="module")
def checked(reference: dict[str, str], folder: Path, shell: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What the page's commands did on the served reference."""
    return ran(["bash", "-e", "-c", CHECK], folder, shell)


def test_the_served_reference_is_green(checked: subprocess.CompletedProcess[str]) -> None:
    done = checked
    assert done.returncode == 0, done.stdout + done.stderr
    planned = set(re.findall(r"^ +\d+ s  (\S+/\S+)$", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^PASS +(\S+)", done.stdout, re.MULTILINE))
    assert passed == planned >= {*RED.values(), "session/bound-to-caller"}
    assert "FAIL" not in done.stdout
    assert "INCONCLUSIVE" not in done.stdout


class Wrong:
    """A wrong version of the platform, with runs of its own. `agent_url`: who takes its turns."""

    def __init__(self, folder: Path, mutant: str, reference: dict[str, str], agent_url: str, jwt_key: str) -> None:
        secrets = {
            "AGENT_SERVICE_SECRET": reference["LASTTICK_AGENT_SECRET"],
            "PLATFORM_ADMIN_TOKEN": reference["LASTTICK_ADMIN_TOKEN"],
            "RUNNER_JWT_SECRET": jwt_key,
        }
        upstream = ["--agent-url", agent_url, "--third-party-url", reference["LASTTICK_THIRD_PARTY_URL"]]
        words = ["--port", "0", "--identity-dir", str(folder / mutant), *upstream, "--mutant", f"gateway/{mutant}"]
        self.mutant = mutant
        self.part = Part(folder, mutant, "gateway", *words, environ=secrets)
        self.reference = reference

    def environ(self) -> dict[str, str]:
        """What the profile asks for, once the organisations are there and the runs are open."""
        known = {**self.reference, "LASTTICK_TARGET_URL": self.part.url()}
        with httpx.Client(base_url=known["LASTTICK_TARGET_URL"], trust_env=False, timeout=START_S) as http:
            admin = {"authorization": f"Bearer {known['LASTTICK_ADMIN_TOKEN']}"}
            for org, token in (("LASTTICK_ORG", "CHAT_TOKEN"), ("LASTTICK_OTHER_ORG", "OTHER_CHAT_TOKEN")):
                document = {
                    "chat_tokens": [known[token]],
                    "bindings": [{"slug": "shop", "state": "published"}],
                    "skills": {"shop": ["shop"]},
                    "flags": {"tool_dispatch_enabled": True},
                }
                http.put(f"/v1/admin/orgs/{known[org]}", json=document, headers=admin).raise_for_status()
            for name, (token, message) in RUNS.items():
                headers = {"authorization": f"Bearer {known[token]}", "prefer": "respond-async"}
                answer = http.post("/v1/conversations/c/messages", json=message, headers=headers)
                known[name] = answer.raise_for_status().json()["run_id"]
            manifest = {"allowedTools": ["shop:get_order", "shop:refund"]}
            path = f"/v1/admin/runs/{known['LASTTICK_RUN_ID']}/manifest"
            http.put(path, json=manifest, headers=admin).raise_for_status()
        return known

    async def deploy(self) -> Deployment:
        environ = await asyncio.to_thread(self.environ)
        loaded = loads(profile_text("seed-gateway"), "lasttick.toml", environ)
        # All share a third party, so a mark must say whose it is.
        return Deployment(loaded.profile, run=f"m{list(RED).index(self.mutant)}", secrets=loaded.secrets)


@pytest.fixture(scope="module")
def wrong(
    reference: dict[str, str], folder: Path, checked: subprocess.CompletedProcess[str]
) -> Iterator[dict[str, Wrong]]:
    """Every wrong version, served. In the reference's own check, which is over, the model was asked with the lists."""
    identity = folder / "gateway-demo"
    key = json.loads((identity / "gateway_jwt_key.json").read_text())["token"]
    held = Part(folder, "held", "agent", "--port", "0", "--held")
    agents = {True: ready_url(identity / "logs" / "agent.log"), False: held.url()}
    served = {name: Wrong(folder, name, reference, agents[name in CHANGES_LISTS], key) for name in RED}
    try:
        yield served
    finally:
        with ThreadPoolExecutor(len(served) + 1) as pool:
            list(pool.map(lambda part: part.stop(), [*(one.part for one in served.values()), held]))


@pytest.fixture(scope="module")
def ends(wrong: dict[str, Wrong]) -> Iterator[dict[str, LawEnd]]:
    """How each mutant's law ended."""
    runs = {name: LiveRun(one.deploy) for name, one in wrong.items()}
    started: dict[str, Any] = {name: runs[name].start([play_of(law)])[0] for name, law in RED.items()}
    try:
        yield {name: future.result(120) for name, future in started.items()}
    finally:
        for run in runs.values():
            with contextlib.suppress(asyncio.CancelledError):
                run.close(nothing_more)


@pytest.mark.parametrize("mutant", RED)
def test_a_served_mutant_is_red_by_the_law_that_names_it(mutant: str, ends: dict[str, LawEnd]) -> None:
    error = ends[mutant].error
    assert isinstance(error, LawFailed), f"{RED[mutant]} on {mutant} ended with {error!r}"
    assert "1 of 2" not in str(error), "it must fail again on a fresh subject"


def test_a_check_of_a_wrong_version_ends_with_its_law(
    wrong: dict[str, Wrong], folder: Path, shell: dict[str, str]
) -> None:
    mutant = "internal-door-allows-write"
    lasttick = [sys.executable, "-m", "lasttick"]
    where = folder / mutant / "check"
    where.mkdir()
    environ = {**shell, **wrong[mutant].environ()}
    assert ran([*lasttick, "init", "--profile", "seed-gateway"], where, environ).returncode == 0
    done = ran([*lasttick, "check", "--only", RED[mutant]], where, environ)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL          tools/class-limit" in done.stdout
    assert "refund is not for agent, and it happened all the same when called by its name" in done.stdout
    secrets = [wrong[mutant].reference[name] for name in ("LASTTICK_AGENT_SECRET", "LASTTICK_RUNNER_TOKEN")]
    assert not any(secret in done.stdout + done.stderr for secret in secrets)
