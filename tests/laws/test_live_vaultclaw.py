"""The vault MCP server, served and gated as a user has it: green on the reference, red by the law that names the fault.

The commands are those of docs/approvals.md, "Check a served vault server". Wrong versions of the server are served
before a vault of their own, whose requests wait less; each is played the law that is about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawEnd, LiveRun
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads
from lasttick.laws.verdict import LawFailed

from .playing import ROOT
from .served_parts import Part, environ_of, nothing_more, play_of, ran

PAGE = (ROOT / "docs" / "approvals.md").read_text()
SECTION = PAGE.partition("## Check a served vault server")[2]
SERVE, CHECK = re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)[:2]
VAULT, SERVER = "http://127.0.0.1:8787", "http://127.0.0.1:8790"
"""Where they are on the page."""
TIMEOUT_S = 2.0
RED = {
    "environment-token-for-every-tenant": "tools/hidden-is-refused",
    "last-configured-wins": "tools/tenant-isolated",
    "silence-is-allow": "approval/silence-is-not-yes",
    "tenants-in-any-case": "tools/tenant-isolated",
    "tenants-in-small-letters": "tools/tenant-isolated",
    "token-follows-download-url": "tools/credential-stays-home",
    "token-goes-to-every-port": "tools/credential-stays-home",
    "token-of-the-first-caller": "tools/tenant-isolated",
}
REASONS = {
    "approval/silence-is-not-yes": "the asker was answered ok without a yes: ",
    "tools/credential-stays-home": "carried the credential to another origin, plain, at /headers",
    "tools/hidden-is-refused": "is not for stranger, and it happened all the same",
    "tools/tenant-isolated": "was carried out as ",
}
EXPORTED = dict(re.findall(r"(LASTTICK_\w+)=(\S+)", CHECK))
"""What the page's check has in its environment."""


def page_environ(text: str) -> dict[str, str]:
    """The variables that a command of the page begins with."""
    return dict(re.findall(r"([A-Z_]+)=(\S+)", text.partition("lasttick serve")[0]))


class Vault:
    """A served daemon; `timeout_s`: how long a request waits there, None as the vault has it."""

    def __init__(self, folder: Path, name: str, timeout_s: float | None = None) -> None:
        self.part = Part(folder, name, "vaultd", "--port", "0")
        self.url = self.part.url()
        if timeout_s is not None:
            policy = {"approval_ttl_s": timeout_s}
            httpx.put(f"{self.url}/control/policies", json=policy, trust_env=False).raise_for_status()


def server(folder: Path, name: str, vault: Vault, *more: str) -> Part:
    """A server as the page serves one, on a port of its own."""
    given = {key: value.replace(VAULT, vault.url) for key, value in page_environ(SERVE).items()}
    catalog = str(folder / f"catalog-{name}")
    environ = {**given, "ACCORDS_MCP_HTTP_ADDR": "127.0.0.1:0", "ACCORDS_MCP_CATALOG_DIR": catalog}
    return Part(folder, name, "vaultclaw", *more, environ=environ)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vaultclaw")


@pytest.fixture(scope="module")
def shell(folder: Path) -> dict[str, str]:
    """The environment of a fresh shell."""
    return environ_of(folder)


@pytest.fixture(scope="module")
def wrong(folder: Path) -> Iterator[Mapping[str, Wrong]]:
    """Every wrong version, served before one vault."""
    vault = Vault(folder, "vault-of-the-wrong", TIMEOUT_S)
    served = {name: Wrong(server(folder, name, vault, "--mutant", f"vaultclaw/{name}"), name, vault) for name in RED}
    try:
        yield served
    finally:
        with ThreadPoolExecutor(len(served)) as pool:
            list(pool.map(lambda one: one.part.stop(), served.values()))
        vault.part.stop()


class Wrong:
    """A wrong version and what the profile asks for."""

    def __init__(self, part: Part, mutant: str, vault: Vault) -> None:
        self.part, self.mutant, self.vault = part, mutant, vault

    def environ(self) -> dict[str, str]:
        urls = {"LASTTICK_TARGET_URL": f"{self.part.url()}/mcp", "LASTTICK_VAULT_URL": self.vault.url}
        return {**EXPORTED, **urls, "LASTTICK_APPROVAL_TIMEOUT_S": f"{TIMEOUT_S:g}"}

    async def deploy(self) -> Deployment:
        environ = await asyncio.to_thread(self.environ)
        loaded = loads(profile_text("seed-vaultclaw"), "lasttick.toml", environ)
        # All share a vault, so a mark must say whose it is.
        return Deployment(loaded.profile, run=f"m{list(RED).index(self.mutant)}", secrets=loaded.secrets)


@pytest.fixture(scope="module")
def checking(folder: Path, shell: dict[str, str]) -> Iterator[Future[subprocess.CompletedProcess[str]]]:
    """The page's commands at work on the served reference, beside the wrong ones: most of it is waiting."""
    vault = Vault(folder, "vault")
    part = server(folder, "reference", vault)
    commands = CHECK.replace(VAULT, vault.url).replace(SERVER, part.url())
    where = folder / "check"
    where.mkdir()
    try:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(ran, ["bash", "-e", "-c", commands], where, shell)
    finally:
        part.stop()
        vault.part.stop()


@pytest.fixture(scope="module")
def ends(wrong: Mapping[str, Wrong], checking: object) -> Iterator[dict[str, LawEnd]]:
    """How each mutant's law ended. All are played at once."""
    runs = {name: LiveRun(one.deploy) for name, one in wrong.items()}
    started: dict[str, Future[LawEnd]] = {name: runs[name].start([play_of(law)])[0] for name, law in RED.items()}
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
    assert REASONS[RED[mutant]] in str(error)
    assert "1 of 2" not in str(error), "it must fail again on a fresh subject"


def test_the_served_reference_is_green(checking: Future[subprocess.CompletedProcess[str]]) -> None:
    done = checking.result(120)
    assert done.returncode == 0, done.stdout + done.stderr
    planned = set(re.findall(r"^ +\d+ s  (\S+/\S+)$", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^PASS +(\S+)", done.stdout, re.MULTILINE))
    assert passed == planned >= set(RED.values())
    assert len([law for law in passed if law.startswith("approval/")]) == 12
    assert not re.search(r"\b(FAIL|INCONCLUSIVE)\b", done.stdout)
    assert EXPORTED["LASTTICK_SOURCE_TOKEN"] not in done.stdout + done.stderr


def test_what_a_check_told_the_server_of_is_taken_away(
    checking: Future[subprocess.CompletedProcess[str]], folder: Path
) -> None:
    assert checking.result(120).returncode == 0
    assert '"sources": []' in (folder / "catalog-reference" / "sources.json").read_text()


def test_a_check_of_a_wrong_version_ends_with_its_law(
    wrong: Mapping[str, Wrong], folder: Path, shell: dict[str, str]
) -> None:
    mutant = "token-follows-download-url"
    lasttick = [sys.executable, "-m", "lasttick"]
    where = folder / "check-of-a-wrong-one"
    where.mkdir()
    environ = {**shell, **wrong[mutant].environ()}
    assert ran([*lasttick, "init", "--profile", "seed-vaultclaw"], where, environ).returncode == 0
    done = ran([*lasttick, "check", "--only", RED[mutant]], where, environ)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL          tools/credential-stays-home" in done.stdout
    assert EXPORTED["LASTTICK_SOURCE_TOKEN"] not in done.stdout + done.stderr
