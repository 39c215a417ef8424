"""How are requirements, laws and scenarios named? The one place where ids are made and matched.

`scenarios/hostagent/test_lease.py::test_free_exactly_at_ttl` is `hostagent/lease/free-exactly-at-ttl`; parameters stay
as they are, in `[..]`. Source: contract world, "Scenario and world".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

REQUIREMENT_ID = re.compile(r"[A-Z]{2}-\d{2}")
LAW_ID = re.compile(r"[a-z]+/[a-z]+(-[a-z]+)*")


def scenario_id(file: PurePath, name: str) -> str:
    """`file` relative to the scenarios folder, `name` of the test with its parameters if it has any."""
    function, bracket, parameters = name.partition("[")
    parts = [*file.parent.parts, file.stem.removeprefix("test_"), function.removeprefix("test_")]
    return "/".join(part.replace("_", "-") for part in parts) + bracket + parameters


def matches(pattern: str, id_: str) -> bool:
    """True when `pattern` is part of the scenario id, or matches it whole as a shell pattern.

    An id collected without its parameters matches when the pattern only adds parameters to it.
    """
    if pattern in id_ or fnmatchcase(id_, pattern):
        return True
    return "[" in pattern and "[" not in id_ and id_.endswith(pattern.partition("[")[0])


def nearby(wanted: str, ids: Sequence[str], *, count_max: int = 5) -> list[str]:
    """The ids most like `wanted`, best first; those that share its last word count as like."""
    close = difflib.get_close_matches(wanted, ids, n=count_max, cutoff=0.5)
    last = re.split(r"[/*\[]", wanted.rstrip("/*]"))[-1]
    tails = {id_.rpartition("/")[2]: id_ for id_ in ids}
    close += [tails[tail] for tail in difflib.get_close_matches(last, list(tails), n=count_max, cutoff=0.6)]
    return list(dict.fromkeys(close))[:count_max]
