"""`lasttick check` as a user types it: what is printed, what is written, exit codes.

Small laws of the test's own on a dummy, inside this process; a few real processes for what only they show.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lasttick.cli import check_play, execute
from lasttick.cli.check import Asked, check, seconds_of
from lasttick.cli.errors import UsageError
from lasttick.evidence import read_verdicts
from lasttick.laws.servers.dummy_profile import ENVIRON, dummy_profile
from lasttick.requirements import load_catalogue
from lasttick.targets.children import Child

HEAD = """
from lasttick import Target, control, law, must
"""
HOLDS = """
@law("session/ended-is-ended", verbs=("effects",), seconds=lambda profile: 2.0)
async def test_ended_is_ended(target: Target) -> None:
    '''An ended session is ended.'''
    (alice,) = await target.callers(1)
    said = await alice.say("lease.acquire", resource="r1", ttl=2.0)
    control(said.ok, "not granted", said)
    await target.effects()
    target.case("one")
    target.case("two")
"""
BROKEN = """
@law("tools/hidden-is-refused", callers=2, seconds=lambda profile: 3.0)
async def test_hidden_is_refused(target: Target) -> None:
    '''A hidden tool is refused.'''
    alice, bob = await target.callers(2)
    said = await bob.call("ltwrite")
    must(said.refused, "bob was answered ok", said)
    target.case("one")
"""
MUTE = """
@law("session/bound-to-caller", seconds=lambda profile: 1.0)
async def test_bound_to_caller(target: Target) -> None:
    '''Nothing is shown.'''
    (alice,) = await target.callers(1)
    said = await alice.call("ltread")
    control(False, "no session id was given", said)
"""
NOT_HERE = """
@law("lease/clock-proof", verbs=("clock.step",), seconds=lambda profile: 60.0)
async def test_clock_proof(target: Target) -> None:
    '''Steps of the clock.'''
    target.needs("clock.step")
"""
CRASHES = """
@law("tools/no-secret-out", seconds=lambda profile: 1.0, invariant=True)
async def test_no_secret_out(target: Target) -> None:
    '''A mistake of ours.'''
    raise KeyError("device")
"""


@pytest.fixture(scope="module")
def dummy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The origin of a dummy that agrees to everything and does it."""
    child = Child(["dummy", "allow", "--port", "0"], tmp_path_factory.mktemp("dummy") / "log")
    while (ready := child.poll_ready()) is None:
        time.sleep(0.02)
    yield str(ready["url"]).removesuffix("/mcp")
    child.kill()


