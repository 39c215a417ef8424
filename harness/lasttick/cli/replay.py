"""`lasttick replay`: pytest on the scenarios of a recorded run, played from their recordings, and nothing written.

Virtual time: the same hash, or the first event that differs. Real time (process mode) never has the same hash: there
the verdict is compared. Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.cli.errors import FAILED, PASSED, USAGE, UsageError
from lasttick.cli.run import pytest_arguments
from lasttick.evidence import (
    EvidenceError,
    Manifest,
    RunVerdicts,
    ScenarioResult,
    find_run,
    read_manifest,
    read_verdicts,
    recorded_events,
    run_argument,
)
from lasttick.evidence.run_folder import versions
from lasttick.requirements import collect_claims, matches, nearby, scenarios_folder

if TYPE_CHECKING:
    import pytest

    from lasttick.explore.replay import Recording, Repeated

VERSION = 1
REFERENCE = "reference"


def replay_run(wanted: str, pattern: str | None, *, every_example: bool, as_json: bool) -> int:
    """0: all the same; 1: something differs; 2: it can not be played. Raises EvidenceError and UsageError."""
    folder = find_run(wanted)
    manifest, run = read_manifest(folder), read_verdicts(folder)
    recordings = {
        result.id: _recording(folder, result, every_example=every_example) for result in _meant(run, pattern, wanted)
    }
    play = _Play(manifest, recordings, say=_silent if as_json else _say(manifest))
    play.run()
    gone = sorted(set(recordings) - set(play.repeated))
    differing = [item for item in play.repeated.values() if differs(item, manifest.mode)]
    if as_json:
        scenarios = [as_document(item, manifest.mode) for item in play.repeated.values()]
        document = {"version": VERSION, "run": folder.name, "mode": manifest.mode, "scenarios": scenarios, "gone": gone}
        print(json.dumps(document, indent=1, ensure_ascii=True))
    else:
        for id_ in gone:
            print(f"GONE          {id_}: no such scenario any more, or it does not run here")
        print(_summary(folder, play, len(differing), len(gone)))
        if differing:
            for line in _other_versions(manifest):
                print(line)
    if differing:
        return FAILED
    return USAGE if gone else PASSED


def differs(item: Repeated, mode: str) -> bool:
    """Another history, or another end of the same one. What no example showed is not judged again by itself."""
    recorded = item.result.verdict
    same_end = item.verdict == recorded or (recorded == "inconclusive" and item.verdict == "pass" and mode == "virtual")
    return not same_end or (mode == "virtual" and item.divergence is not None)


def as_document(item: Repeated, mode: str) -> dict[str, Any]:
    divergence = item.divergence
    return {
        "id": item.result.id,
        "differs": differs(item, mode),
        "examples": item.examples,
        "alone": item.alone,
        "generated": item.generated,
        "trace_sha256": item.sha256,
        "recorded_verdict": item.result.verdict,
        "verdict": item.verdict,
        "reason": item.reason,
        "divergence": None
        if divergence is None or mode != "virtual"
        else {
            "index": divergence.index,
            "fields": list(divergence.fields),
            "recorded": divergence.recorded and divergence.recorded.as_json(),
            "repeated": divergence.repeated and divergence.repeated.as_json(),
        },
    }


class _Play:
    """A plugin for one pytest run: it selects, hands the replay to lasttick's plugin, and tells each result at once."""

    def __init__(self, manifest: Manifest, recordings: dict[str, Recording], say: Callable[[Repeated], None]) -> None:
        from lasttick.explore.replay import Replay

        self.manifest = manifest
        self.replay = Replay(recordings)
        self._say = say
        self._told: set[str] = set()
        self._ids: dict[str, str] = {}
        self._uncollected = False

    @property
    def repeated(self) -> dict[str, Repeated]:
        return self.replay.repeated

    def run(self) -> None:
        """Raises UsageError when the scenarios can not be collected, KeyboardInterrupt."""
        import pytest

        files = self._files()
        if not files:
            return
        # Another target than the reference is there for one system at most.
        target = next((f"{name}={what}" for name, what in self.manifest.targets.items() if what != REFERENCE), None)
        seed, mode = self.manifest.seed, self.manifest.mode
        arguments = pytest_arguments(files, seed=seed, mode=mode, target=target)
        if self.manifest.examples_max:
            arguments += ["-o", f"lasttick_examples={self.manifest.examples_max}"]
        said = StringIO()
        with redirect_stdout(said):
            status = pytest.main(arguments, plugins=[self])
        if status == pytest.ExitCode.INTERRUPTED and not self._uncollected:
            raise KeyboardInterrupt
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            print(said.getvalue(), file=sys.stderr)
            raise UsageError(
                "the scenarios could not be played (see above)",
                f"the project in which the run was made, or one with the same scenarios, in {Path.cwd()}",
                "correct what pytest names, then replay again",
            )

    def _files(self) -> list[Path]:
        """Only files with a scenario that is wanted: collecting all of them takes longer than playing one."""
        folder = scenarios_folder(Path.cwd())
        wanted = {id_.partition("[")[0] for id_ in self.replay.recordings}
        claims = [claim for claim in collect_claims(folder) if claim.scenario in wanted]
        return [folder / name for name in dict.fromkeys(claim.where.rpartition(":")[0] for claim in claims)]

    def pytest_configure(self, config: pytest.Config) -> None:
        from lasttick.plugin import REPLAY

        config.stash[REPLAY] = self.replay

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._uncollected = self._uncollected or report.failed

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        from lasttick.marks import MARK, item_id

        items[:] = [item for item in items if item.get_closest_marker(MARK) and item_id(item) in self.replay.recordings]
        self._ids = {item.nodeid: item_id(item) for item in items}

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        id_ = self._ids.get(nodeid, "")
        if id_ in self.repeated and id_ not in self._told:
            self._told.add(id_)
            self._say(self.repeated[id_])


