"""Where does a profile say how to reach the target? Every binding and every poll of it, with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.profile import Binding, Poll, Profile, Reach

KINDS = ("tool", "http", "run", "python")
FILLED = ("tool", "args", "meta", "http", "query", "headers", "json_", "form", "run", "env", "stdin")
"""What templates are filled in."""


@dataclass(frozen=True, slots=True)
class Site:
    """`route` None: the file's own sections. `part` is the verb's binding, or its poll."""

    path: Path
    verb: str
    route: str | None
    part: Reach

    @property
    def binding(self) -> Binding | None:
        """The part, when it is no poll."""
        return self.part if isinstance(self.part, Binding) else None

    @property
    def poll(self) -> Poll | None:
        return self.part if isinstance(self.part, Poll) else None

    @property
    def section(self) -> str:
        return self.verb.partition(".")[0]


def sites(profile: Profile) -> Iterator[Site]:
    """The file's own first, then route by route."""
    for route in (None, *profile.routes):
        verbs = profile if route is None else profile.routes[route]
        start: Path = () if route is None else ("routes", route)
        for verb, binding in verbs.bound_verbs().items():
            path = (*start, *verb.split("."))
            yield Site(path, verb, route, binding)
            if binding.poll is not None:
                yield Site((*path, "poll"), verb, route, binding.poll)


def filled(part: Reach) -> dict[str, Any]:
    """What of a binding is filled with names before it is sent: key as written in the file -> value."""
    return {name.removesuffix("_"): value for name in FILLED if (value := getattr(part, name))}
