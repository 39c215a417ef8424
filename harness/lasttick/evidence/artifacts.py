"""What else did a scenario leave behind? Files of its own, such as pictures: `artifacts/<scenario id>/NAME`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from lasttick.evidence.traces import trace_path

FOLDER = "artifacts"


def artifacts_path(scenario_id: str) -> PurePosixPath:
    """A scenario's folder, relative to the run folder; named as its trace is."""
    return PurePosixPath(FOLDER, *trace_path(scenario_id).with_suffix("").parts[1:])


def artifacts_in(folder: Path, below: PurePosixPath | str = FOLDER) -> tuple[str, ...]:
    """The files below a folder of the run, by their paths in it, sorted."""
    found = [path for path in (folder / below).rglob("*") if path.is_file() and not path.is_symlink()]
    return tuple(sorted(path.relative_to(folder).as_posix() for path in found))
