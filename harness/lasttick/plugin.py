"""The pytest plugin: async scenarios over a World, a fresh one per test and per Hypothesis example, and the run folder.

Imports nothing heavy until a scenario is collected. Scenarios are claimed at collection, so that pytest-asyncio in auto
mode in a user's environment leaves them alone. Source: contract world, contract engine "pytest".
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lasttick.marks import MARK, ScenarioSpec, item_id, not_applicable
from lasttick.soak_collection import left_out

if TYPE_CHECKING:
    from lasttick.evidence import RunFolder, ScenarioResult
    from lasttick.explore.replay import Replay
    from lasttick.laws.gate.beginning import Beginning
    from lasttick.laws.gate.gate import Gate
    from lasttick.laws.gate.live import LawEnd, LiveScenario
    from lasttick.laws.profiles.loaded import Loaded
    from lasttick.laws.target import Target
    from lasttick.mutants import Mutant
    from lasttick.requirements import Catalogue
    from lasttick.targets.run import ScenarioRun

PROPERTY = "lasttick"
LIVE = "live"
OPTIONS: pytest.StashKey[Settings] = pytest.StashKey()
# The laws on a live target, while they run; only with --lasttick-config.
GATE: pytest.StashKey[Gate] = pytest.StashKey()
# What came before them: set by `lasttick check`, which then ends it too, else when the session starts.
BEGINNING: pytest.StashKey[Beginning] = pytest.StashKey()
REPORTER: pytest.StashKey[Reporter] = pytest.StashKey()
# Set by `lasttick replay`: it plays scenarios from their recordings, and no run folder is written.
REPLAY: pytest.StashKey[Replay] = pytest.StashKey()


class Settings:
    """What the options and ini values of this run say."""

    def __init__(self, config: pytest.Config) -> None:
        self.mode: str = config.getoption("lasttick_mode") or config.getini("lasttick_mode")
        self.seed: int = config.getoption("lasttick_seed")
        self.select: str | None = config.getoption("lasttick_select")
        self.out = Path(config.getoption("lasttick_out") or config.rootpath / "reports")
        self.examples_max = _examples_max(config.getini("lasttick_examples"))
        self.brief: bool = config.getoption("lasttick_brief")
        self.first_only = False
        """Brief runs may play only the first `@example` of a property scenario."""
        self.target: str | None = config.getoption("lasttick_target")
        file = config.getoption("lasttick_config")
        self.config = Path(file) if file else None
        """The profile of a live target: only laws are played, on it."""
        if self.config is not None:
            self.mode = LIVE
        elif self.mode not in ("virtual", "process"):
            raise pytest.UsageError(
                f"lasttick mode {self.mode!r} is unknown; expected virtual or process (live runs through `lasttick "
                "check`); set --lasttick-mode or the ini value lasttick_mode"
            )
        self.budget_s: float | None = config.getoption("lasttick_budget")
        self.mutant, self.commands = _chosen(self.target)
        """What takes the place of a reference: a wrong version of it, or another program, by its system."""
        if self.commands and self.mode != "process":
            raise pytest.UsageError(
                f"--lasttick-target {self.target!r} in {self.mode} mode; expected process mode, the only one in which "
                "another program is started; add --lasttick-mode process"
            )


SYSTEMS = ("hostagent", "gateway", "vaultclaw", "lineup")
COMMANDS = ("vaultclaw",)
"""Systems whose reference another program can replace: its whole surface is a public one."""
REFERENCE = "hostagent=reference"
"""What `--lasttick-target` says when it is not given."""


def _chosen(target: str | None) -> tuple[Mutant | None, dict[str, str]]:
    """`--lasttick-target SYSTEM=mutant:ID` or `SYSTEM=cmd:COMMAND`. Raises UsageError."""
    system, _, what = (target or REFERENCE).partition("=")
    kind, colon, value = what.partition(":")
    if system in SYSTEMS and what == "reference":
        return None, {}
    if system in COMMANDS and (kind, colon) == ("cmd", ":") and value.strip():
        return None, {system: value}
    if system not in SYSTEMS or (kind, colon) != ("mutant", ":"):
        raise pytest.UsageError(
            f"--lasttick-target {target!r}: expected SYSTEM=reference or SYSTEM=mutant:ID, for any of "
            f"{', '.join(SYSTEMS)}, or {COMMANDS[0]}=cmd:COMMAND; `lasttick mutants list` knows the ids"
        )
    from lasttick.mutants import UnknownMutant, find

    try:
        return find(value), {}
    except UnknownMutant as error:
        raise pytest.UsageError(str(error)) from error


def _examples_max(value: str) -> int | None:
    """The ini value `lasttick_examples`; None for 0, as written. Raises UsageError."""
    if not (value.isascii() and value.isdigit()):
        raise pytest.UsageError(
            f"lasttick_examples is {value!r}; expected a whole number, 0 for as many as written; correct the ini value"
        )
    return int(value) or None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lasttick", "scenarios over a World (lasttick)")
    group.addoption("--lasttick-mode", choices=["virtual", "process"], help="how real the world is (default virtual)")
    group.addoption("--lasttick-seed", type=int, default=1, help="the seed of all chance (default 1)")
    group.addoption("--lasttick-select", metavar="PATTERN", help="only scenario ids that match (glob or part of it)")
    group.addoption("--lasttick-config", metavar="FILE", help="the laws on the live target of this lasttick.toml")
    group.addoption("--lasttick-budget", type=float, metavar="S", help="at most so many seconds on a live target")
    group.addoption(
        "--lasttick-target",
        metavar="SYSTEM=WHAT",
        help="hostagent=reference | gateway=mutant:ID | vaultclaw=cmd:COMMAND ...",
    )
    group.addoption("--lasttick-out", metavar="DIR", help="where run folders go (default: reports/ of the project)")
    group.addoption("--lasttick-brief", action="store_true", help="verdicts only: no run folder, no shrinking")
    parser.addini("lasttick_mode", "default of --lasttick-mode", default="virtual")
    parser.addini("lasttick_examples", "at most this many examples a property scenario (0: as written)", default="0")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(spec): a lasttick scenario; use @lasttick.scenario(...)")
    config.stash[OPTIONS] = Settings(config)
    # Under xdist only the controller writes the run folder; workers write the traces into it.
    config.stash[REPORTER] = Reporter(config)
    config.pluginmanager.register(config.stash[REPORTER], "lasttick-reporter")


@pytest.fixture
def world() -> None:
    """The World of a scenario. A placeholder: each example gets its own, when it runs."""
    return None


@pytest.fixture
def target() -> None:
    """The Target of a law. A placeholder, as `world`; in a world of ours there is one for each reference."""
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    spec = spec_of(metafunc.function)
    if spec is None or spec.law is None or metafunc.config.stash[OPTIONS].mode == LIVE:
        return
    from lasttick.laws.reference import systems_of

    metafunc.parametrize("target", systems_of(spec.claims[0]), indirect=True)


# -- collection ------------------------------------------------------------------------------------------------------


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    start = config.invocation_params.dir
    return left_out(collection_path, config.args, start, modules=config.option.pyargs) or None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> list[pytest.Item] | None:
    spec = spec_of(obj)
    if spec is None or not collector.funcnamefilter(name):
        return None
    if isinstance(collector, pytest.Class):
        raise pytest.Collector.CollectError(
            f"{collector.name}::{name} is a method and marked as a scenario; expected a function of the module, which "
            "its id comes from (contract world); move it out of the class"
        )
    inner = obj.hypothesis.inner_test if getattr(obj, "is_hypothesis_test", False) else obj
    given, kind = ("world", "World") if spec.law is None else ("target", "Target")
    if not inspect.iscoroutinefunction(inner) or given not in inspect.signature(inner).parameters:
        raise pytest.Collector.CollectError(
            f"{name} is marked as a scenario; expected `async def {name}({given}: {kind}, ...)` (contract world); "
            f"make it async and take `{given}`, or drop the mark"
        )
    items = list(collector._genfunctions(name, obj))
    if items and (problems := _wrong_claims(items[0], spec)):
        raise pytest.Collector.CollectError("\n".join(problems))
    for item in items:
        item.obj = _synchronous(obj)
    return items


def _wrong_claims(item: pytest.Item, spec: ScenarioSpec) -> list[str]:
    from lasttick.requirements import Claim, wrong_claims

    scenario = item_id(item).partition("[")[0]
    return list(wrong_claims(_catalogue(), Claim(scenario, spec.claims, item.nodeid.partition("[")[0], "")))


@functools.cache
def _catalogue() -> Catalogue:
    from lasttick.requirements import load_catalogue

    return load_catalogue()


def spec_of(function: Any) -> ScenarioSpec | None:
    """The mark's spec, or None for what is no scenario."""
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == MARK:
            return mark.args[0]
    return None


