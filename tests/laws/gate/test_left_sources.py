"""Places to fetch from that a run has told a target of: it is made to forget them, or they are named."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.journal import Entry
from lasttick.laws.gate.leftovers import Left, end_leftovers
from lasttick.laws.profiles.load import loads

URL, NAME = "http://127.0.0.1:7", "lt-old-alice-1"
PROFILE = """
version = 1
[target]
url = "http://127.0.0.1:7"
[callers.alice]
[session]
open = { http = "POST /session", out = { session = "/body/session" } }
[source]
credential = "key-for-elsewhere"
add = { http = "PUT /sources/{source}", json = { url = "{url}" } }
remove = { http = "DELETE /sources/{source}" }
"""
REMOVE = 'remove = { http = "DELETE /sources/{source}" }'


def end(status: int, profile: str = PROFILE) -> tuple[list[str], list[Left]]:
    """What the target was asked, and what is left of one entry; `status`: its answer to a removal."""
    asked: list[str] = []

    async def answer(request: Request) -> Response:
        asked.append(f"{request.method} {request.url.path}")
        return JSONResponse({"session": "s1"}, status if request.method == "DELETE" else 200)

    async def run() -> list[Left]:
        app = Starlette(routes=[Route("/{path:path}", answer, methods=["POST", "DELETE"])])
        loaded = loads(profile, "f.toml", {})
        deployment = Deployment(loaded.profile, run="t", transport=httpx.ASGITransport(app))
        return await end_leftovers(deployment, [Entry("aaaa", 1, "source", URL, "alice", {"source": NAME}, None)])

    return asked, asyncio.run(run())


@pytest.mark.parametrize("status", [200, 404, 410])
def test_it_is_removed_in_a_session_of_its_own_and_what_is_gone_is_gone(status: int) -> None:
    assert end(status) == (["POST /session", f"DELETE /sources/{NAME}"], [])


@pytest.mark.parametrize("status", [403, 500])
def test_what_is_not_removed_is_named(status: int) -> None:
    _, (left,) = end(status)
    assert str(left).startswith(f"the source of alice (source={NAME}) could not be ended: HTTP {status}")


def test_without_a_verb_that_removes_it_that_is_said() -> None:
    asked, (left,) = end(200, PROFILE.replace(REMOVE, ""))
    assert asked == []
    assert "no verb takes it away" in str(left)