def _meant(run: RunVerdicts, pattern: str | None, wanted: str) -> list[ScenarioResult]:
    played = [result for result in run.scenarios if result.trace is not None]
    chosen = [result for result in played if pattern in (None, result.id)]
    if not chosen and pattern is not None:
        chosen = [result for result in played if matches(pattern, result.id)]
    if chosen:
        return chosen
    if pattern is None:
        raise UsageError(f"run {wanted} played no scenario", "a run with at least one trace", "name another run")
    ids = [result.id for result in played]
    raise UsageError(
        f"run {wanted} played no scenario that matches {pattern!r}",
        "a scenario id of that run, or part of one",
        f"try one of: {', '.join(nearby(pattern, ids) or ids[:5])}",
    )


def _recording(folder: Path, result: ScenarioResult, *, every_example: bool) -> Recording:
    from lasttick.engine.trace import trace_sha256
    from lasttick.explore.replay import Recording

    events = recorded_events(folder, result)
    if trace_sha256(events) != result.trace_sha256:
        raise EvidenceError(
            f"the trace of {result.id} is not the one that was judged",
            "events with the hash that verdicts.json names",
            f"lasttick verify {run_argument(folder)} shows what was changed",
        )
    return Recording(result, events, alone=result.falsified is not None and not every_example)


def _silent(_: Repeated) -> None:
    pass


def _say(manifest: Manifest) -> Callable[[Repeated], None]:
    # While pytest runs, standard output is its own; results go where it was before.
    stream = sys.stdout

    def say(item: Repeated) -> None:
        print(told(item, manifest.mode), file=stream, flush=True)

    return say


def told(item: Repeated, mode: str) -> str:
    """One result as text."""
    from lasttick.report import side_by_side

    result = item.result
    same_history = mode == "virtual" and item.divergence is None
    word = "DIFFERS" if differs(item, mode) else "same hash" if same_history else "same verdict"
    lines = [f"{word:<14}{result.id}  {_what(item)}, sha256 {item.sha256[:12]}"]
    if item.generated:
        lines.append(f"{'':14}its arguments can not be read back from text: all examples were generated by seed")
    if item.verdict != result.verdict and (item.verdict != "pass" or result.verdict == "fail"):
        lines.append(f"{'':14}was {result.verdict}, is {item.verdict}")
    if item.verdict in ("fail", "inconclusive"):
        lines.append(f"{'':14}{item.verdict.upper()}: {item.reason}")
    if mode == "virtual" and item.divergence is not None:
        lines += [f"{'':14}{line}" for line in side_by_side(item.divergence).splitlines()]
    return "\n".join(lines)


def _what(item: Repeated) -> str:
    if item.alone and item.result.falsified:
        shown = ", ".join(f"{name}={text}" for name, text in item.result.falsified.args.items())
        return f"falsified example {shown}"
    return "1 example" if item.examples == 1 else f"{item.examples} examples"


def _summary(folder: Path, play: _Play, differing: int, gone: int) -> str:
    parts = [f"{len(play.repeated) - differing} the same", f"{differing} differ", f"{gone} gone"]
    shown = ", ".join(part for part in parts if not part.startswith("0 ") or part.endswith("the same"))
    manifest = play.manifest
    target = ", ".join(f"{system}={what}" for system, what in manifest.targets.items())
    return f"{run_argument(folder)}: {shown}; seed {manifest.seed}, mode {manifest.mode}, {target}"


def _other_versions(manifest: Manifest) -> list[str]:
    now = versions()
    changed = [f"{name} {was} -> {now[name]}" for name, was in manifest.versions.items() if now.get(name, was) != was]
    return [f"versions differ from the recorded ones: {', '.join(changed)}"] if changed else []
