"""Are the files beside the traces still what the run wrote? `SHA256SUMS`, as `sha256sum -c` reads it.

The traces need none: their lines are chained, and the verdicts hold the hash of their events. The report needs none: it
is rendered from the rest at any time. What scenarios left behind is covered, file by file.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath

from lasttick.evidence.artifacts import FOLDER, artifacts_in
from lasttick.evidence.files import write_text

FILE = "SHA256SUMS"
COVERED = ("manifest.json", "catalogue.json", "verdicts.json", "junit.xml")
LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


def write_sums(folder: Path) -> None:
    """Over those of the covered files that exist. Raises EvidenceError."""
    names = [name for name in COVERED if (folder / name).is_file()]
    lines = [f"{_sum(folder / name)}  {name}\n" for name in (*names, *artifacts_in(folder))]
    write_text(folder / FILE, lines)


def wrong_sums(folder: Path) -> list[tuple[str, int, str]]:
    """File, its line in SHA256SUMS, what is wrong; nothing for a run of an older lasttick, which has no sums."""
    path = folder / FILE
    if not path.is_file():
        return []
    found: list[tuple[str, int, str]] = []
    summed: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        match = LINE.fullmatch(line)
        if match is None or not _is_covered(match[2]):
            found.append((FILE, number, f"this line is no sum of a file of a run: {line[:100]!r}"))
        elif not (folder / match[2]).is_file():
            found.append((match[2], number, "the file is missing"))
        elif _sum(folder / match[2]) != match[1]:
            found.append((match[2], number, "the file is not what the run wrote"))
        else:
            summed.append(match[2])
    told = {*summed, *(name for name, _, _ in found)}
    found += [(name, 0, "no sum speaks of this file") for name in artifacts_in(folder) if name not in told]
    return found


def _is_covered(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name in COVERED or (parts[:1] == (FOLDER,) and ".." not in parts)


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
