"""Which exchanges are there, and which content may take the place of the recorded one?"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lasttick.mutants import find as find_mutant
from lasttick.reproduce import exchanges
from lasttick.reproduce.exchanges import CONTENT_CHARS_MAX, UnknownExchange, find, known

FOLDER = Path(exchanges.__file__).parent


def test_every_exchange_names_a_defect_that_is_a_mutant() -> None:
    assert list(known()) == ["A04A-09", "A04A-10", "A04A-11"]
    for one in known().values():
        assert find_mutant(one.mutant).breaks == "LU-17"


def test_the_content_that_was_recorded_is_22_bytes_and_another_one_takes_its_place() -> None:
    assert len((find("A04A-09").content or "").encode()) == 22
    other = find("a04a-09", "something else")
    assert other.content == "something else"
    assert other.prompt.endswith("something else")
    assert "{content}" not in find("A04A-09").prompt


@pytest.mark.parametrize(
    ("exchange_id", "content"),
    [
        ("A04A-12", None),
        ("", None),
        ("A04A-11", "x"),
        ("A04A-09", ""),
        ("A04A-09", " \n"),
        ("A04A-09", "x" * (CONTENT_CHARS_MAX + 1)),
        ("A04A-10", "half a pair \ud800"),
    ],
)
def test_what_cannot_be_reproduced_is_one_message(exchange_id: str, content: str | None) -> None:
    with pytest.raises(UnknownExchange, match=r"\n  expected: .*\n  next: "):
        find(exchange_id, content)


def test_no_code_knows_a_recorded_text() -> None:
    texts = [
        text
        for one in known().values()
        for text in (one.id, one.content, one.path, one.says, one.final, *one.call_ids, *dict(one.actions).values())
        if text
    ]
    for file in FOLDER.glob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        told = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        for text in texts:
            assert not any(text in one for one in told), f"{file.name} knows {text!r}; it belongs to exchanges.toml"
