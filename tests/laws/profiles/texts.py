"""A small profile that is good, and what is told of one that is not."""

from __future__ import annotations

import pytest

from lasttick.laws.profiles.load import ProfileError, loads
from lasttick.laws.profiles.problems import Problem

GOOD = """\
version = 1
effects = { http = "GET /log" }
[target]
url = "http://127.0.0.1:1/mcp"
[callers.alice]
headers = { Authorization = "Bearer x" }
[lease]
ttl_s = 5
renewed_by = ["use"]
[lease.use]
tool = "swipe"
args = { x = "{mark}" }
[lease.holder]
http = "GET /devices"
each = "/body/devices"
out = { resource = "/id", held = "/state" }
states = { held = ["busy"], free = ["idle"] }
"""
USE = 'tool = "swipe"\nargs = { x = "{mark}" }'
WITH_VARIABLES = """\
version = 1
effects = { http = "GET /log" }
[target]
url = "http://127.0.0.1:1/mcp"
[callers.alice]
headers = { Authorization = "Bearer ${TOKEN}" }
[lease]
ttl_s = "${TTL:-5}"
renewed_by = ["use"]
[lease.use]
tool = "swipe"
args = { x = "{mark}" }
"""


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ProfileError) as caught:
        loads(text, "f", {})
    return caught.value.problems


def told(text: str) -> tuple[str, str]:
    """Place and text of the one problem there is."""
    (problem,) = problems(text)
    assert problem.what
    assert problem.expected
    assert problem.next_step
    return problem.where, str(problem)


def changed(old: str, new: str) -> str:
    """The good one with `new` in place of `old`."""
    assert old in GOOD
    return GOOD.replace(old, new, 1)


def added(text: str) -> str:
    return GOOD + text + "\n"