class Project:
    """A folder with a profile of the dummy; laws are written as they are needed."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def laws(self, *sources: str) -> None:
        folder = self.path / "scenarios" / "laws"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "test_own.py").write_text(HEAD + "".join(sources))
        # A run inside this process finds what an earlier one has imported under this name.
        sys.modules.pop("scenarios.laws.test_own", None)

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def check(self, *arguments: str) -> int:
        code = execute(["check", *arguments])
        self.out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        return code

    @property
    def words(self) -> dict[str, str]:
        """The verdict that was printed for each law."""
        lines = [line.split() for line in self.out.splitlines() if line and not line[0].isspace()]
        return {line[1]: line[0] for line in lines if len(line) > 1 and "/" in line[1] and line[0].isupper()}


@pytest.fixture
def project(tmp_path: Path, dummy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(check_play, "laws_folder", lambda: tmp_path / "scenarios" / "laws")
    made = Project(tmp_path, capsys)
    made.write("lasttick.toml", dummy_profile(dummy))
    return made


def test_all_hold(project: Project) -> None:
    project.laws(HOLDS, NOT_HERE)
    assert project.check() == 0
    assert project.words == {"session/ended-is-ended": "PASS", "lease/clock-proof": "N.A."}
    assert "2 cases" in project.out
    assert "needs the verb clock.step" in project.out
    assert "1 PASS, 1 N.A.; exit code 0" in project.out
    assert project.err == ""
    verdicts = read_verdicts(project.path / "reports" / "latest")
    assert [(one.id, one.cases, one.judged) for one in verdicts.scenarios] == [
        ("laws/own/clock-proof", 0, "answers"),
        ("laws/own/ended-is-ended", 2, "effects"),
    ]


def test_a_broken_law_says_why_and_shows_the_replies_redacted(project: Project) -> None:
    project.laws(HOLDS, BROKEN)
    assert project.check() == 1
    assert project.words["tools/hidden-is-refused"] == "FAIL"
    lines = project.out.splitlines()
    at = lines.index("    bob was answered ok")
    assert "bob tools.call lt-" in lines[at + 1]
    assert "-> ok: HTTP 200" in lines[at + 1]
    assert ENVIRON["LASTTICK_DUMMY_BOB"] not in project.out
    (entry,) = [one for one in read_verdicts(project.path / "reports" / "latest").scenarios if one.verdict == "fail"]
    assert entry.reason == "bob was answered ok"
    assert len(entry.replies) == 1
    assert "-> ok" not in "".join(lines[:at]), "a law that holds shows its replies only with -v"


def test_replies_of_what_holds_are_shown_when_asked_for(project: Project) -> None:
    project.laws(HOLDS)
    assert project.check("-v") == 0
    assert "alice lease.acquire -> ok: HTTP 200" in project.out


def test_with_v_a_broken_law_shows_all_that_it_said(project: Project) -> None:
    project.laws(BROKEN.replace("said = await bob", 'await alice.call("ltread")\n    said = await bob'))
    assert project.check("-v") == 1
    evidence, _, all_ = project.out.partition("all that this law said:")
    assert "alice" not in evidence
    assert "alice tools.call -> ok: HTTP 200" in all_
    assert "bob tools.call -> ok: HTTP 200" in all_


def test_inconclusive_is_no_pass_and_a_mistake_of_ours_no_verdict(project: Project) -> None:
    project.laws(HOLDS, MUTE, CRASHES)
    assert project.check() == 4
    assert project.words == {
        "session/ended-is-ended": "PASS",
        "session/bound-to-caller": "INCONCLUSIVE",
        "tools/no-secret-out": "INCONCLUSIVE",
    }
    lines = project.out.splitlines()
    assert "alice tools.call lt-" in lines[lines.index("    no session id was given") + 1]
    (mute,) = [
        one for one in read_verdicts(project.path / "reports" / "latest").scenarios if one.id.endswith("to-caller")
    ]
    assert (mute.reason, len(mute.replies)) == ("no session id was given", 1)
    assert "    the law could not be played: KeyError: 'device'" in project.out


def test_a_law_that_could_not_even_be_started_is_no_pass(project: Project) -> None:
    project.laws(HOLDS, MUTE.replace("(target: Target)", "(target: Target, something_else)"))
    assert project.check() == 4
    assert project.words == {"session/ended-is-ended": "PASS"}
    assert "test_bound_to_caller" in project.err


def test_nothing_that_applies_is_no_pass(project: Project) -> None:
    project.laws(NOT_HERE)
    assert project.check() == 4
    assert "1 N.A.; exit code 4" in project.out


def test_settings_for_other_tests_do_not_reach_the_laws(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    project.write("pytest.ini", "[pytest]\naddopts = --no-such-option\n")
    project.laws(HOLDS)
    assert project.check("--only", "ended") == 0
    assert os.environ["PYTEST_ADDOPTS"] == "--no-such-option"


def test_the_scope_is_written_kept_and_held(project: Project) -> None:
    project.laws(HOLDS, MUTE, NOT_HERE)
    assert project.check("--write-scope") == 4
    assert "lasttick.scope promises 1 laws: commit it" in project.out
    scope = project.read("lasttick.scope")
    assert "\nlaw session/ended-is-ended cases=2 judged=effects\n" in scope
    assert "\npolicy lease.busy=refuses\n" in scope
    assert project.check() == 0, "an inconclusive law is not in the scope"
    assert "(not in the scope)" in project.out

    project.write("lasttick.scope", scope.replace("cases=2", "cases=3"))
    assert project.check() == 1
    assert "it judged 2 cases and the scope promises 3" in project.out

    project.write("lasttick.scope", scope + "law tools/no-secret-out cases=1 judged=answers\n")
    assert project.check() == 1
    assert "FAIL          tools/no-secret-out" in project.out
    assert "it was not run, and the scope promises 1 cases" in project.out
    assert project.check("--only", "ended") == 0, "only what was asked for is missed"

    project.write("lasttick.scope", scope.replace("lease.busy=refuses", "lease.busy=queues"))
    assert project.check("--only", "ended") == 1
    assert "lease.busy: the scope says queues, the profile refuses" in project.out
    assert project.check("--write-scope") == 4, "what is written anew is not held against what it replaces"
    assert project.read("lasttick.scope") == scope


def test_a_promised_law_that_is_inconclusive_or_not_applicable(project: Project) -> None:
    project.laws(MUTE, HOLDS)
    project.check("--write-scope")
    scope = project.read("lasttick.scope")
    project.write("lasttick.scope", scope + "law session/bound-to-caller cases=1 judged=answers\n")
    assert project.check() == 4
    project.laws(NOT_HERE, HOLDS)
    project.write("lasttick.scope", scope + "law lease/clock-proof cases=1 judged=answers\n")
    assert project.check() == 1
    assert "the scope promises 1 cases, and it was not run: needs the verb clock.step" in project.out


BASELINE = '[[known]]\nlaw = "tools/hidden-is-refused"\nverdict = "fails"\nuntil = 2026-12-31\nissue = "X-1"\n'


class Noon:
    """A clock of the test's own day."""

    def __init__(self, day: str) -> None:
        self._wall = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=UTC)

    def now_ns(self) -> int:
        return 0

    def wall(self) -> datetime:
        return self._wall

    async def sleep(self, seconds: float) -> None:
        raise AssertionError


