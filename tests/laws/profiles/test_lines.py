"""Every key of a TOML text has the line it stands on, however it is written."""

from __future__ import annotations

import string
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.profiles.lines import DEPTH_MAX, line_of, positions

TEXT = """\
# a comment = [
version = 1
"quoted key" = 'a = "b"'  # not [a] = table
a.dotted.key = 1979-05-27 07:32:00

[lease.acquire]
http = \"\"\"
[not.a.table]
key = 1 \\\"\"\" still inside\"\"\"\"
out = { location = "/headers/location", deep = { er = [1, 2] } }
[lease]
ttl_s = 5
[lease.acquire.outcomes]
busy = [
  { "/status" = 409 },  # ]
  # a comment }

  { "/body/state" = ["taken",
      "gone"] },

]
literal = '''
[no] = '''
[[known]]
law = "a"
[[known]]
law = "b"
[known.inner]
'single' = true
  [ routes . "re.st" . tools ]
  call = { absent = "x" }
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["version"], 2),
        (["quoted key"], 3),
        (["a", "dotted"], 4),
        (["a", "dotted", "key"], 4),
        (["lease"], 11),
        (["lease", "acquire"], 6),
        (["lease", "acquire", "http"], 7),
        (["lease", "acquire", "out"], 10),
        (["lease", "acquire", "out", "deep", "er", 1], 10),
        (["lease", "ttl_s"], 12),
        (["lease", "acquire", "outcomes"], 13),
        (["lease", "acquire", "outcomes", "busy"], 14),
        (["lease", "acquire", "outcomes", "busy", 0], 15),
        (["lease", "acquire", "outcomes", "busy", 1], 18),
        (["lease", "acquire", "outcomes", "busy", 1, "/body/state"], 18),
        (["lease", "acquire", "outcomes", "busy", 1, "/body/state", 1], 19),
        (["lease", "acquire", "outcomes", "literal"], 22),
        (["known"], 24),
        (["known", 0, "law"], 25),
        (["known", 1], 26),
        (["known", 1, "law"], 27),
        (["known", 1, "inner", "single"], 29),
        (["routes", "re.st", "tools", "call", "absent"], 31),
    ],
)
def test_where_each_key_stands(path: list[str | int], line: int) -> None:
    tomllib.loads(TEXT)
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["lease", "acquire", "out", "missing"], 10),
        (["lease", "release", "same"], 11),
        (["lease", "acquire", "outcomes", "busy", 9, "x"], 14),
        (["nothing", "like", "it"], None),
        ([], None),
    ],
)
def test_a_missing_key_has_the_line_of_its_nearest_ancestor(path: list[str | int], line: int | None) -> None:
    assert line_of(TEXT, path) == line


def test_line_ends_of_windows_count_once() -> None:
    assert line_of("a = 1\r\n\r\n[b]\r\nc = [\r\n 1,\r\n 2]\r\n", ["b", "c", 1]) == 6


def test_a_header_after_its_inner_table_is_where_the_table_is() -> None:
    assert line_of("[a.b]\nx = 1\n[a]\ny = 1\n", ["a"]) == 3


def test_two_quotes_may_stand_before_the_end_of_a_text() -> None:
    assert line_of('a = ["""x""""",\n1]\n', ["a", 1]) == 2
    assert line_of("a = ['''x''''',\n1]\n", ["a", 1]) == 2


@pytest.mark.parametrize("text", ["a = [", "a = {b = ", "[a", "[[a]", 'a = "', "= 1", "a", 'a."\\q" = 1', "a = [1 2]"])
def test_what_is_no_toml_gives_the_lines_before_it(text: str) -> None:
    assert line_of("good = 1\n" + text, ["good"]) == 1


def test_nesting_is_bounded() -> None:
    assert line_of("a = " + "[" * 100_000, ["a"]) == 1
    inside = DEPTH_MAX - 1
    assert ("a", *[0] * inside) in positions("a = " + "[" * inside + "1" + "]" * inside)


@given(st.text())
def test_any_text_can_be_asked(text: str) -> None:
    lines = positions(text)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


KEYS = st.text(string.ascii_letters + " .'\"#[]{}=\\é", min_size=1, max_size=4)
SCALARS = st.one_of(
    st.integers(-99, 99),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(string.ascii_letters + " .'\"#[]{}=\\,", max_size=6),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Written:
    """A TOML text that was written with line ends where TOML allows them, and the line of each path in it."""

    def __init__(self, document: dict[str, Any], literal: bool) -> None:
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._literal = literal
        for key, value in document.items():
            if isinstance(value, dict):
                continue
            self._pair((key,), key, value)
            self.text += "\n"
        for key, value in document.items():
            if not isinstance(value, dict):
                continue
            self._note((key,))
            self.text += f"[{quoted(key)}] # [not] = a table\n"
            for inner, item in value.items():
                self._pair((key, inner), inner, item)
                self.text += "\n\n"

    def _note(self, path: tuple[str | int, ...]) -> None:
        self.lines[path] = self.text.count("\n") + 1

    def _pair(self, path: tuple[str | int, ...], key: str, value: Any) -> None:
        self._note(path)
        self.text += f"{quoted(key)} = "
        self._value(path, value)

    def _value(self, path: tuple[str | int, ...], value: Any) -> None:
        if isinstance(value, dict):
            self.text += "{ "
            for index, (key, item) in enumerate(value.items()):
                self.text += ", " if index else ""
                self._pair((*path, key), key, item)
            self.text += " }"
        elif isinstance(value, list):
            self.text += "["
            for index, item in enumerate(value):
                self.text += "\n # a comment, ] and }\n  "
                self._note((*path, index))
                self._value((*path, index), item)
                self.text += ","
            self.text += "\n]"
        elif isinstance(value, str):
            is_literal = self._literal and "'" not in value
            self.text += f"'''\n{value}'''" if is_literal else quoted(value)
        else:
            self.text += str(value).lower()


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
def test_every_path_of_any_document_is_found_where_it_was_written(document: dict[str, Any], literal: bool) -> None:
    written = Written(document, literal)
    assert tomllib.loads(written.text) == document
    assert dict(positions(written.text)) == written.lines
