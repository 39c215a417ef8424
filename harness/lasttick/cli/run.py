"""`lasttick run`: pytest on the scenarios, in this process, and an exit code that says what came of it.

The verdicts are those the plugin reports and writes into the run folder. Source: DESIGN "exit codes".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from lasttick.cli.errors import FAILED, INCONCLUSIVE, INTERRUPTED, PASSED, USAGE, UsageError
from lasttick.cli.pytest_runs import ends_on_sigterm, refuse_wrong_workers
from lasttick.requirements import collect_claims, load_catalogue, matches, nearby, scenarios_folder

if TYPE_CHECKING:
    import pytest

    from lasttick.evidence import RunVerdicts, ScenarioResult

MODES = ("virtual", "process")
REPORTS = "reports"


def run_scenarios(
    pattern: str | None, *, seed: int, mode: str, workers: str | None, as_json: bool, target: str | None = None
) -> int:
    """Run what `pattern` selects. Raises UsageError when it selects nothing or an option can not be."""
    if mode not in MODES:
        raise UsageError(f"--mode is {mode!r}", " or ".join(MODES), "leave it out for virtual")
    refuse_wrong_workers(workers)
    folder = scenarios_folder(Path.cwd())
    _refuse_no_match(pattern, folder)
    # A reports folder that can not be is said now, not by the plugin after the first scenario.
    Path(REPORTS, "runs").mkdir(parents=True, exist_ok=True)

    import pytest

    from lasttick.evidence import RunVerdicts

    gathered = Gathered()
    arguments = [*pytest_arguments([folder], seed=seed, mode=mode, target=target), "--lasttick-out", REPORTS]
    if pattern is not None:
        arguments += ["--lasttick-select", pattern]
    if workers is not None:
        arguments += ["-n", workers]
    with ends_on_sigterm(), redirect_stdout(sys.stderr) if as_json else nullcontext():
        status = pytest.main(arguments, plugins=[gathered])
    run = RunVerdicts.of(gathered.results, seed=seed, mode=mode)
    if as_json:
        print(json.dumps(run.as_json(), indent=1, ensure_ascii=True))
    return exit_code(run, int(status), gathered)


class Gathered:
    """A pytest plugin: the result of each scenario, from this process or from a worker."""

    def __init__(self) -> None:
        self.results: list[ScenarioResult] = []
        self.uncollected = False
        self.interrupted = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        from lasttick.evidence import ScenarioResult
        from lasttick.plugin import PROPERTY

        for name, value in report.user_properties:
            if name == PROPERTY and report.when == "call":
                self.results.append(ScenarioResult.from_json(json.loads(str(value))))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.uncollected = self.uncollected or report.failed

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = excinfo.type is KeyboardInterrupt


def exit_code(run: RunVerdicts, status: int, gathered: Gathered) -> int:
    """0 all pass, 1 a check failed, 2 usage, 4 inconclusive or nothing ran. `status` is pytest's own."""
    import pytest

    if gathered.interrupted:
        return INTERRUPTED
    if status == pytest.ExitCode.USAGE_ERROR or gathered.uncollected:
        return USAGE
    counts = run.counts
    if counts["fail"]:
        return FAILED
    if counts["inconclusive"] or not counts["pass"]:
        if not run.scenarios or not (counts["inconclusive"] or counts["pass"]):
            print("lasttick: nothing was judged, so nothing is shown (exit code 4)", file=sys.stderr)
        return INCONCLUSIVE
    if status == pytest.ExitCode.OK:
        return PASSED
    # Every verdict is a pass and yet pytest is not content: a fixture failed, or the run broke off.
    return FAILED if status == pytest.ExitCode.TESTS_FAILED else INCONCLUSIVE


def _refuse_no_match(pattern: str | None, folder: Path) -> None:
    ids = [claim.scenario for claim in collect_claims(folder)]
    if not ids:
        raise UsageError(f"{folder} holds no scenario", "functions marked @scenario in test_*.py", "write one first")
    if pattern is None or any(matches(pattern, id_) for id_ in ids):
        return
    if pattern.upper() in load_catalogue():
        next_step = f"lasttick explain {pattern.upper()} lists the scenarios of that id"
    else:
        next_step = f"try one of: {', '.join(nearby(pattern, ids) or ids[:5])}"
    raise UsageError(
        f"no scenario matches {pattern!r}",
        "part of a scenario id, or a shell pattern such as 'hostagent/lease/*'",
        next_step,
    )


def pytest_arguments(paths: Sequence[Path], *, seed: int, mode: str, target: str | None) -> list[str]:
    """What pytest is given to play the scenarios below `paths` in this process."""
    project = Path.cwd()
    shown = [str(path.relative_to(project) if path.is_relative_to(project) else path) for path in paths]
    arguments = [*shown, "--rootdir=.", "--import-mode=importlib", "--no-header"]
    # pytest finds that this very program is loaded already and would say so under every run.
    arguments += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    arguments += ["--lasttick-seed", str(seed), "--lasttick-mode", mode]
    return arguments if target is None else [*arguments, "--lasttick-target", target]