def test_a_known_failure_has_a_word_of_its_own_until_its_day(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.laws(HOLDS, BROKEN)
    project.write("lasttick.baseline.toml", BASELINE)
    asked = Asked(Path("lasttick.toml"), junit=Path("out/junit.xml"), markdown=Path("out/page.md"))
    assert check(asked, Noon("2026-12-31")) == 0
    assert "KNOWN         tools/hidden-is-refused" in capsys.readouterr().out
    skipped = ElementTree.fromstring(project.read("out/junit.xml")).find(".//skipped")
    assert skipped is not None
    assert skipped.get("message") == "KNOWN: known until 2026-12-31, X-1: bob was answered ok"
    assert "| tools/hidden-is-refused | KNOWN |" in project.read("out/page.md")
    assert check(asked, Noon("2027-01-01")) == 1
    assert "(was known until 2026-12-31, X-1: that day is over)" in capsys.readouterr().out
    project.laws(HOLDS, BROKEN.replace("said.refused", "said.ok"))
    assert check(asked, Noon("2026-06-01")) == 1
    assert "says that it fails, and it passes; remove the entry" in capsys.readouterr().out


def test_files_for_ci(project: Project) -> None:
    project.laws(HOLDS, BROKEN, MUTE)
    assert project.check("--junit", "out/junit.xml", "--markdown", "page.md") == 1
    suite = ElementTree.fromstring(project.read("out/junit.xml")).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "2",
        "skipped": "0",
    }
    broken = suite.find("testcase[@name='hidden-is-refused']")
    assert broken is not None
    assert broken.get("classname") == "laws.tools"
    failure = broken.find("failure")
    assert failure is not None
    assert failure.get("message") == "FAIL: bob was answered ok"
    assert "bob tools.call" in str(failure.text)
    page = project.read("page.md")
    assert page.startswith("## lasttick check: red (exit code 1)\n")
    assert "| tools/hidden-is-refused | FAIL | 0 |" in page
    assert "**FAIL tools/hidden-is-refused**\n\n    bob was answered ok\n" in page


def test_only_some_laws_and_what_is_near(project: Project) -> None:
    project.laws(HOLDS, BROKEN)
    assert project.check("--only", "session/*") == 0
    assert project.words == {"session/ended-is-ended": "PASS"}
    assert project.check("--only", "hidden-is-refused", "--only", "session/*") == 1
    assert project.words == {"session/ended-is-ended": "PASS", "tools/hidden-is-refused": "FAIL"}
    assert project.check("--only", "session/*", "--only", "hidden-is-refusd") == 2
    assert project.out == "", "nothing was played"
    assert project.check("--only", "hidden-is-refusd") == 2
    assert "no law matches 'hidden-is-refusd'" in project.err
    assert "next: try one of: tools/hidden-is-refused" in project.err


