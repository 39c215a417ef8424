"""The list of laws in docs/check.md is that of the laws there are, in their order in the catalogue."""

from __future__ import annotations

import re

from lasttick.requirements import load_catalogue

from .playing import ROOT, all_laws


def test_every_law_that_is_played_is_in_the_docs() -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    section = text[text.index("\n## The laws\n") : text.index("\n## Binding\n")]
    told = re.findall(r"^\| ([a-z]+/[a-z-]+) \|", section, re.MULTILINE)
    assert told == [entry.id for entry in load_catalogue().entries if entry.id in all_laws()]
