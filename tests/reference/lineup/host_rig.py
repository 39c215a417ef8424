"""What the core would hear of a host, in order."""

from __future__ import annotations

from typing import Any

from lasttick.reference.lineup.links import HostLink


class Core:
    """`HostEvents`, and where links are attached. `links` are those so far, the newest last."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, ...]] = []
        self.links: list[HostLink] = []

    def attach(self, link: HostLink) -> None:
        self.links.append(link)
        self.all.append(("attach",))

    def frame(self, data: bytes, read_ns: int) -> None:
        self.all.append(("frame", data, read_ns))

    def host_gone(self) -> None:
        self.all.append(("gone",))

    def frames(self) -> list[bytes]:
        return [event[1] for event in self.all if event[0] == "frame"]
