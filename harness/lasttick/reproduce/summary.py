"""The two adapters side by side: for people as a page, for machines as JSON. Read from the evidence folder alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.evidence.files import write_json, write_text
from lasttick.reproduce import claims
from lasttick.reproduce.claims import Claim
from lasttick.reproduce.columns import NONE, columns
from lasttick.reproduce.exchanges import Exchange
from lasttick.reproduce.kept import read

VERSION = 1
BROKEN, FIXED = "broken", "fixed"
JSON_FILE, PAGE = "summary.json", "summary.md"


@dataclass(frozen=True, slots=True)
class Summary:
    """`columns` and `claims` by side, `broken` and `fixed`."""

    exchange: Exchange
    columns: dict[str, dict[str, str]]
    claims: dict[str, list[Claim]]

    @property
    def is_shown(self) -> bool:
        """The old defect did what was recorded, and the fixed adapter does not."""
        return all(claim.holds for found in self.claims.values() for claim in found)

    def as_json(self) -> dict[str, Any]:
        told = {side: [{"claim": one.text, "holds": one.holds} for one in found] for side, found in self.claims.items()}
        return {
            "version": VERSION,
            "id": self.exchange.id,
            "title": self.exchange.title,
            "mutant": self.exchange.mutant,
            "shown": self.is_shown,
            "columns": self.columns,
            "claims": told,
        }

    def page(self) -> str:
        """Markdown. Cells hold what peers wrote, so nothing in them may end a cell or a line."""
        names = list(dict.fromkeys(name for found in self.columns.values() for name in found))
        rows = [
            f"| {name} | " + " | ".join(_cell(self.columns[side].get(name, NONE)) for side in (BROKEN, FIXED)) + " |"
            for name in names
        ]
        lines = [
            f"# {self.exchange.id}: {self.exchange.title}",
            "",
            f"| | with the old defect (`{self.exchange.mutant}`) | fixed |",
            "|---|---|---|",
            *rows,
        ]
        for side in (BROKEN, FIXED):
            lines += ["", f"## What the {side} adapter must show", ""]
            lines += [f"- {'yes' if one.holds else 'NO'}: {one.text}" for one in self.claims[side]]
        return "\n".join(lines) + "\n"


def summarize(exchange: Exchange, folder: Path) -> Summary:
    """From the two folders below `folder`. Raises NoLedger, OSError."""
    sides = {side: read(folder / side) for side in (BROKEN, FIXED)}
    return Summary(
        exchange,
        {side: columns(found) for side, found in sides.items()},
        {BROKEN: claims.broken(exchange, sides[BROKEN]), FIXED: claims.fixed(exchange, sides[FIXED])},
    )


def write(summary: Summary, folder: Path) -> None:
    """Raises EvidenceError."""
    write_json(folder / JSON_FILE, summary.as_json())
    write_text(folder / PAGE, [summary.page()])


def _cell(text: str) -> str:
    plain = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"') if not text.isprintable() else text
    return plain.replace("|", "\\|")