def _synchronous(function: Any) -> Callable[..., None]:
    """What pytest calls: it finds the run of the current item and plays the scenario in it."""

    @functools.wraps(function)
    def play(**arguments: Any) -> None:
        _current().play(function, arguments)

    play.law = function  # type: ignore[attr-defined]

    # Hypothesis' own plugin must not look at it: the run, not pytest, calls the property.
    for name in [name for name in vars(play) if "hypothesis" in name]:
        delattr(play, name)
    return play


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    settings = config.stash[OPTIONS]
    if settings.select is None and settings.mode != LIVE:
        return
    from lasttick.requirements import matches

    keep = [
        item
        for item in items
        if item.get_closest_marker(MARK)
        and (settings.select is None or matches(settings.select, item_id(item)))
        and (settings.mode != LIVE or _spec(item).law is not None)
    ]
    if settings.mode == LIVE:  # what judges the whole run comes last
        keep.sort(key=lambda item: (law := _spec(item).law) is not None and law.invariant)
    config.hook.pytest_deselected(items=[item for item in items if item not in keep])
    items[:] = keep


# -- running ---------------------------------------------------------------------------------------------------------


class ItemRun:
    """One scenario item while it runs."""

    def __init__(self, item: pytest.Function) -> None:
        self.id = item_id(item)
        self.spec = _spec(item)
        self.settings = item.config.stash[OPTIONS]
        self.replay = item.config.stash.get(REPLAY, None)
        self.text = inspect.getdoc(item.obj) or ""
        self.gate = item.config.stash.get(GATE, None)
        self._reporter = item.config.stash[REPORTER]
        params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        self.system: str | None = params.get("target")
        self.run: ScenarioRun | LiveScenario | None = None
        self.judged: LawEnd | Target | None = None
        """Of a law: how many cases it judged, and what by."""
        self.real_s: float | None = None
        """How long a law took on a live target, beside the others."""
        self.error: BaseException | None = None
        self.property = False

    def play(self, function: Any, arguments: dict[str, Any]) -> None:
        """Run all examples; raises what the first failing (and shrunk) example raised. A brief run only keeps it."""
        try:
            self._play(function, arguments)
        except Exception as error:
            # What pytest makes of a raised error costs more than the scenario.
            if not self.settings.brief:
                raise
            self.error = error

    def _play(self, function: Any, arguments: dict[str, Any]) -> None:
        from lasttick.explore import bridge

        if self.gate is not None:
            self._play_live(self.gate)
            return
        if self.spec.law is not None:
            function = self._law_as_scenario(function)
            arguments = {name: value for name, value in arguments.items() if name != "target"}
        self.property = bridge.is_property(function)
        inner = function.hypothesis.inner_test if self.property else function
        if self.replay is None:
            self.run = self._new_run(inner, arguments)
            self._play_all(self.run, function, arguments)
        else:
            self.replay.play(
                self.id,
                inner,
                {name: value for name, value in arguments.items() if name != "world"},
                is_property=self.property,
                new_run=lambda: self._new_run(inner, arguments),
                play_all=lambda run: self._play_all(run, function, arguments),
            )

    def _play_live(self, gate: Gate) -> None:
        from lasttick.laws.gate.live import LiveScenario
        from lasttick.laws.verdict import NotApplicable

        end = gate.await_end(self.id)
        self.run = LiveScenario(end)
        self.judged = end
        self.real_s = end.real_s
        if isinstance(end.error, NotApplicable):
            pytest.skip(str(end.error))
        if end.error is not None:
            raise end.error

    def _law_as_scenario(self, function: Any) -> Any:
        from lasttick.laws.reference import on_reference
        from lasttick.laws.verdict import NotApplicable

        assert self.system is not None
        play = on_reference(function, self.spec.claims[0], self.system, self._speaks_to)

        async def scenario(world: Any, **arguments: Any) -> None:
            try:
                await play(world, **arguments)
            except NotApplicable as error:
                pytest.skip(str(error))

        return scenario

    def _speaks_to(self, target: Target) -> None:
        self.judged = target

    def _new_run(self, inner: Any, arguments: dict[str, Any]) -> ScenarioRun:
        from lasttick.explore import bridge
        from lasttick.targets.run import ScenarioRun

        run = ScenarioRun(
            inner,
            scenario_id=self.id,
            seed=self.settings.seed,
            mode=self.settings.mode,
            mutant=self.settings.mutant,
            commands=self.settings.commands,
        )
        run.untold = tuple(arguments)
        if self.replay is None and not self.settings.brief:
            run.artifacts = lambda: self._reporter.folder.artifacts(self.id)
        if self.property:
            run.discards = bridge.discards()
        return run

    def _play_all(self, run: ScenarioRun, function: Any, arguments: dict[str, Any]) -> None:
        from lasttick.explore import bridge

        if self.property and self.settings.first_only and (first := bridge.first_example(function)) is not None:
            run.example(**{name: value for name, value in arguments.items() if name != "world"}, **first)
            return
        if self.property:
            self._examples(run, function, arguments)
        else:
            run.example(**{name: value for name, value in arguments.items() if name != "world"})
        unseen = [what for what in self.spec.sees if what not in run.sights]
        if unseen and self.settings.mode == "virtual":
            from lasttick.targets.outcome import Inconclusive

            raise Inconclusive(f"not seen: {', '.join(unseen)}, which this scenario is about")

    def _examples(self, run: ScenarioRun, function: Any, arguments: dict[str, Any]) -> None:
        from lasttick.explore import bridge

        inner = function.hypothesis.inner_test
        bridge.prepare(
            function,
            inner=self._example(run, inner),
            seed=self.settings.seed,
            scenario_id=self.id,
            mode=self.settings.mode,
            examples_max=self.settings.examples_max,
            shrink=not self.settings.brief,
        )
        try:
            with bridge.no_mined_constants():
                function(**arguments)
        finally:
            function.hypothesis.inner_test = inner

    def _example(self, run: ScenarioRun, inner: Any) -> Callable[..., None]:
        @functools.wraps(inner)
        def example(world: None, **arguments: Any) -> None:
            run.example(**arguments)

        # Hypothesis would refuse a coroutine function; the wrapper must not look like one.
        del example.__wrapped__
        return example


