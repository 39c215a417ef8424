"""Which run is meant, and what does it hold? A folder, a name below `reports/runs`, or `latest`, and its manifest.

Readers accept what older versions wrote. Source: DESIGN "What machines read".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lasttick.engine.trace import Event
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.results import ScenarioResult
from lasttick.evidence.run_folder import MANIFEST_VERSION, RUN_NAME
from lasttick.evidence.traces import read_trace

REPORTS = Path("reports")
LATEST = "latest"
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ran, with which versions. `targets` maps a system to `reference` or `mutant:ID`."""

    run: str
    started: str
    seed: int
    mode: str
    targets: Mapping[str, str]
    command_line: tuple[str, ...]
    versions: Mapping[str, str]
    examples_max: int | None = None


def find_run(wanted: str, reports: Path = REPORTS) -> Path:
    """The folder of the run that a person named, with `latest` followed to its run. Raises EvidenceError."""
    named = {LATEST: reports / LATEST}.get(wanted, reports / "runs" / wanted if RUN_NAME.fullmatch(wanted) else None)
    for folder in (named, Path(wanted)):
        if folder is not None and folder.is_dir():
            return folder.resolve()
    kept = sorted(entry.name for entry in (reports / "runs").glob("*") if RUN_NAME.fullmatch(entry.name))
    there = f"the newest there: {', '.join(kept[: -SHOWN - 1 : -1])}" if kept else f"there is no run in {reports}/runs"
    raise EvidenceError(
        f"no run {wanted!r}",
        f"{LATEST}, a name below {reports}/runs (the newest 20 are kept), or the folder of a run",
        f"name one, or make one with lasttick run; {there}",
    )


def run_argument(folder: Path, reports: Path = REPORTS) -> str:
    """How a command typed in the current folder names this run: its name where that is enough, else its path."""
    folder = folder.resolve()
    if folder.parent == (reports / "runs").resolve():
        return folder.name
    here = Path.cwd()
    return str(folder.relative_to(here)) if folder.is_relative_to(here) else str(folder)


def read_manifest(folder: Path) -> Manifest:
    """Raises EvidenceError when there is none, or when it can not be understood."""
    path = folder / "manifest.json"
    expected = f"the manifest of a run, version {MANIFEST_VERSION} or older"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] > MANIFEST_VERSION:
            raise EvidenceError(
                f"{path} has version {document['version']!r}", expected, "read it with the lasttick that wrote it"
            )
        return _manifest(document, folder)
    except OSError as error:
        raise EvidenceError(
            f"{path} can not be read: {error.strerror or error}", expected, "name the folder of a run"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvidenceError(
            f"{path} has another shape: {error!r}", expected, "see what lasttick verify says of the run"
        ) from error


def _manifest(document: Mapping[str, Any], folder: Path) -> Manifest:
    return Manifest(
        run=str(document.get("run", folder.resolve().name)),
        started=str(document["started"]),
        seed=int(document["seed"]),
        mode=str(document["mode"]),
        targets={str(name): str(what) for name, what in document["targets"].items()},
        command_line=tuple(map(str, document["command_line"])),
        versions={str(name): str(version) for name, version in document["versions"].items()},
        examples_max=document.get("examples_max"),
    )


def trace_file(folder: Path, result: ScenarioResult) -> Path | None:
    """Where the trace of a result lies; None when there is none. Raises EvidenceError for a path that leads out."""
    if result.trace is None:
        return None
    relative = PurePosixPath(result.trace)
    if relative.is_absolute() or ".." in relative.parts:
        raise EvidenceError(
            f"{result.id} names the trace {result.trace!r}",
            "a path that stays in the run folder",
            "do not trust this run; see lasttick verify",
        )
    return folder / relative


def recorded_events(folder: Path, result: ScenarioResult) -> list[Event]:
    """The events of a result's trace, none when it has no trace. Raises EvidenceError."""
    path = trace_file(folder, result)
    return [] if path is None else read_trace(path)