def test_the_plan_sends_no_law_and_says_what_gaps_cost(project: Project) -> None:
    project.laws(HOLDS, BROKEN, NOT_HERE)
    assert project.check("--plan") == 0
    assert "    2 s  session/ended-is-ended" in project.out
    assert "lease/clock-proof               needs the verb clock.step" in project.out
    assert "2 of 3 laws run, in about 3 s (5 s one after the other; 1 resource at a time)" in project.out
    assert "what each gap costs\n  clock.step        lease/clock-proof" in project.out
    assert "the median round trip is" in project.out
    assert not (project.path / "reports").exists()


def test_a_tool_that_is_shown_to_nobody_is_named(project: Project) -> None:
    project.laws(HOLDS)
    project.write(
        "lasttick.toml", project.read("lasttick.toml").replace('"ltread", "ltwrite"', '"ltread", "wriet_note"')
    )
    for words in (["--plan"], []):
        assert project.check(*words) == 0
        assert "alice may use 'wriet_note', and tools/list shows it to nobody" in project.err
        assert "ltread" not in project.err


def test_the_plan_names_the_laws_that_come_later(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.laws(HOLDS)
    assert project.check("--plan") == 0
    assert "not built yet" not in project.out, "all laws of the catalogue are played"
    whole = load_catalogue()
    entries = tuple(replace(one, planned="laws" if one.id == "tools/class-limit" else None) for one in whole.entries)
    monkeypatch.setattr("lasttick.requirements.load_catalogue", lambda: replace(whole, entries=entries))
    assert project.check("--plan") == 0
    assert "\nnot built yet: tools/class-limit\n" in project.out


def test_a_budget_that_is_too_small_says_what_is_needed(project: Project) -> None:
    project.laws(HOLDS.replace("2.0", "90.0"))
    assert project.check("--budget", "30s") == 4
    assert "needs 90 s and 30 s of the budget of 30 s are left" in project.out


def test_nobody_listens(project: Project) -> None:
    project.laws(HOLDS)
    text = project.read("lasttick.toml")
    url = next(line for line in text.splitlines() if line.startswith("url"))
    project.write("lasttick.toml", text.replace(url, 'url = "http://127.0.0.1:9/mcp"'))
    assert project.check() == 3
    assert project.err.startswith("lasttick: http://127.0.0.1:9/mcp does not answer: the connection is refused\n")
    assert project.check("--plan") == 0
    assert "the round trip was not measured: http://127.0.0.1:9/mcp does not answer" in project.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "none.toml"], "none.toml: the profile can not be read"),
        (["--budget", "soon"], "--budget is 'soon'"),
        (["--budget", "0s"], "--budget is '0s'"),
        (["-n", "many"], "-n is 'many'"),
        (["--write-scope", "--only", "ended"], "--write-scope with --only"),
        (["--write-scope", "--plan"], "--write-scope with --plan"),
        (["--only", ""], "--only is ''"),
    ],
)
def test_what_was_typed_wrong_is_exit_2(project: Project, arguments: list[str], said: str) -> None:
    project.laws(HOLDS)
    assert project.check(*arguments) == 2
    assert said in project.err
    assert "expected: " in project.err
    assert "next: " in project.err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("lasttick.scope", "law\n", "lasttick.scope:1: 'law'"),
        ("lasttick.baseline.toml", BASELINE.replace("tools/hidden", "tools/hiden"), "there is no law 'tools/hiden"),
        ("lasttick.toml", "version = 1\n[callers.alice]\n[lease.aquire]\ntool='x'\n", "lasttick.toml:3"),
        (
            "scenarios/laws/test_own.py",
            "import nothing_of_that_name\n",
            "the laws cannot be collected: scenarios/laws/test_own.py: ModuleNotFoundError",
        ),
        ("reports", "mine", "reports/runs"),
    ],
)
def test_a_file_that_is_wrong_is_exit_2_before_anything_is_sent(
    project: Project, name: str, text: str, said: str
) -> None:
    project.laws(HOLDS)
    project.write(name, text)
    assert project.check() == 2
    assert said in project.err


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h", 3600), ("1.5m", 90), (None, None)])
def test_budgets(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "-1s", "1d", "١s", "1e9s", "1s 2m", "nans"])
def test_no_budgets(text: str) -> None:
    with pytest.raises(UsageError):
        seconds_of(text)


