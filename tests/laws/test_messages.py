"""A message cites what its reader has: a section of docs/check.md, and never a paper of ours."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("harness/lasttick/laws", "harness/lasttick/cli", "scenarios/laws")
CITED = re.compile(r"docs/check\.md, '?([A-Z][a-z]+(?: [a-z]+)*)")


def messages() -> Iterator[tuple[str, str]]:
    """Every text in the code that is no docstring, with its place."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(file.read_text())
            alone = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", node.value


def test_no_message_cites_what_no_user_has() -> None:
    assert [where for where, text in messages() if "contract" in text and "serve.py" not in where] == []


def test_every_section_that_is_cited_is_there() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "docs/check.md").read_text(), re.MULTILINE)
    cited = {where: name for where, text in messages() for name in CITED.findall(text)}
    assert len(cited) > 10
    assert {where: name for where, name in cited.items() if name not in headings} == {}
