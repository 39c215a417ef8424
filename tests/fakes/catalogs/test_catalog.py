"""Does a catalog serve what it lists, keep its door, lie as it is told, and log who showed it what?"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.targets.transports import memory_transport
from lasttick_fakes.catalogs import RemoteCatalog, Trouble, bundle, http_recipes, mail_recipes
from lasttick_fakes.catalogs.trouble import MIB, bomb, huge, parse
from lasttick_fakes.http_json import Refused
from lasttick_fakes.thirdparty import SHAPES
from lasttick_fakes.thirdparty.trouble import garbage

Story = Callable[[RemoteCatalog, RemoteCatalog, httpx.AsyncClient], Awaitable[None]]
INDEX = "http://shop/index.json"


def with_catalogs(story: Story, events: list[Any] | None = None) -> None:
    """Two catalogs, `shop` and `elsewhere`, and a client."""

    async def main(loop: VirtualLoop) -> None:
        clock, network = VirtualClock(loop), Network()
        heard = [] if events is None else events
        shop = RemoteCatalog(clock, source_id="shop", on_event=lambda kind, data: heard.append((kind, data)))
        elsewhere = RemoteCatalog(clock)
        network.serve("shop:80", shop)
        network.serve("elsewhere:80", elsewhere)
        async with httpx.AsyncClient(transport=memory_transport(network)) as client:
            await story(shop, elsewhere, client)

    run_virtual(main)


@pytest.mark.parametrize("made", [http_recipes("1.2.0"), mail_recipes(), bundle("a", "1"), None])
def test_what_is_listed_is_what_is_served(made: dict[str, Any] | None) -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        shop.publish(made)
        index = (await client.get(INDEX)).json()
        assert (index["type"], index["source_id"]) == ("accords.cookbook.index.v1", "shop")
        (item,) = index["items"]
        served = await client.get(item["download_url"])
        assert hashlib.sha256(served.content).hexdigest() == item["sha256"]
        assert (served.json()["cookbook_id"], served.json()["version"]) == (item["cookbook_id"], item["version"])
        assert served.json() == made or made is None
        assert served.json()["entries"]
        assert [seen.status for seen in shop.log()] == [200, 200]

    with_catalogs(story)


def test_without_its_token_nothing_is_shown() -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        path = shop.publish()
        shop.token = "s-1"
        for token, status in ((None, 401), ("other", 401), ("s-1", 200)):
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            for url in (INDEX, f"http://shop{path}"):
                assert (await client.get(url, headers=headers)).status_code == status
        assert shop.saw("s-1")
        assert not shop.saw("s-2")
        assert [pair for pair in shop.log()[-1].headers if pair[0] == "host"] == [("host", "shop")]

    with_catalogs(story)


def test_the_index_can_lie_about_every_member() -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        lies = {"sha256": "0" * 64, "cookbook_id": "../../etc", "version": "..", "title": None, "summary": "s"}
        shop.publish(http_recipes(), listed={**lies, "download_url": "http://elsewhere/bundles/1.json"})
        shop.publish(http_recipes(), listed={"download_url": 7})
        shop.publish(raw=b"not json")
        shop.index = {"type": "other", "generated_at_unix_ms": None}
        index = (await client.get(INDEX)).json()
        assert index["type"] == "other"
        assert "generated_at_unix_ms" not in index
        first, second, third = index["items"]
        assert first["download_url"] == "http://elsewhere/bundles/1.json"
        assert {name: first.get(name) for name in lies} == lies
        assert "title" not in first
        assert second["download_url"] == 7
        assert (await client.get(third["download_url"])).content == b"not json"
        shop.index = {"items": "none"}
        assert (await client.get(INDEX)).json()["items"] == "none"

    with_catalogs(story)


def test_a_redirect_chain_goes_over_catalogs_and_each_logs_what_it_saw() -> None:
    async def story(shop: RemoteCatalog, elsewhere: RemoteCatalog, client: httpx.AsyncClient) -> None:
        shop.publish()
        shop.trouble(Trouble("redirect", to="http://elsewhere/a", path="/index.json", count=1))
        elsewhere.trouble(Trouble("redirect", to="http://shop/index.json", path="/a", status=307))
        answer = await client.get(INDEX, headers={"authorization": "Bearer s-1"}, follow_redirects=True)
        assert answer.status_code == 200
        assert [str(one.url) for one in answer.history] == [INDEX, "http://elsewhere/a"]
        assert [seen.status for seen in shop.log()] == [302, 200]
        assert [seen.status for seen in elsewhere.log()] == [307]
        assert not elsewhere.saw("s-1"), "this client drops it; what a careless one does is told by the log"
        await client.get("http://elsewhere/a", headers={"authorization": "Bearer s-1"})
        assert elsewhere.saw("s-1")

    with_catalogs(story)


@pytest.mark.parametrize("to", ["ftp://shop/x", "file:///etc/passwd", "//elsewhere/x", "", "http://[x"])
def test_a_redirect_leads_wherever_it_is_told(to: str) -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        answer = await client.post("http://shop/trouble", json={"kind": "redirect", "to": to})
        if to == "":
            assert answer.status_code == 400
            return
        answer = await client.get(INDEX)
        assert (answer.status_code, answer.headers["location"]) == (302, to)

    with_catalogs(story)


@pytest.mark.parametrize("trouble", [Trouble("endless"), Trouble("redirect", to=INDEX)])
def test_a_loop_never_ends(trouble: Trouble) -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        shop.trouble(trouble)
        with pytest.raises(httpx.TooManyRedirects):
            await client.get(INDEX, follow_redirects=True)
        paths = [seen.path for seen in shop.log()]
        assert len(paths) == 21
        assert len(dict.fromkeys(paths)) == (21 if trouble.kind == "endless" else 1)

    with_catalogs(story)


def test_a_bomb_and_a_huge_body_are_valid_and_large() -> None:
    text = b"".join(huge(3))
    assert len(json.loads(text)["type"]) == 3 * MIB
    packed = b"".join(bomb(3))
    assert gzip.decompress(packed) == text
    assert len(packed) < len(text) / 500

    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        shop.trouble(Trouble("bomb", mib=2, count=1))
        shop.trouble(Trouble("huge", mib=2, count=1))
        for encoding in ("gzip", None):
            answer = await client.get(INDEX)
            assert answer.headers.get("content-encoding") == encoding
            assert "content-length" not in answer.headers
            assert len(answer.json()["type"]) == 2 * MIB

    with_catalogs(story)


def test_slow_trickle_and_hang_take_their_time() -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        loop = asyncio.get_running_loop()
        shop.publish()
        healthy = await client.get(INDEX)
        shop.trouble(Trouble("slow", s=19, count=1))
        shop.trouble(Trouble("trickle", s=4, count=1))
        shop.trouble(Trouble("hang", count=1))
        assert (await client.get(INDEX)).content == healthy.content
        assert loop.time() == 19
        assert (await client.get(INDEX)).content == healthy.content
        assert loop.time() == 19 + 9 * 4
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1000):
                await client.get(INDEX)
        await asyncio.sleep(0)
        assert shop.log()[-1].status in (None, 0)
        assert (await client.get(INDEX)).status_code == 200

    with_catalogs(story)


def test_broken_and_wrong_answers() -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        shop.publish()
        healthy = (await client.get(INDEX)).content
        for kind in ("down", "half"):
            shop.trouble(Trouble(kind, count=1))
            with pytest.raises(httpx.TransportError):
                await client.get(INDEX)
        shop.trouble(Trouble("cut", count=1))
        assert (await client.get(INDEX)).content == healthy[: len(healthy) // 2]
        for status in (204, 404, 500, 503):
            shop.trouble(Trouble("status", status=status, count=1))
            assert (await client.get(INDEX)).status_code == status
        for shape in SHAPES:
            shop.trouble(Trouble("garbage", shape=shape, count=1))
            answer = await client.get(INDEX)
            assert (answer.status_code, answer.content) == (200, garbage(shape))
            assert ("html" in answer.headers.get("content-type", "")) == (shape == "html")
        shop.trouble(Trouble("status", path="/bundles/*"))
        assert (await client.get(INDEX)).content == healthy
        assert (await client.get("http://shop/bundles/1.json")).status_code == 503
        shop.heal()
        assert (await client.get("http://shop/bundles/1.json")).status_code == 200

    with_catalogs(story)


def test_what_is_not_there_is_not_found_and_nothing_is_changed_by_clients() -> None:
    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        for method, path, status in (("GET", "/bundles/1.json", 404), ("GET", "/", 404), ("PUT", "/index.json", 405)):
            answer = await client.request(method, f"http://shop{path}")
            assert answer.status_code == status
            assert "; expected" in answer.json()["error"]
        assert [seen.status for seen in shop.log()] == [404, 404, 405]

    with_catalogs(story)


def test_all_of_it_over_the_wire_and_reset() -> None:
    events: list[tuple[str, dict[str, Any]]] = []

    async def story(shop: RemoteCatalog, _: RemoteCatalog, client: httpx.AsyncClient) -> None:
        async def send(method: str, path: str, body: Any = None) -> httpx.Response:
            return await client.request(method, f"http://shop{path}", json=body)

        given = {"bundle": http_recipes(), "listed": {"sha256": None}}
        item = (await send("POST", "/control/publish", given)).json()["item"]
        assert (item["cookbook_id"], "sha256" in item) == ("fetch.recipes", False)
        assert (await send("POST", "/control/publish", {"raw": "x"})).status_code == 200
        assert (await send("PUT", "/control/index", {"source_id": "other"})).status_code == 200
        assert (await send("PUT", "/control/token", {"token": "s-1"})).status_code == 200
        answer = await client.get(INDEX, headers={"authorization": "Bearer s-1"})
        assert (answer.json()["source_id"], len(answer.json()["items"])) == ("other", 2)
        assert (await send("POST", "/trouble", {"kind": "down"})).status_code == 200
        assert (await send("POST", "/trouble", {"kind": "heal"})).status_code == 200
        for method, path, body in (
            ("POST", "/control/publish", {"bundle": 7}),
            ("POST", "/control/publish", {"raw": 7}),
            ("POST", "/control/publish", {"listed": []}),
            ("POST", "/control/publish", {"odd": 1}),
            ("PUT", "/control/token", {"token": 7}),
            ("PUT", "/control/token", {}),
            ("PUT", "/control/index", []),
            ("POST", "/trouble", {"kind": "nap"}),
        ):
            assert (await send(method, path, body)).status_code == 400, (path, body)
        (seen,) = (await client.get("http://shop/log")).json()["log"]
        assert ["authorization", "Bearer s-1"] in seen["headers"]
        assert [kind for kind, _ in events] == ["catalog.request", "catalog.answer"]
        assert "s-1" not in repr(events)
        assert (await send("POST", "/reset")).status_code == 200
        answer = await client.get(INDEX)
        assert (answer.json()["items"], answer.json()["source_id"]) == ([], "shop")
        assert len((await client.get("http://shop/log")).json()["log"]) == 1

    with_catalogs(story, events)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "nap"},
        {"kind": ["slow"]},
        {"kind": "slow", "s": -1},
        {"kind": "redirect"},
        {"kind": "redirect", "to": 7},
        {"kind": "redirect", "to": "/x", "status": 200},
        {"kind": "status", "status": 99},
        {"kind": "bomb", "mib": 0},
        {"kind": "bomb", "mib": True},
        {"kind": "garbage", "shape": "other"},
        {"kind": "down", "count": 0},
        {"kind": "down", "skip": -1},
        {"kind": "down", "path": 7},
        {"kind": "down", "often": 1},
    ],
)
def test_trouble_that_cannot_be_read_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=r"(expected|known are)"):
        parse(body)
