"""Whatever stands in a file, loading gives a profile or a ProfileError, and never anything else."""

from __future__ import annotations

import json
import string
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lasttick.laws.profiles.load import ProfileError, load, loads
from lasttick.laws.profiles.profile import VERBS

from .profiles.texts import WITH_VARIABLES as GOOD

ENVIRON = {"TOKEN": "sesame-sesame"}

WORDS = (
    "version target url command callers alice headers vars run lease acquire use same absent tool http args json form "
    "poll until out outcomes busy each say states effects routes rest renewed_by ttl_s allow_hosts profile"
)
KEYS = st.sampled_from(WORDS.split(" ")) | st.text(max_size=3)
SCALARS = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["lease.use", "{mark}", "{x}", "/a/b", "GET /x", "http://lab", "${TOKEN}", "${X}", "session.end"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=10
)


def written(value: Any) -> str:
    """As inline TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)} = {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, str):
        plain = set(string.printable) - set('"\\\x0b\x0c\n\r\t')
        return '"' + "".join(char if char in plain else f"\\U{ord(char):08x}" for char in value) + '"'
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf") if value is not None else '""'


def loads_or_says(text: str) -> None:
    try:
        profile = loads(text, "f", ENVIRON).profile
    except ProfileError as error:
        told = error
    else:
        for verb in VERBS:
            for route in (None, *profile.routes):
                profile.reach(verb, route)
                profile.stands_for(verb, route)
        return
    assert told.problems
    str(told).encode()


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_document_is_read_or_refused(document: dict[str, Any]) -> None:
    text = "".join(f"{written(key)} = {written(value)}\n" for key, value in document.items())
    loads_or_says(text)


PATHS = [
    ("version",),
    ("effects", "http"),
    ("target",),
    ("target", "url"),
    ("callers",),
    ("callers", "alice"),
    ("callers", "alice", "headers"),
    ("lease",),
    ("lease", "ttl_s"),
    ("lease", "use"),
    ("lease", "use", "tool"),
    ("lease", "use", "args"),
]


@given(st.sampled_from(PATHS), st.sampled_from(["put", "drop"]), KEYS, VALUES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_good_profile_with_anything_in_it_is_read_or_refused(
    path: tuple[str, ...], change: str, key: str, value: Any
) -> None:
    document = tomllib.loads(GOOD)
    table: Any = document
    for part in path[:-1]:
        table = table[part]
    if change == "drop":
        del table[path[-1]]
    elif isinstance(table[path[-1]], dict):
        table[path[-1]][key] = value
    else:
        table[path[-1]] = value
    loads_or_says("".join(f"{written(name)} = {written(item)}\n" for name, item in document.items()))


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    loads_or_says(text)
    loads_or_says(GOOD + text)


@given(st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "any.toml"
    path.write_bytes(data)
    with pytest.raises(ProfileError):
        load(path, {})
