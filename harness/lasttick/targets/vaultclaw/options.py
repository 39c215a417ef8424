"""How the parts of a vault system are started, in either mode, and what a mode must be able to do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

Via: TypeAlias = Literal["http", "stdio"]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How one server is started. `environ`: its variables (contract vaultclaw 2) besides those the world sets.

    `cookbooks`: the folder of bundled cookbooks; None: those that come with the project. `folder` is its working
    folder; the catalog is in `catalog_dir`.
    """

    folder: Path
    catalog_dir: Path
    name: str = "vaultclaw"
    via: Via = "http"
    environ: Mapping[str, str] = field(default_factory=dict)
    cookbooks: Path | None = None


class Stdio(Protocol):
    """The two ends of a server on standard input and output, as its client holds them."""

    @property
    def reader(self) -> asyncio.StreamReader: ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """End of file on the server's standard input."""
        ...


class ServerPart(Protocol):
    """One run of a server. `start` raises StartRefused. `ended` waits for its end and gives its exit code."""

    @property
    def url(self) -> str: ...

    @property
    def stdio(self) -> Stdio | None: ...

    @property
    def pid(self) -> int: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def kill(self) -> None: ...

    async def ended(self) -> int: ...

    def said(self) -> str: ...


class FakePart(Protocol):
    """One run of a fake that speaks HTTP; `url` is its origin, `socket` the path of its Unix socket, if it has one.

    `past`: the log of earlier runs, where a new run begins a new one.
    """

    @property
    def url(self) -> str: ...

    @property
    def socket(self) -> Path | None: ...

    @property
    def past(self) -> list[dict[str, Any]]: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class VaultParts(Protocol):
    """What a mode does for the vault system; nothing of it is started yet."""

    def server(self, options: ServerOptions, again: ServerPart | None) -> ServerPart:
        """`again`: at the address of that earlier run."""
        ...

    def daemon(self, *, unix: bool, again: FakePart | None) -> FakePart:
        """`again`: at the address of that earlier run, with the state it left."""
        ...

    def catalog(self, number: int) -> FakePart: ...

    def history(self, get: Any) -> list[dict[str, Any]]:
        """What the fakes saw, as lines of the trace, when they are processes of their own."""
        ...
