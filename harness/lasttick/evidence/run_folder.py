"""Where does a run leave what it saw? `reports/runs/<utc>-<short id>/`, with `reports/latest` pointing at the newest.

Traces are written by whoever ran the scenario, the rest once, at the end, by the controller of the run.
Source: DESIGN "What machines read".
"""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from lasttick.engine.trace import Event
from lasttick.evidence.artifacts import artifacts_in, artifacts_path
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.files import unwritable, write_json, write_text
from lasttick.evidence.junit import junit_xml
from lasttick.evidence.results import ScenarioResult
from lasttick.evidence.sums import write_sums
from lasttick.evidence.traces import write_trace
from lasttick.evidence.verdicts import FILE, RunVerdicts

MANIFEST_VERSION = 1
KEPT = 20
RUN_NAME = re.compile(r"\d{8}T\d{6}Z-[A-Za-z0-9]+")
PACKAGES = ("lasttick", "hypothesis", "mcp", "pytest")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """An existing run folder. A worker opens it by path and only writes traces."""

    path: Path

    @classmethod
    def create(cls, root: Path, *, utc: datetime, short_id: str) -> RunFolder:
        """Make `root/runs/<utc>-<short id>/`; `root` is the reports folder. `utc` is aware.

        Raises EvidenceError when the folder exists already or can not be made, ValueError for a short id with other
        characters than letters and digits.
        """
        name = f"{utc.astimezone(UTC):%Y%m%dT%H%M%SZ}-{short_id}"
        if not RUN_NAME.fullmatch(name):
            raise ValueError(f"short id {short_id!r}; expected letters and digits")
        path = root / "runs" / name
        try:
            path.mkdir(parents=True)
        except FileExistsError as error:
            raise EvidenceError(f"{path} exists already", "a new folder for every run", "run again") from error
        except OSError as error:
            raise unwritable(path, error) from error
        return cls(path)

    def write_manifest(
        self,
        *,
        seed: int,
        mode: str,
        started: datetime,
        command_line: Sequence[str],
        targets: Mapping[str, str],
        examples_max: int | None = None,
    ) -> None:
        """What ran, with which versions. `targets` maps each place to what filled it ("hostagent": "reference").

        `examples_max`: the limit of this run on examples of a property scenario; None: as written.
        """
        write_json(
            self.path / "manifest.json",
            {
                "version": MANIFEST_VERSION,
                "run": self.path.name,
                "started": f"{started.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
                "seed": seed,
                "mode": mode,
                "examples_max": examples_max,
                "targets": dict(targets),
                "command_line": list(command_line),
                "versions": versions(),
            },
        )

    def write_trace(self, scenario_id: str, events: Iterable[Event]) -> str:
        """Returns the path relative to the run folder, for `ScenarioResult.trace`."""
        return write_trace(self.path, scenario_id, events)

    def artifacts(self, scenario_id: str) -> Path:
        """Where the files go that this scenario leaves behind; not made before there is one."""
        return self.path / artifacts_path(scenario_id)

    def artifacts_of(self, scenario_id: str) -> tuple[str, ...]:
        """The files that this scenario left, by their paths in the run folder, for `ScenarioResult.artifacts`."""
        return artifacts_in(self.path, artifacts_path(scenario_id))

    def finish(self, results: Iterable[ScenarioResult], *, seed: int, mode: str) -> RunVerdicts:
        """Write verdicts, JUnit and sums, point `latest` here, and drop all but the newest 20 runs.

        Raises EvidenceError.
        """
        run = RunVerdicts.of(results, seed=seed, mode=mode)
        write_json(self.path / FILE, run.as_json())
        write_text(self.path / "junit.xml", [junit_xml(run)])
        write_sums(self.path)
        self._point_latest()
        self._drop_old()
        return run

    def _point_latest(self) -> None:
        root = self.path.parents[1]
        latest, temporary = root / "latest", root / f".latest-{self.path.name}"
        try:
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(Path("runs", self.path.name), target_is_directory=True)
            os.replace(temporary, latest)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise EvidenceError(
                f"{latest} can not be pointed at this run: {error.strerror or error}",
                "a symbolic link, or nothing at all, under that name",
                f"move {latest} away; the run itself is whole in {self.path}",
            ) from error

    def _drop_old(self) -> None:
        """Only folders that a run made are touched; their names sort by time."""
        runs = sorted(entry for entry in self.path.parent.iterdir() if RUN_NAME.fullmatch(entry.name))
        for old in runs[:-KEPT]:
            if old != self.path and old.is_dir() and not old.is_symlink():
                # Another run may be dropping the same one; what can not be dropped now is dropped by the next.
                shutil.rmtree(old, ignore_errors=True)


def versions() -> dict[str, str]:
    """Python and the packages whose versions change what a run can see; "absent" for one that is not installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found
