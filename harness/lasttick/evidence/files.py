"""How does a file of a run come to be whole or not at all? Written beside its place, then moved there in one step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lasttick.evidence.errors import EvidenceError


def write_text(path: Path, lines: Iterable[str]) -> None:
    """Write `lines`, each of which brings its own line end, atomically. Raises EvidenceError when it can not.

    Only one process writes a given file of a run, so the temporary name needs no chance in it.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error


def write_json(path: Path, document: Any) -> None:
    """Readable JSON, ASCII only: hostile peers' texts may hold lone surrogates."""
    write_text(path, [json.dumps(document, indent=1, ensure_ascii=True), "\n"])


def unwritable(path: Path, error: OSError) -> EvidenceError:
    return EvidenceError(
        f"{path} can not be written: {error.strerror or error}",
        "a reports folder that this user may write to, with room on the disk",
        "free the path or its disk, or give another folder, and run again",
    )
