"""Which calls does a scripted trouble meet? By method and path, so many after so many: the same for each fake here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from lasttick_fakes.http_json import Refused, shown
from lasttick_fakes.thirdparty.trouble import HEAL


class Scripted(Protocol):
    """`count` calls (None: all until `heal`), after the next `skip` ones. `method` and `path` None: any.

    A `path` that ends in `*` is a prefix.
    """

    @property
    def method(self) -> str | None: ...
    @property
    def path(self) -> str | None: ...
    @property
    def count(self) -> int | None: ...
    @property
    def skip(self) -> int: ...


T = TypeVar("T", bound=Scripted)
M = TypeVar("M")


def check(one: Scripted) -> None:
    """Raises Refused (400)."""
    for name, text in (("method", one.method), ("path", one.path)):
        if text is not None and not isinstance(text, str):
            raise Refused(400, f"{name} is {shown(text)}; expected text, or none; correct it")
    if one.count is not None and (type(one.count) is not int or one.count < 1):
        raise Refused(400, f"count is {shown(one.count)}; expected a number of calls from 1, or none; correct it")
    if type(one.skip) is not int or one.skip < 0:
        raise Refused(400, f"skip is {shown(one.skip)}; expected a number of calls from 0; correct it")


def meets(one: Scripted, method: str, path: str) -> bool:
    if one.method is not None and one.method.upper() != method:
        return False
    if one.path is None or one.path == path:
        return True
    return one.path.endswith("*") and path.startswith(one.path[:-1])


def parse(cls: type[M], kinds: tuple[str, ...], body: Mapping[str, Any]) -> M:
    """A trouble of the dataclass `cls` from decoded JSON. Raises Refused (400)."""
    known: tuple[str, ...] = tuple(getattr(cls, "__slots__"))  # noqa: B009
    for name in body:
        if name not in known:
            raise Refused(400, f"unknown member {shown(name)}; expected only {', '.join(known)}; leave it out")
    if body.get("kind") not in kinds:
        what = f"unknown trouble {shown(body.get('kind'))}"
        raise Refused(400, f"{what}; known are {', '.join(kinds)}, {HEAL}; use one")
    return cls(**body)


class Troubles(Generic[T]):
    """Each entry counts the matching calls since it was added; of those that apply, the oldest wins."""

    def __init__(self) -> None:
        self._entries: list[tuple[T, int]] = []

    def add(self, trouble: T) -> None:
        self._entries.append((trouble, 0))

    def clear(self) -> None:
        self._entries.clear()

    def meet(self, method: str, path: str) -> T | None:
        """Count one call, and say what happens to it. An entry that another one outruns keeps its own calls."""
        met: T | None = None
        rest: list[tuple[T, int]] = []
        for trouble, seen in self._entries:
            if not meets(trouble, method, path) or (met is not None and seen >= trouble.skip):
                rest.append((trouble, seen))
                continue
            if seen >= trouble.skip:
                met = trouble
            if trouble.count is None or seen + 1 < trouble.skip + trouble.count:
                rest.append((trouble, seen + 1))
        self._entries = rest
        return met
