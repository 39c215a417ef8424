"""The law of credentials for elsewhere: green on who keeps them, red on each way to carry one abroad, and nothing where
nothing was shown.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lasttick.engine.loop import VirtualLoop
from lasttick.engine.network import Network
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.load import loads
from lasttick.laws.profiles.problems import ProfileError
from lasttick.laws.servers.origin import on_network
from lasttick.targets.transports import memory_transport

from .playing import Ruled, all_laws, play

LAW = all_laws()["tools/credential-stays-home"]
ORIGIN, TOKEN, HOPS_MAX = "127.0.0.1:9004", "key-for-the-first-origin", 5
PROFILE = """
version = 1
[target]
url = "http://127.0.0.1:9004"
[callers.alice]
[source]
credential = "${TOKEN}"
index = { items = ["{url}"] }
lag_s = 0.2
add = { http = "PUT /sources/{source}", json = { url = "{url}" } }
read = { http = "POST /sources/{source}/read" }
follow = { http = "POST /sources/{source}/follow" }
remove = { http = "DELETE /sources/{source}" }
"""
FOLLOW = 'follow = { http = "POST /sources/{source}/follow" }\n'


class Fetcher:
    """A service that fetches from places it is told of, with a token for each. `wrong`: the one thing it gets wrong."""

    def __init__(self, network: Network, wrong: str = "") -> None:
        self.wrong = wrong
        self.sources: dict[str, str] = {}
        self._http = httpx.AsyncClient(transport=memory_transport(network))
        self.app = Starlette(
            routes=[
                Route("/sources/{name}", self._source, methods=["PUT", "DELETE"]),
                Route("/sources/{name}/{what}", self._fetch, methods=["POST"]),
            ]
        )

    async def _source(self, request: Request) -> Response:
        name = request.path_params["name"]
        if request.method == "DELETE":
            del self.sources[name]
        else:
            self.sources[name] = (await request.json())["url"]
        return Response()

    async def _fetch(self, request: Request) -> Response:
        home = self.sources[request.path_params["name"]]
        if self.wrong == "fetches nothing":
            return JSONResponse({})
        index = await self._get(home, home, carries=self.wrong == "carries by a redirect")
        if request.path_params["what"] == "follow":
            await self._get(index.json()["items"][0], home, carries=self.wrong == "carries by an index")
        return JSONResponse({})

    async def _get(self, url: str, home: str, *, carries: bool) -> httpx.Response:
        for _ in range(HOPS_MAX):
            at_home = urlsplit(url).netloc == urlsplit(home).netloc
            answer = await self._http.get(url, **self._shown(at_home, carries))
            if not answer.is_redirect or self.wrong == "follows no redirect":
                return answer
            url = urljoin(url, answer.headers["location"])
        raise AssertionError("too many redirects")

    def _shown(self, at_home: bool, carries: bool) -> dict[str, Any]:
        if self.wrong == "shows it nowhere":
            return {}
        if self.wrong == "carries in another writing" and not at_home:
            return {"params": {"from": base64.b64encode(f"me:{TOKEN}".encode()).decode()}}
        return {"headers": {"authorization": f"Bearer {TOKEN}"}} if at_home or carries else {}


def on_fetcher(wrong: str = "", edit: Callable[[str], str] = lambda text: text) -> Ruled:
    services = []

    async def deploy(loop: VirtualLoop) -> Deployment:
        network = Network()
        services.append(Fetcher(network, wrong))
        network.serve(ORIGIN, services[0].app)
        loaded = loads(edit(PROFILE), "fetcher.toml", {"TOKEN": TOKEN})
        transport = memory_transport(network)
        listen = on_network(network)
        return Deployment(loaded.profile, run="t", secrets=loaded.secrets, transport=transport, listen=listen)

    ruled = play(LAW, deploy)
    assert not services[0].sources, "what it was told of is taken away"
    return ruled


def test_who_keeps_it_passes() -> None:
    assert on_fetcher() == Ruled("pass", "", ("the address in an index", "a redirect"))


def test_who_goes_nowhere_shows_it_too() -> None:
    found = on_fetcher("follows no redirect")
    assert found.word == "pass", found
    assert found.cases == ("the address in an index", "a redirect is not followed")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("carries by a redirect", "a redirect carried the credential to another origin, plain, at /headers"),
        ("carries by an index", "the address in an index carried the credential to another origin, plain, at /headers"),
        ("carries in another writing", "carried the credential to another origin, base64, at /query"),
    ],
)
def test_who_carries_it_abroad_is_red(wrong: str, reason: str) -> None:
    found = on_fetcher(wrong)
    assert found.word == "fail", found
    assert reason in found.reason
    assert TOKEN not in found.reason


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("fetches nothing", "the target did not fetch what it was pointed at"),
        ("shows it nowhere", "the origin that the credential is for was not shown it"),
    ],
)
def test_nothing_is_shown_by_who_does_not_use_it(wrong: str, reason: str) -> None:
    found = on_fetcher(wrong)
    assert found.word == "inconclusive", found
    assert reason in found.reason


def test_without_a_way_to_follow_an_index_that_is_said() -> None:
    found = on_fetcher(edit=lambda text: text.replace(FOLLOW, "").replace('index = { items = ["{url}"] }\n', ""))
    assert found == Ruled("pass", "", ("an index is left out (source.follow is not bound)", "a redirect"))


def test_a_target_elsewhere_cannot_reach_what_a_law_serves() -> None:
    elsewhere = 'url = "http://lab:4700"\nallow_hosts = ["lab"]'
    found = on_fetcher(edit=lambda text: text.replace('url = "http://127.0.0.1:9004"', elsewhere))
    assert found.word == "not_applicable", found
    assert "needs a target on this machine" in found.reason


@pytest.mark.parametrize("line", ['credential = "${TOKEN}"\n', 'index = { items = ["{url}"] }\n'])
def test_a_profile_without_what_it_needs_is_told(line: str) -> None:
    with pytest.raises(ProfileError, match=rf"{line.partition(' ')[0]} is missing"):
        loads(PROFILE.replace(line, ""), "fetcher.toml", {"TOKEN": TOKEN})
