"""What did the ids of a run mean when it ran? `catalogue.json`: the text of every requirement and law it speaks of.

A report is a function of the run folder, so what it shows of the catalogue must lie there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.files import write_json

VERSION = 1
FILE = "catalogue.json"


def write_catalogue(folder: Path, texts: Mapping[str, str]) -> None:
    """`texts` maps ids to their texts. Raises EvidenceError."""
    write_json(folder / FILE, {"version": VERSION, "texts": {id_: texts[id_] for id_ in sorted(texts)}})


def read_catalogue(folder: Path) -> dict[str, str]:
    """Texts by id; empty for a run of an older lasttick. Raises EvidenceError for a damaged file."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {str(id_): str(text) for id_, text in document["texts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvidenceError(
            f"{path} can not be read: {error!r}",
            f"the {FILE} of a run, version {VERSION}",
            "see what lasttick verify says of the run",
        ) from error
