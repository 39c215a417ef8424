"""The permission-card adapter, served and gated as a user has it: green on the reference, red by the law that names the
fault.

The commands are those of docs/cards.md, "Try it" and "Check a served adapter". Wrong versions are served each with an
agent and a chat host of its own, before one model; each is played the law that is about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from lasttick import mutants
from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawEnd, LiveRun
from lasttick.laws.profiles.init import profile_text
from lasttick.laws.profiles.load import loads
from lasttick.laws.verdict import LawFailed

from .playing import ROOT
from .served_parts import START_S, Part, environ_of, nothing_more, play_of, ran

PAGE = (ROOT / "docs" / "cards.md").read_text()
BLOCKS = {
    section.partition("\n")[0]: re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    for section in PAGE.split("\n## ")
}
MODEL, LINEUP, HOST, TRY = BLOCKS["Try it"]
(CHECK,) = BLOCKS["Check a served adapter"]
MODEL_URL, ADAPTER_URL, HOST_URL = "http://127.0.0.1:8772", "ws://127.0.0.1:8780", "http://127.0.0.1:8781"
"""Where they are on the page."""
LIFE_S = float(re.findall(r"--permission-life (\S+)", LINEUP)[0])
SCRIPTS = re.findall(r"/scripts -d '(.*?)'", TRY, re.DOTALL)
COMMAND = LINEUP.partition("exec lasttick serve ")[2].replace("\\\n", "")
CONFIG = re.findall(r"<<'END'\n(.*?)END\n", LINEUP, re.DOTALL)[0]
RED = {
    "any-click-allows": "approval/deny-is-final",
    "expiry-approves": "approval/silence-is-not-yes",
    "foreign-conversation-resolves": "approval/decider-only",
    "late-is-accepted": "approval/late-is-refused",
    "one-answer-for-all": "approval/bound-to-request",
    "subject-is-its-kind": "approval/shows-what-runs",
}
REASONS = {
    "any-click-allows": "what was denied ran after a later yes",
    "expiry-approves": "it ran without a yes: the deadline passed",
    "foreign-conversation-resolves": "it ran when stranger, who decides nothing, said yes",
    "late-is-accepted": "was answered ok",
    "one-answer-for-all": "by the yes to another one",
    "subject-is-its-kind": "the entry does not name what user asked for",
}
LAWS_JUDGED = 12
"""Of approval/*: survives-restart needs a restart, which the page's profile does not bind."""


class Adapter:
    """A served adapter with its agent, which thinks with `model`, and a chat host."""

    def __init__(self, folder: Path, name: str, model: str, shell: Mapping[str, str], *more: str) -> None:
        here = folder / name
        self.files = here / "files"
        self.files.mkdir(parents=True)
        (here / "hermes").mkdir()
        (here / "hermes" / "config.yaml").write_text(CONFIG.replace(MODEL_URL, model))
        environ = {"HERMES_HOME": str(here / "hermes"), "HERMES_FAKE_PACE": "0"}
        environ |= {"PATH": shell["PATH"], "PYTHONPATH": shell["PYTHONPATH"]}
        words = shlex.split(COMMAND.replace("cards-demo/", f"{here}/").replace(" 8780", " 0"))
        self.lineup = Part(folder, name, *words, *more, environ=environ)
        self._folder, self._name = folder, name
        self.host: Part | None = None

    def url(self) -> str:
        """Of the chat host, which comes when the adapter is there."""
        if self.host is None:
            address = ["--adapter", self.lineup.url(), "--port", "0"]
            self.host = Part(self._folder, f"host-of-{self._name}", "host", *address)
            self._wake(self.host.url())
        return self.host.url()

    def _wake(self, host: str) -> None:
        """The first message starts the agent, which takes longer than a request may when many start at once."""
        talk = f"{host}/conversations/first"
        with httpx.Client(trust_env=False) as http:
            http.post(f"{talk}/say", json={"text": "Are you there?"}).raise_for_status()
            deadline_s = time.monotonic() + START_S
            while not http.get(talk).json()["said"]:
                assert time.monotonic() < deadline_s, f"{self._name}'s agent does not answer"
                time.sleep(0.05)

    def stop(self) -> None:
        if self.host is not None:
            self.host.stop()
        self.lineup.stop()

    async def deploy(self) -> Deployment:
        environ = {
            "LASTTICK_TARGET_URL": await asyncio.to_thread(self.url),
            "LASTTICK_AGENT_FILES": str(self.files),
            "LASTTICK_APPROVAL_TIMEOUT_S": f"{LIFE_S:g}",
        }
        loaded = loads(profile_text("seed-lineup"), "lasttick.toml", environ)
        return Deployment(loaded.profile, run="m", secrets=loaded.secrets)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lineup")


@pytest.fixture(scope="module")
def shell(folder: Path) -> dict[str, str]:
    """The environment of a fresh shell."""
    return environ_of(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[str]:
    """One that does what the page's scripts say."""
    part = Part(folder, "model", "model", "--port", "0")
    for script in SCRIPTS:
        httpx.put(f"{part.url()}/scripts", json=json.loads(script), trust_env=False).raise_for_status()
    yield part.url()
    part.stop()


@pytest.fixture(scope="module")
def wrong(folder: Path, model: str, shell: dict[str, str]) -> Iterator[Mapping[str, Adapter]]:
    """Every wrong version."""
    served = {name: Adapter(folder, name, model, shell, "--mutant", f"lineup/{name}") for name in RED}
    try:
        yield served
    finally:
        with ThreadPoolExecutor(len(served)) as pool:
            list(pool.map(lambda one: one.stop(), served.values()))


@pytest.fixture(scope="module")
def checking(folder: Path, model: str, shell: dict[str, str]) -> Iterator[Future[subprocess.CompletedProcess[str]]]:
    """The page's commands at work on the served reference, beside the wrong ones: most of it is waiting."""
    adapter = Adapter(folder, "reference", model, shell)
    commands = CHECK.replace(HOST_URL, adapter.url()).replace("cards-demo/files", str(adapter.files))
    where = folder / "check"
    where.mkdir()
    try:
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(ran, ["bash", "-e", "-c", commands], where, shell)
    finally:
        adapter.stop()


@pytest.fixture(scope="module")
def ends(wrong: Mapping[str, Adapter], checking: object) -> Iterator[dict[str, LawEnd]]:
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
    assert REASONS[mutant] in str(error)
    assert "1 of 2" not in str(error), "it must fail again on a fresh subject"


def test_the_served_reference_is_green(checking: Future[subprocess.CompletedProcess[str]]) -> None:
    done = checking.result(120)
    assert done.returncode == 0, done.stdout + done.stderr
    planned = set(re.findall(r"^ +\d+ s  (\S+/\S+)$", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^PASS +(\S+)", done.stdout, re.MULTILINE))
    assert passed == planned >= set(RED.values())
    assert len([law for law in passed if law.startswith("approval/")]) == LAWS_JUDGED
    assert not re.search(r"\b(FAIL|INCONCLUSIVE)\b", done.stdout)


def test_what_the_page_lets_a_reader_try(
    folder: Path, model: str, shell: dict[str, str], checking: Future[subprocess.CompletedProcess[str]]
) -> None:
    checking.result(120)
    adapter = Adapter(folder, "try", model, shell)
    where = folder / "trying"
    (where / "cards-demo").mkdir(parents=True)
    try:
        commands = TRY.replace(MODEL_URL, model).replace(HOST_URL, adapter.url())
        done = ran(["bash", "-e", "-c", commands.replace("cards-demo/files", str(adapter.files))], where, shell)
    finally:
        adapter.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    before, _, after = done.stdout.partition('"told": {')
    assert "note.txt" not in before, "nothing is written before the answer"
    assert '"disposition": "accepted"' in after
    assert "note.txt" in after
    assert '"reason": "already resolved"' in after.partition("note.txt")[2]


def test_the_mutants_that_the_page_names_are_there() -> None:
    named = re.findall(r"(?:mutant:|--mutant )(lineup/[\w-]+)", PAGE)
    assert len(named) >= 3
    for mutant_id in named:
        mutants.find(mutant_id)


def test_a_check_of_a_wrong_version_ends_with_its_law(
    wrong: Mapping[str, Adapter], folder: Path, shell: dict[str, str]
) -> None:
    adapter, law = wrong["subject-is-its-kind"], RED["subject-is-its-kind"]
    where = folder / "check-of-a-wrong-one"
    where.mkdir()
    told = {"LASTTICK_TARGET_URL": adapter.url(), "LASTTICK_AGENT_FILES": str(adapter.files)}
    environ = {**shell, **told, "LASTTICK_APPROVAL_TIMEOUT_S": f"{LIFE_S:g}"}
    assert ran(["lasttick", "init", "--profile", "seed-lineup"], where, environ).returncode == 0
    done = ran(["lasttick", "check", "--only", law], where, environ)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAIL          {law}" in done.stdout