_RUNNING: list[ItemRun] = []


def _current() -> ItemRun:
    if not _RUNNING:
        raise RuntimeError("a scenario can only be run by pytest with the lasttick plugin; run `pytest scenarios/`")
    return _RUNNING[-1]


@contextmanager
def started(item: pytest.Function) -> Iterator[ItemRun]:
    """While open, calling the item's function plays it. Raises pytest's Skipped when its mode lacks what it needs."""
    run = ItemRun(item)
    item.stash[ITEM_RUN] = run
    if reason := not_applicable(run.spec, run.settings.mode):
        pytest.skip(reason)
    _RUNNING.append(run)
    try:
        yield run
    finally:
        _RUNNING.pop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if not item.get_closest_marker(MARK):
        return (yield)
    assert isinstance(item, pytest.Function)
    with started(item):
        return (yield)


ITEM_RUN: pytest.StashKey[ItemRun] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    run = item.stash.get(ITEM_RUN, None)
    if run is None or call.when != "call" or run.replay is not None:
        return report
    from lasttick.targets.verdict import judge

    raised = call.excinfo.value if call.excinfo else run.error
    # A law's error shows the replies that it rests on; they have a field of their own.
    error = raised if run.spec.law is None else _without_replies(raised)
    replay = _replay_command(item.config, run)
    result = judge(
        run.id,
        run.spec.claims,
        _catalogue().laws_of(run.spec.claims),
        run.run,
        error,
        skipped=str(error) if isinstance(error, pytest.skip.Exception) else None,
        is_property=run.property,
        duration_s=call.duration if run.real_s is None else run.real_s,
        replay=replay,
        text=run.text,
    )
    if run.judged is not None:
        replies = tuple(said.shown() for said in getattr(raised, "said", ()))
        result = replace(result, cases=len(run.judged.cases), judged=run.judged.judged, replies=replies)
    if run.run is not None and not run.settings.brief:
        with _evidence_or_exit():
            folder = item.config.stash[REPORTER].folder
            folder.write_trace(run.id, run.run.events)
            result = replace(result, artifacts=folder.artifacts_of(run.id))
    if report.failed and not run.settings.brief:
        from lasttick.report import failure_text

        events = run.run.events if run.run else []
        title = "INCONCLUSIVE" if result.verdict == "inconclusive" else "FAIL"
        if result.verdict == "inconclusive" and (crash := getattr(report.longrepr, "reprcrash", None)):
            crash.message = f"INCONCLUSIVE: {result.reason}"
        text = failure_text(result, events, seed=run.settings.seed, replay=replay)
        report.sections.append((f"lasttick {title}", text))
    report.user_properties.append((PROPERTY, json.dumps(result.as_json())))
    return report


