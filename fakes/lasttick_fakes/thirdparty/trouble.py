"""What goes wrong at a third party? Trouble as data: which requests, and what their caller sees.

| kind | the caller sees | the business does |
|---|---|---|
| slow | the answer `s` seconds late | it, at the end of that time, whether or not the caller still waits |
| down | a connection that breaks inside the answer | nothing |
| 5xx | `status` (500 to 599) with a page of HTML | nothing |
| garbage | 200 and the body `garbage(shape)` | nothing |

`heal` ends them all. A third party that nobody can connect to is trouble of its place in the world (no server), not
of this fake. Source: contract gateway, "Answers to bad requests".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lasttick_fakes.http_json import shown

TroubleKind = Literal["slow", "down", "5xx", "garbage"]
KINDS: tuple[str, ...] = get_args(TroubleKind)
HEAL = "heal"
SLOW_S_MAX = 30 * 86_400.0

SHAPES = ("html", "bytes", "empty", "text", "number", "list", "null", "half", "nan", "infinity", "deep", "huge")
_SMALL: dict[str, bytes] = {
    "html": b"<!doctype html><title>Sign in</title><h1>Sign in to go on</h1>",
    "bytes": bytes(range(256)),
    "empty": b"",
    "text": b"OK",
    "number": b"7",
    "list": b"[1, 2, 3]",
    "null": b"null",
    "half": b'{"order": {"order_id": "A-1", ',
    "nan": b'{"order": NaN}',
    "infinity": b'{"order": 1e999}',
}


def garbage(shape: str) -> bytes:
    """A body that is not what the business answers: no JSON, not an object, a number that no float holds, nested too
    deep, or 8 MiB of it."""
    if shape == "deep":
        return b"[" * 100_000 + b"]" * 100_000
    if shape == "huge":
        return b'{"order": "' + b"x" * (8 << 20) + b'"}'
    return _SMALL[shape]


class BadTrouble(ValueError):
    """The trouble cannot be read. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """`count` requests (None: all until `heal`), after the next `skip` ones, meet this. `path` None: any path.

    `s` (seconds) belongs to slow, `status` to 5xx, `shape` to garbage. Raises BadTrouble.
    """

    kind: TroubleKind
    s: float = 0.0
    status: int = 503
    shape: str = "html"
    path: str | None = None
    count: int | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadTrouble(f"unknown trouble {shown(self.kind)}; known are {', '.join(KINDS)}, {HEAL}; use one")
        if isinstance(self.s, bool) or not isinstance(self.s, (int, float)) or not 0 <= self.s <= SLOW_S_MAX:
            raise BadTrouble(f"s is {shown(self.s)}; expected seconds from 0 to {SLOW_S_MAX:.0f}; correct it")
        if type(self.status) is not int or not 500 <= self.status <= 599:
            raise BadTrouble(f"status is {shown(self.status)}; expected 500 to 599; correct it")
        if self.shape not in SHAPES:
            raise BadTrouble(f"shape is {shown(self.shape)}; known are {', '.join(SHAPES)}; use one")
        if self.path is not None and not isinstance(self.path, str):
            raise BadTrouble(f"path is {shown(self.path)}; expected the path of requests, or none; correct it")
        if self.count is not None and (type(self.count) is not int or self.count < 1):
            raise BadTrouble(f"count is {shown(self.count)}; expected a number of requests from 1, or none; correct it")
        if type(self.skip) is not int or self.skip < 0:
            raise BadTrouble(f"skip is {shown(self.skip)}; expected a number of requests from 0; correct it")

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def parse(body: Mapping[str, Any]) -> Trouble:
    """A trouble from decoded JSON. Raises BadTrouble."""
    known = Trouble.__slots__
    for name in body:
        if name not in known:
            raise BadTrouble(f"unknown member {shown(name)}; expected only {', '.join(known)}; leave it out")
    if "kind" not in body:
        raise BadTrouble(f"the trouble has no kind; known are {', '.join(KINDS)}, {HEAL}; give one")
    return Trouble(**body)


class TroubleList:
    """Each entry counts the matching requests since it was added; of those that apply, the oldest wins."""

    def __init__(self) -> None:
        self._entries: list[tuple[Trouble, int]] = []

    def add(self, trouble: Trouble) -> None:
        self._entries.append((trouble, 0))

    def clear(self) -> None:
        self._entries.clear()

    def meet(self, path: str) -> Trouble | None:
        """Count one request to `path`, and say what happens to it."""
        met: Trouble | None = None
        rest: list[tuple[Trouble, int]] = []
        for trouble, seen in self._entries:
            if trouble.path is not None and trouble.path != path:
                rest.append((trouble, seen))
                continue
            if met is None and seen >= trouble.skip:
                met = trouble
            if trouble.count is None or seen + 1 < trouble.skip + trouble.count:
                rest.append((trouble, seen + 1))
        self._entries = rest
        return met