TOOL = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"},
                  "tools": []}
        if said["method"] == "tools/call":
            result = {"content": [], "structuredContent": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""
BY_COMMAND = """
version = 1
[target]
command = ["{python}", "{tool}", "--key=${{TOOL_KEY}}"]
[callers.alice]
[tools.call]
tool = "{{tool}}"
args = {{ mark = "{{mark}}" }}
"""
ANSWERS = """
@law("session/survives-replica", seconds=lambda profile: 1.0)
async def test_survives_replica(target: Target) -> None:
    '''It answers.'''
    (alice,) = await target.callers(1)
    control((await alice.call("ltread")).ok, "no answer")
    target.case("one")
"""


def test_a_secret_of_the_command_is_in_no_file_and_in_nothing_that_is_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "key-of-the-tool-4b1f"
    monkeypatch.setenv("TOOL_KEY", secret)
    project.write("tool.py", TOOL)
    project.write("lasttick.toml", BY_COMMAND.format(python=sys.executable, tool=project.path / "tool.py"))
    project.laws(ANSWERS)
    assert project.check("--markdown", "page.md") == 0, project.out + project.err
    said = [project.out, project.err]
    assert "tool.py '--key=[TOOL_KEY]'" in project.read("page.md")
    assert project.check("--plan") == 0
    said += [project.out, project.err]
    project.write("tool.py", "import sys; sys.exit(sys.argv[1])")
    for words in ([], ["--plan"]):
        project.check(*words)
        said += [project.out, project.err]
    assert "--key=[TOOL_KEY]' does not answer" in project.err + said[-2]
    files = [file for file in project.path.rglob("*") if file.is_file()]
    assert files
    assert [file.name for file in files if secret.encode() in file.read_bytes()] == []
    assert [text for text in said if secret in text] == []


@pytest.mark.parametrize("option", ["--junit", "--markdown"])
@pytest.mark.parametrize("path", ["scenarios", "lasttick.toml/x.xml"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    option: str, path: str, project: Project
) -> None:
    project.laws(HOLDS)
    assert project.check(option, path) == 2
    assert f"{option}: " in project.err
    assert "cannot be written: " in project.err
    assert "\n  next: " in project.err
    assert project.out == ""
    assert not (project.path / ".lasttick").exists(), "nothing was begun"


def test_a_file_for_the_scope_that_cannot_be_written_is_refused_too(project: Project) -> None:
    project.laws(HOLDS)
    (project.path / "lasttick.scope").mkdir()
    assert project.check("--write-scope") == 2
    assert project.out == ""


def test_what_was_there_is_left_alone_until_there_is_something_to_write(project: Project) -> None:
    project.laws(HOLDS)
    project.write("old.xml", "<old/>")
    project.write("lasttick.toml", project.read("lasttick.toml").replace(":", ":1", 1))
    assert project.check("--junit", "old.xml", "--markdown", "new.md") != 0
    assert project.read("old.xml") == "<old/>"
    assert not (project.path / "new.md").exists()


SPOILS = """
@law("tools/hidden-is-refused", seconds=lambda profile: 3.0)
async def test_hidden_is_refused(target: Target) -> None:
    '''The folder of the page goes while the law runs.'''
    from pathlib import Path
    Path("out").rmdir()
    Path("out").write_text("")
    must(False, "broken")
"""


def test_a_file_that_cannot_be_written_any_more_does_not_hide_the_verdict(project: Project) -> None:
    project.laws(SPOILS)
    assert project.check("--markdown", "out/page.md", "--junit", "junit.xml") == 1
    assert "lasttick: out/page.md could not be written: " in project.err
    assert "1 FAIL; exit code 1" in project.out
    assert (project.path / "junit.xml").exists()


def test_the_plan_promises_no_dialect(project: Project) -> None:
    project.laws(HOLDS)
    assert project.check("--plan") == 0
    assert "dialect" not in project.out
    text = project.read("lasttick.toml")
    project.write("lasttick.toml", text.replace("version = 1", 'version = 1\nprofile = "seed-hostagent"'))
    assert project.check("--plan") == 0
    assert "the dialect of seed-hostagent is played by `lasttick run`, not yet on a live target" in project.out