def _without_replies(error: BaseException | None) -> BaseException | None:
    from lasttick.laws.verdict import LawFailed, NotShown

    return type(error)(error.reason) if isinstance(error, LawFailed | NotShown) else error


def _replay_command(config: pytest.Config, run: ItemRun) -> str:
    from lasttick.evidence import run_argument
    from lasttick.report import replay_command, run_command

    if run.settings.config is not None:
        return f"lasttick check --config {shlex.quote(str(run.settings.config))} --only {run.spec.claims[0]}"
    if run.settings.brief:
        return run_command(run.id, seed=run.settings.seed, mode=run.settings.mode)
    with _evidence_or_exit():
        return replay_command(run.id, run=run_argument(config.stash[REPORTER].folder.path))


def _spec(item: pytest.Item) -> ScenarioSpec:
    mark = item.get_closest_marker(MARK)
    assert mark is not None
    return mark.args[0]


# -- laws on a live target -------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before anything is played, and before xdist starts its workers: nobody else is at it, and the target answers."""
    config = session.config
    file = config.stash[OPTIONS].config
    if file is None or config.option.collectonly or hasattr(config, "workerinput") or BEGINNING in config.stash:
        return
    from lasttick.laws.gate.beginning import begin

    if threading.current_thread() is threading.main_thread():
        # A cancelled CI job sends SIGTERM: end as on Ctrl-C, so that what is held is given up.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _told_and_exit():
        config.stash[BEGINNING] = begin(_profile(file), file)
    config.stash[OWN_BEGINNING] = True


