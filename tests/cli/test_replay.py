"""`lasttick replay`, `verify`, `judge` and `report` as a user types them, on a small project of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lasttick.cli import execute

STORY = '''
from dataclasses import dataclass

from hypothesis import example, given, settings, strategies as st
import pytest

from lasttick import World, scenario

SLOW_S = 90


@dataclass(frozen=True)
class Step:
    s: float


class Unreadable:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"<{self.n}>"


@scenario("HA-06")
async def test_plain(world: World) -> None:
    """Alice taps."""
    host = await world.hostagent()
    alice = await host.client("alice")
    await world.device("phone-1").slow("tap", SLOW_S)
    assert (await alice.tap("phone-1")).ok


@scenario("HA-06")
@pytest.mark.parametrize("n", [1, 2])
async def test_with_parameters(world: World, n: int) -> None:
    await world.advance(n)


@scenario("HA-06")
@settings(max_examples=20)
@given(step=st.builds(Step, st.floats(0, 1000)))
@example(step=Step(1.0))
async def test_a_property(world: World, step: Step) -> None:
    await world.advance(step.s)
    assert step.s < 100, "too long a step"


@scenario("HA-06")
@settings(max_examples=5)
@given(thing=st.integers(0, 9).map(Unreadable))
async def test_unreadable(world: World, thing: Unreadable) -> None:
    await world.advance(thing.n)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    file = tmp_path / "scenarios" / "own" / "test_story.py"
    file.parent.mkdir(parents=True)
    file.write_text(STORY)
    return tmp_path


@pytest.fixture
def here(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., SimpleNamespace]:
    """A command that plays nothing needs no process of its own."""
    monkeypatch.chdir(project)

    def call(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = execute(arguments)
        told = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=told.out, stderr=told.err)

    return call


def test_from_a_failure_to_its_replay(project: Path, command: Any) -> None:
    ran = command("run", "--seed", "7", cwd=project)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (words,) = re.findall(r"seed 7; replay: lasttick (replay \S+ \S+)", ran.stdout)
    before = sorted(path.name for path in (project / "reports" / "runs").iterdir())

    again = command(*words.split(), cwd=project)
    assert again.returncode == 0, again.stdout + again.stderr
    assert re.match(r"same hash +own/story/a-property  falsified example step=Step\(s=100\.0\), sha256", again.stdout)
    assert "FAIL: too long a step" in again.stdout

    told = command("replay", "latest", "--all", "--json", cwd=project)
    assert told.returncode == 0, told.stdout + told.stderr
    document = json.loads(told.stdout)
    seen = {entry["id"]: entry for entry in document["scenarios"]}
    assert sorted(seen) == [
        "own/story/a-property",
        "own/story/plain",
        "own/story/unreadable",
        "own/story/with-parameters[1]",
        "own/story/with-parameters[2]",
    ]
    assert not any(entry["differs"] for entry in seen.values())
    assert {id_ for id_, entry in seen.items() if entry["generated"]} == {"own/story/unreadable"}
    recorded = json.loads((project / "reports" / "latest" / "verdicts.json").read_text())
    assert {entry["id"]: entry["trace_sha256"] for entry in recorded["scenarios"]} == {
        id_: entry["trace_sha256"] for id_, entry in seen.items()
    }
    assert sorted(path.name for path in (project / "reports" / "runs").iterdir()) == before, "a replay wrote a run"


def test_a_changed_story_is_shown_where_it_parts(project: Path, command: Any) -> None:
    command("run", "plain", cwd=project)
    file = project / "scenarios" / "own" / "test_story.py"
    file.write_text(STORY.replace("SLOW_S = 90", "SLOW_S = 91"))
    told = command("replay", "latest", cwd=project)
    assert told.returncode == 1, told.stdout + told.stderr
    assert told.stdout.startswith("DIFFERS       own/story/plain")
    assert "first difference at event" in told.stdout
    assert "differs in: data.s" in told.stdout
    assert ": 0 the same, 1 differ; seed 1, mode virtual, hostagent=reference" in told.stdout


def test_the_same_history_with_another_end(project: Path, command: Any) -> None:
    command("run", "a-property", cwd=project)
    file = project / "scenarios" / "own" / "test_story.py"
    file.write_text(STORY.replace("step.s < 100", "step.s < 1000"))
    told = command("replay", "latest", cwd=project)
    assert told.returncode == 1, told.stdout + told.stderr
    assert "was fail, is pass" in told.stdout


def test_a_mutant_is_replayed_as_a_mutant(project: Path, command: Any) -> None:
    target = "hostagent=mutant:hostagent/lease-expires-mid-call"
    command("run", "plain", "--target", target, cwd=project)
    told = command("replay", "latest", cwd=project)
    assert told.returncode == 0, told.stdout + told.stderr
    assert target in told.stdout


def test_what_is_gone_or_was_never_there(project: Path, command: Any, here: Any) -> None:
    nothing = here("replay", "latest")
    assert nothing.returncode == 2
    assert nothing.stderr.startswith("lasttick: no run 'latest'\n  expected: ")
    command("run", "plain", cwd=project)
    unknown = here("replay", "latest", "plane")
    assert unknown.returncode == 2
    assert "next: try one of: own/story/plain" in unknown.stderr
    file = project / "scenarios" / "own" / "test_story.py"
    file.write_text(STORY.replace("test_plain", "test_other"))
    gone = command("replay", "latest", cwd=project)
    assert gone.returncode == 2
    assert "GONE          own/story/plain" in gone.stdout
    file.write_text("import nothing_of_that_name\n@scenario('HA-06')\nasync def test_plain(world): ...\n")
    broken = command("replay", "latest", cwd=project)
    assert broken.returncode == 2
    assert "nothing_of_that_name" in broken.stderr
    assert "lasttick: the scenarios could not be played (see above)" in broken.stderr


def test_verify_judge_and_report(project: Path, command: Any, here: Any) -> None:
    command("run", "plain", cwd=project)
    latest = project / "reports" / "latest"
    whole = here("verify", "latest")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert re.fullmatch(r"\S+: intact; 1 traces, \d+ events\n", whole.stdout)
    assert here("judge", "latest").returncode == 0

    page = (latest / "report.html").read_bytes()
    rendered = here("report", "latest", "--out", "copy.html")
    assert rendered.returncode == 0, rendered.stdout + rendered.stderr
    assert rendered.stdout == "copy.html\n"
    assert (project / "copy.html").read_bytes() == page
    assert b"Alice taps." in page
    assert b"A lease last used at t" in page

    trace = latest / "traces" / "own" / "story" / "plain.jsonl"
    lines = trace.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b'"tap"', b'"tip"')
    trace.write_bytes(b"\n".join(lines))
    touched = here("verify", "latest")
    assert touched.returncode == 1
    assert touched.stdout.startswith("DAMAGED  traces/own/story/plain.jsonl, line 4: this line was changed (event 3: ")
    document = json.loads(here("verify", "latest", "--json").stdout)
    assert (document["version"], document["intact"], document["damages"][0]["line"]) == (1, False, 4)
    refused = here("replay", "latest")
    assert refused.returncode == 2
    assert "is not the one that was judged" in refused.stderr
    assert "lasttick verify" in refused.stderr

    verdicts = json.loads((latest / "verdicts.json").read_text())
    verdicts["scenarios"][0]["checks"][0]["verdict"] = "fail"
    (latest / "verdicts.json").write_text(json.dumps(verdicts))
    judged = here("judge", "latest", "--json")
    assert judged.returncode == 1
    assert json.loads(judged.stdout)["differing"] == 1
    said = here("judge", "latest")
    assert said.stdout.startswith("DIFFERS  own/story/plain  HA-05: was fail, today pass")


def test_a_report_that_can_not_be_made_loses_no_evidence(project: Path, command: Any, here: Any) -> None:
    (project / "conftest.py").write_text(
        "import lasttick.report.html as html\n"
        "def broken(folder, out=None):\n    raise RuntimeError('no ink')\n"
        "html.write_report = broken\n"
    )
    ran = command("run", "plain", cwd=project)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "report.html could not be made: RuntimeError: no ink; the evidence is whole" in ran.stdout
    assert here("verify", "latest").returncode == 0
    assert not (project / "reports" / "latest" / "report.html").exists()


def test_a_run_elsewhere_names_its_folder(project: Path, command: Any) -> None:
    told = command("run", "a-property", cwd=project, PYTEST_ADDOPTS="--lasttick-out=elsewhere")
    (words,) = re.findall(r"replay: lasttick (replay \S+ \S+)", told.stdout)
    again = command(*words.split(), cwd=project)
    assert again.returncode == 0, again.stdout + again.stderr
