"""How are the laws played? By pytest in this process, on the shipped scenarios/laws, with the profile of the target.

pytest's own words are kept back, and shown when it could not do its work.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lasttick.cli.errors import INCONCLUSIVE, INTERRUPTED, USAGE, UsageError
from lasttick.cli.pytest_runs import ends_on_sigterm
from lasttick.evidence import RunFolder, ScenarioResult, recorded_events
from lasttick.laws.gate.beginning import Beginning, begin
from lasttick.laws.gate.journal import journal_file
from lasttick.laws.gate.outcome_files import lines_of, plain
from lasttick.laws.gate.plan import PlannedLaw
from lasttick.laws.gate.ruling import Rules, Ruling, by_law
from lasttick.laws.judges.tools import unseen
from lasttick.marks import MARK
from lasttick.plugin import BEGINNING, PROPERTY, REPORTER
from lasttick.requirements import matches, nearby, scenarios_folder

if TYPE_CHECKING:
    from lasttick.laws.profiles.loaded import Loaded

REPORTS = "reports"
FINE = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass(frozen=True, slots=True)
class Collected:
    """One law, and how pytest is asked for it."""

    node: str
    planned: PlannedLaw


@dataclass(slots=True)
class Played:
    """`code`: set when the run came to no verdict; `sound`: whether every law that was started has a result."""

    rulings: list[Ruling] = field(default_factory=list)
    code: int | None = None
    sound: bool = True


def laws_folder() -> Path:
    """The laws that came with lasttick, wherever the command is run."""
    return scenarios_folder(Path(__file__).parent) / "laws"


def collect(config: Path, only: Sequence[str]) -> list[Collected]:
    """The laws, or those that `only` names: ids, parts of ids, or shell patterns. Raises UsageError."""
    collector = _Collector()
    said = io.StringIO()
    with redirect_stdout(said), _without_options_of_the_user():
        status = pytest.main([*_arguments(config, [str(laws_folder())]), "--collect-only"], plugins=[collector])
    if status != pytest.ExitCode.OK:
        raise _uncollected(collector.problems or said.getvalue().splitlines()[-1:])
    laws = collector.laws
    ids = sorted({one.planned.law for one in laws})
    for pattern in only:
        if not any(matches(pattern, id_) for id_ in ids):
            raise UsageError(
                f"no law matches {pattern!r}",
                "the id of a law, part of one, or a shell pattern such as 'lease/*'",
                f"try one of: {', '.join(nearby(pattern, ids) or ids)}",
            )
    return [one for one in laws if not only or any(matches(pattern, one.planned.law) for pattern in only)]


def play(
    loaded: Loaded,
    config: Path,
    rules: Rules,
    *,
    nodes: Sequence[str] | None,
    budget_s: float | None,
    workers: str | None,
    verbose: bool,
) -> Played:
    """Play `nodes`, or all laws, and print as they end. Raises what `begin` raises."""
    # A reports folder that cannot be is said before anything is sent.
    Path(REPORTS, "runs").mkdir(parents=True, exist_ok=True)
    with ends_on_sigterm():
        beginning = begin(loaded, config)
        gathered = _Gathered(beginning, rules, verbose=verbose)
        gathered.say_beginning()
        arguments = [*_arguments(config, nodes or [str(laws_folder())]), "--lasttick-out", REPORTS]
        if budget_s is not None:
            arguments += ["--lasttick-budget", str(budget_s)]
        if workers is not None:
            arguments += ["-p", "xdist.plugin", "-n", workers]
        said = io.StringIO()
        left: list[str] = []
        try:
            with redirect_stdout(said), _without_options_of_the_user():
                status = pytest.main(arguments, plugins=[gathered])
        finally:
            left = [str(one) for one in beginning.finish()]
        for line in left:
            print(f"left on the target: {plain(line)}", file=sys.stderr)
        if left:
            file = os.path.relpath(journal_file(config))
            print(f"{file} names what is left: the next check tries again; remove it to forget", file=sys.stderr)
    return gathered.played(int(status), said.getvalue(), is_clean=not left)


def _uncollected(problems: Sequence[str]) -> UsageError:
    said = "; ".join(map(plain, problems))
    return UsageError(
        f"the laws cannot be collected: {said}", "those that came with lasttick", "install lasttick again"
    )


def _last_line(report: pytest.CollectReport | pytest.TestReport) -> str:
    """Where it was, and what went wrong, without pytest's own traceback."""
    lines = report.longreprtext.strip().splitlines() or ["no reason given"]
    return f"{report.nodeid}: {lines[-1].removeprefix('E').strip()}"