# Whether the session itself began, and so has to finish.
OWN_BEGINNING: pytest.StashKey[bool] = pytest.StashKey()
# What could not be ended on the target: said at the end.
LEFT: pytest.StashKey[list[str]] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Laws are started together, so that their waits overlap; a worker of -n plays what it is given, one by one."""
    config = session.config
    settings = config.stash[OPTIONS]
    if settings.config is None or config.option.collectonly or getattr(config.option, "numprocesses", None):
        return
    from lasttick.laws.gate.gate import Gate
    from lasttick.laws.gate.live import LawPlay

    plays = {}
    for item in session.items:
        law = _spec(item).law
        assert law is not None
        assert isinstance(item, pytest.Function)
        plays[item_id(item)] = LawPlay(_spec(item).claims[0], item.obj.law, law.seconds, law.invariant, law.restarts)
    is_worker = hasattr(config, "workerinput")
    with _told_and_exit():
        loaded = _profile(settings.config) if is_worker else config.stash[BEGINNING].loaded
    gate = config.stash[GATE] = Gate(loaded, settings.config, plays, budget_s=settings.budget_s)
    if not is_worker:
        gate.start(list(plays))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Everything is given up; in the controller of -n after its workers have."""
    _give_up(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    _give_up(config)  # a session that was interrupted at its end


def _give_up(config: pytest.Config) -> None:
    left = []
    if (gate := config.stash.get(GATE, None)) is not None:
        del config.stash[GATE]
        left += gate.close()
    if config.stash.get(OWN_BEGINNING, False):
        config.stash[OWN_BEGINNING] = False
        left += config.stash[BEGINNING].finish()
    if left:
        config.stash[LEFT] = list(dict.fromkeys(map(str, left)))


def _profile(file: Path) -> Loaded:
    from lasttick.laws.profiles.load import load

    return load(file, os.environ)


@contextmanager
def _told_and_exit() -> Iterator[None]:
    """What makes a live run impossible ends it with its message, and its exit code."""
    from lasttick.laws.gate.errors import GateError
    from lasttick.laws.profiles.load import ProfileError

    try:
        yield
    except (GateError, ProfileError) as error:
        pytest.exit(f"lasttick: {error}", returncode=error.exit_code)


# -- the run folder --------------------------------------------------------------------------------------------------


@contextmanager
def _evidence_or_exit() -> Iterator[None]:
    """A run folder that cannot be written ends the run with one message, not with a traceback of pytest's inside."""
    from lasttick.evidence import EvidenceError

    try:
        yield
    except EvidenceError as error:
        pytest.exit(f"lasttick: {error}", returncode=pytest.ExitCode.USAGE_ERROR)


class Reporter:
    """Gathers results in the controller and writes the run folder; in a worker it only knows where the folder is.

    The folder is made before the first scenario (under xdist: before the workers start), since a folder that cannot be
    made must be said before anything has run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._settings = config.stash[OPTIONS]
        self._results: list[ScenarioResult] = []
        self._folder: RunFolder | None = None
        self._report_problem = ""
        self._worker = getattr(config, "workerinput", None)

    @property
    def folder(self) -> RunFolder:
        from lasttick.evidence import RunFolder

        if self._folder is None:
            if self._worker is not None:
                self._folder = RunFolder(Path(self._worker["lasttick_folder"]))
            else:
                self._folder = self._new_folder()
        return self._folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        wanted = any(item.get_closest_marker(MARK) for item in session.items) and REPLAY not in self._config.stash
        if wanted and self._worker is None and not self._settings.brief and not self._config.option.collectonly:
            self._make()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if not self._settings.brief:
            self._make()
            node.workerinput["lasttick_folder"] = str(self.folder.path)

    def _make(self) -> None:
        from lasttick.evidence import EvidenceError

        try:
            _ = self.folder
        except EvidenceError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._worker is not None or report.when != "call":
            return
        for name, value in report.user_properties:
            if name == PROPERTY:
                from lasttick.evidence import ScenarioResult

                self._results.append(ScenarioResult.from_json(json.loads(str(value))))

    def pytest_sessionfinish(self) -> None:
        if self._worker is not None or self._folder is None:
            return
        if self._results:
            with _evidence_or_exit():
                self._write(self._folder)
        else:
            shutil.rmtree(self._folder.path, ignore_errors=True)

    def _write(self, folder: RunFolder) -> None:
        """The evidence first, then the report: a report that can not be made must not lose any of it."""
        from lasttick.evidence import write_catalogue

        catalogue = _catalogue()
        spoken = {id_ for result in self._results for id_ in (*result.requirements, *result.laws)}
        spoken |= {check.id for result in self._results for check in result.checks}
        write_catalogue(folder.path, {id_: catalogue[id_].text for id_ in sorted(spoken) if id_ in catalogue})
        folder.finish(self._results, seed=self._settings.seed, mode=self._settings.mode)
        try:
            from lasttick.report.html import write_report

            write_report(folder.path)
        except Exception as error:
            self._report_problem = f"report.html could not be made: {type(error).__name__}: {error}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for line in self._config.stash.get(LEFT, []):
            terminalreporter.write_line(f"left on the target: {line}")
        if self._folder is None or not self._results:
            return
        counts: dict[str, int] = {}
        for result in self._results:
            counts[result.verdict] = counts.get(result.verdict, 0) + 1
        said = ", ".join(f"{number} {verdict.replace('_', ' ')}" for verdict, number in sorted(counts.items()))
        terminalreporter.write_sep("-", "lasttick")
        terminalreporter.write_line(f"{said}; mode {self._settings.mode}, seed {self._settings.seed}")
        terminalreporter.write_line(f"run folder: {os.path.relpath(self._folder.path)}")
        if self._report_problem:
            terminalreporter.write_line(f"{self._report_problem}; the evidence is whole, try lasttick report")

    def _new_folder(self) -> RunFolder:
        """Its name is wall time and a random id on purpose: it is no part of any trace."""
        from lasttick.engine.clock import SystemClock, SystemEntropy
        from lasttick.evidence import RunFolder

        started = SystemClock().wall()
        folder = RunFolder.create(self._settings.out, utc=started, short_id=SystemEntropy().token_bytes(3).hex())
        folder.write_manifest(
            seed=self._settings.seed,
            mode=self._settings.mode,
            started=started,
            command_line=["pytest", *map(str, self._config.invocation_params.args)],
            targets=self._targets(),
            examples_max=self._settings.examples_max,
        )
        return folder

    def _targets(self) -> dict[str, str]:
        if self._settings.config is not None:
            return {"target": str(self._settings.config)}
        system, _, what = (self._settings.target or REFERENCE).partition("=")
        return {system: what}
