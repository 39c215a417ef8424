"""Who sees what the target shows when it fetches? A server of a law's own, with a few documents; it writes all down.

It has no door, and lives as long as its law. On this machine it listens on loopback; a world has it on its network.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from lasttick.engine.network import Network
from lasttick.laws.servers import asgi
from lasttick.laws.servers.asgi import Request
from lasttick.ports import AsgiApp

LOOPBACK, FIRST_PORT = "127.0.0.1", 7900
FOUND, ABSENT = 302, 404


@dataclass(frozen=True, slots=True)
class Document:
    """What is at a path: a value as JSON, or the address of another document, which is a redirect."""

    value: Any = None
    moved_to: str = ""


Documents: TypeAlias = dict[str, Document]
"""By path; a law may change them while they are served."""
Listen: TypeAlias = Callable[[AsgiApp], AbstractAsyncContextManager[str]]
"""Serve an application as long as inside; gives its origin."""


@dataclass(slots=True)
class Origin:
    """An ASGI application. `requests`: all that arrived, in order; `url`: its origin, once it is served."""

    documents: Documents
    url: str = ""
    requests: list[Request] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        try:
            request = await asgi.read_request(scope, receive)
            self.requests.append(request)
            found = self.documents.get(request.path)
            if found is None:
                await asgi.answer(send, ABSENT, {"error": f"nothing is at {request.path[:100]}"})
            elif found.moved_to:
                await asgi.answer(send, FOUND, None, {"location": found.moved_to})
            else:
                await asgi.answer(send, 200, found.value)
        except asgi.Refused as refused:
            await asgi.refuse(send, refused)
        except asgi.ClientGone:
            return

    def at(self, path: str) -> list[Mapping[str, Any]]:
        """The requests for this path, as values in which a secret can be looked for."""
        return [request for request in self.seen() if request["path"] == path]

    def seen(self) -> list[Mapping[str, Any]]:
        """All requests, like that."""
        return [{**asdict(one), "body": one.text} for one in self.requests]


@contextlib.asynccontextmanager
async def served(documents: Documents, listen: Listen) -> AsyncIterator[Origin]:
    """An origin with these documents, as long as inside."""
    origin = Origin(documents)
    async with listen(origin) as url:
        origin.url = url
        yield origin


def on_network(network: Network) -> Listen:
    """In a world, at the next port that no part of ours has."""
    ports = itertools.count(FIRST_PORT)

    @contextlib.asynccontextmanager
    async def listen(app: AsgiApp) -> AsyncIterator[str]:
        origin = f"{LOOPBACK}:{next(ports)}"
        site = network.serve(origin, app)
        try:
            yield f"http://{origin}"
        finally:
            site.cut()

    return listen


@contextlib.asynccontextmanager
async def on_loopback(app: AsgiApp) -> AsyncIterator[str]:
    """On a free port of this machine, in real time."""
    from lasttick.targets.server import listen_on_loopback, serving  # brings uvicorn, which few laws need

    listener = listen_on_loopback(LOOPBACK, 0)
    async with serving(app, listener):
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