class _Collector:
    """A pytest plugin: every law that pytest finds."""

    def __init__(self) -> None:
        self.laws: list[Collected] = []
        self.problems: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.problems.append(_last_line(report))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            mark = item.get_closest_marker(MARK)
            assert mark is not None
            assert isinstance(item, pytest.Function)
            spec = mark.args[0]
            law = spec.law
            planned = PlannedLaw(
                spec.claims[0],
                item.obj.law,
                law.verbs,
                law.callers,
                law.seconds,
                law.invariant,
                law.restarts,
            )
            self.laws.append(Collected(f"{item.path}::{item.name}", planned))


class _Gathered:
    """A pytest plugin: the result of each law, from this process or from a worker, printed as it comes."""

    def __init__(self, beginning: Beginning, rules: Rules, *, verbose: bool) -> None:
        self._beginning = beginning
        self._rules = rules
        self._verbose = verbose
        self._out = sys.stdout
        self._results: list[ScenarioResult] = []
        self._printed: list[str] = []
        self._broken: list[str] = []
        self._interrupted = False
        self._uncollected: list[str] = []
        self._config: pytest.Config | None = None

    # -- hooks

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config
        config.stash[BEGINNING] = self._beginning

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        values = [value for name, value in report.user_properties if name == PROPERTY and report.when == "call"]
        if not values and report.failed:
            self._broken.append(_last_line(report))
        for value in values:
            result = ScenarioResult.from_json(json.loads(str(value)))
            self._results.append(result)
            for ruling in by_law([result]):
                self._print(self._rules.of(ruling))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._uncollected.append(_last_line(report))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self._interrupted = excinfo.type is KeyboardInterrupt

    # -- what is said

    def say_beginning(self) -> None:
        if self._beginning.ended:
            print(f"ended what an earlier run had left on the target: {self._beginning.ended} sessions and leases")
        for line in unseen(self._beginning.loaded.profile, self._beginning.seen.tools):
            print(f"lasttick: {plain(line)}", file=sys.stderr)
        for left in self._beginning.left:
            print(f"an earlier run's: {plain(str(left))}", file=sys.stderr)

    def played(self, status: int, said: str, *, is_clean: bool) -> Played:
        """What came of it, when pytest has ended with `status` and said `said`."""
        if self._interrupted:
            held = "what was held on the target was" if is_clean else "not all that was held on the target could be"
            print(f"lasttick: interrupted; {held} given up", file=sys.stderr)
            return Played(code=INTERRUPTED)
        for broken in self._broken:
            print(f"lasttick: {plain(broken)}", file=sys.stderr)
        if self._uncollected:
            raise _uncollected(self._uncollected)
        if status not in FINE:
            print(said, file=sys.stderr)
            return Played(code=USAGE if status == pytest.ExitCode.USAGE_ERROR else INCONCLUSIVE)
        rulings = self._rules.all(self._results)
        for ruling in rulings:
            if ruling.law not in self._printed:
                self._print(ruling)
        if self._config is not None and self._results:
            print(f"\nrun folder: {os.path.relpath(self._folder.path)}")
        return Played(rulings, sound=not self._broken)

    def _print(self, ruling: Ruling) -> None:
        self._printed.append(ruling.law)
        replies = self._replies(ruling) if self._verbose else []
        if replies and ruling.replies:
            replies = ["  all that this law said:", *replies]
        try:
            print("\n".join(lines_of(ruling, replies)), file=self._out, flush=True)
        except BrokenPipeError:
            # The reader has gone (`lasttick check | head`): the run goes on, and its exit code still counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())

    def _replies(self, ruling: Ruling) -> list[str]:
        """What was answered in the law's own history."""
        lines = []
        for result in ruling.scenarios:
            for event in recorded_events(self._folder.path, result) if result.trace else ():
                if event.kind == "call.end":
                    said = "{tool} -> {outcome}: {reply}".format(**event.data)
                    lines.append(f"  {event.t_s:.3f} s  {event.actor} {said}")
        return lines

    @property
    def _folder(self) -> RunFolder:
        assert self._config is not None
        return self._config.stash[REPORTER].folder


def _arguments(config: Path, paths: Sequence[str]) -> list[Any]:
    """Nothing of the user's own pytest settings and plugins: they are about other tests."""
    arguments = [*paths, "-c", os.devnull, "--rootdir=.", "--import-mode=importlib", "-p", "no:cacheprovider"]
    arguments += ["--disable-plugin-autoload", "-p", "lasttick.plugin", "--capture=no"]
    arguments += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    return [*arguments, "--lasttick-config", str(config)]


@contextmanager
def _without_options_of_the_user() -> Iterator[None]:
    before = os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        yield
    finally:
        if before is not None:
            os.environ["PYTEST_ADDOPTS"] = before
