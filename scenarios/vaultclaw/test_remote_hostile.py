"""Hostile and sick remote sources: whom they lead us to, what they make us read, and what they cannot make us do.

Source: contract vaultclaw 17 "Fetching"; ruling 8; VC-17.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick_fakes.catalogs import bundle

from .steps_catalog import OLD, snapshot, stored
from .steps_remote import (
    BODY_MIB_MAX,
    FAILED,
    REDIRECTS_MAX,
    VARIABLE,
    add_source,
    chain,
    install,
    publish,
    remote_list,
    shown_token,
)

FETCH_S = 20.0
ORIGINS = 3
INDEX = "/index.json"
DOWNLOAD = "/bundles/1.json"


@scenario("VC-17")
@given(hops=st.lists(st.integers(0, ORIGINS - 1), max_size=REDIRECTS_MAX), download=st.booleans())
@example(hops=[], download=True)
@example(hops=[1, 0], download=False)
@example(hops=[0, 0, 2, 0, 1, 1, 0], download=True)
@example(hops=[0] * REDIRECTS_MAX, download=False)
@settings(max_examples=5)
async def test_only_the_indexs_origin_sees_the_token(world: World, hops: list[int], download: bool) -> None:
    """Any chain of at most ten redirects over three origins, of the index or of the download, is followed to its end.
    Its requests carry the token as long as it never left the index's origin, and not again once it is back."""
    catalogs = [await world.catalog() for _ in range(ORIGINS)]
    token = catalogs[0].secret("[token of the catalog]")
    client = (await world.vaultclaw(environ={VARIABLE: token})).client("acme")
    await add_source(client, catalogs[0], token=True)
    for number, catalog in enumerate(catalogs):
        await publish(catalog, bundle("a", "1", title=f"of {number}"), sha256=None)
    route = [0, *hops]
    await chain([catalogs[number] for number in route], DOWNLOAD if download else INDEX)
    if download:
        title = (await install(client)).data["install"]["cookbook"]["title"]
    else:
        title = (await remote_list(client)).data["items"][0]["title"]
    assert title == f"of {route[-1]}"
    expected: list[list[bool]] = [[True] if download else [], [], []]
    carried = True
    for number in route:
        carried = carried and number == 0
        expected[number].append(carried)
    assert [await shown_token(catalog, token) for catalog in catalogs] == expected


@scenario("VC-17")
async def test_a_download_elsewhere_goes_without_the_token(world: World) -> None:
    """The index, which may be anybody's who can write to it, lists a download at another origin: it is installed, and
    that origin sees no token. Credentials in a URL are none of ours either; another name of the same host is another
    origin."""
    own, other = await world.catalog(), await world.catalog()
    token = own.secret("[token of the catalog]")
    client = (await world.vaultclaw(environ={VARIABLE: token})).client("acme")
    await add_source(client, own, token=True)
    await publish(other, OLD)
    there = other.url + DOWNLOAD
    await publish(own, OLD, download_url=there, sha256=None)
    assert (await install(client)).ok
    with_user = there.replace("http://", "http://user:word@")
    await publish(own, bundle("b", "1"), download_url=with_user, sha256=None, cookbook_id="a", version="1.1")
    await install(client, version="1.1")
    assert await shown_token(other, token) == [False, False]
    named = own.url.replace("127.0.0.1", "localhost")
    seen = len(await own.log())
    await own.trouble("redirect", path=INDEX, to=f"{named}/elsewhere", count=1)
    await remote_list(client)
    assert (await shown_token(own, token, after=seen))[1:] in ([], [False])


@scenario("VC-17")
async def test_a_chain_without_an_end_is_left(world: World) -> None:
    """After ten redirects, whether they turn in a circle, over two origins, or grow for ever: an error that says so,
    not to be retried, and nobody is asked an eleventh time more. Ten are followed."""
    first, second = await world.catalog(), await world.catalog()
    client = (await world.vaultclaw()).client("acme")
    await add_source(client, first)
    await publish(first, OLD)
    for kind in ("circle", "two origins", "growing"):
        seen = len(await first.log()), len(await second.log())
        if kind == "growing":
            await first.trouble("endless", path=INDEX)
        else:
            await first.trouble("redirect", path=INDEX, to=(second if kind == "two origins" else first).url + INDEX)
            await second.trouble("redirect", path=INDEX, to=first.url + INDEX)
        answer = await remote_list(client)
        assert (answer.code, answer.category, answer.error["retryable"]) == (FAILED, "network", False), kind
        assert {"cause", "url"} == set(answer.details)
        asked = len(await first.log()) + len(await second.log()) - sum(seen)
        assert asked == REDIRECTS_MAX + 1, kind
        await first.heal()
        await second.heal()
    for count, ok in ((REDIRECTS_MAX, True), (REDIRECTS_MAX + 1, False)):
        await first.heal()
        await chain([first, *([second] * (count - 1)), first], INDEX)
        assert (await remote_list(client)).ok is ok, count


ELSEWHERE = (
    "file:///etc/passwd",
    "ftp://127.0.0.1/x",
    "unix:///tmp/x",
    "javascript:1",
    "data:,x",
    "http://",
    "http://127.0.0.1:x/",
)


@scenario("VC-17")
@pytest.mark.parametrize("at", [INDEX, DOWNLOAD])
async def test_a_redirect_to_another_scheme_leads_nowhere(world: World, at: str) -> None:
    """Files, other protocols and broken URLs are no place to go: a clear error, nothing is fetched or installed; as a
    download of the index they are refused as well."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    await publish(catalog, OLD, sha256=None)
    before = snapshot(server.catalog_dir)
    for url in ELSEWHERE:
        await catalog.trouble("redirect", path=at, to=url)
        answer = await install(client)
        assert (answer.code, answer.error["retryable"]) == (FAILED, False), url
        assert "root:" not in str(answer.envelope)
        await catalog.heal()
        await catalog.control("PUT", "/control/index", {"items": [{**ITEM, "download_url": url}]})
        listed = await remote_list(client)
        assert (listed.code, listed.error["retryable"]) == (FAILED, False), url
        assert listed.details == {"cookbook_id": "x", "version": "1"}
        await catalog.control("PUT", "/control/index", {})
    assert snapshot(server.catalog_dir) == before


ITEM = {"cookbook_id": "x", "version": "1", "title": "X", "download_url": "http://127.0.0.1:9/x.json"}
URL_AND_CAUSE = {"cause", "url"}
SICK: dict[str, tuple[dict[str, Any], bool, set[str] | None]] = {
    # trouble, retryable, details
    "a page of HTML": ({"kind": "garbage", "shape": "html"}, False, {"cause"}),
    "bytes": ({"kind": "garbage", "shape": "bytes"}, False, {"cause"}),
    "nothing": ({"kind": "garbage", "shape": "empty"}, False, {"cause"}),
    "half a JSON": ({"kind": "garbage", "shape": "half"}, False, {"cause"}),
    "no number": ({"kind": "garbage", "shape": "nan"}, False, {"cause"}),
    "too deep": ({"kind": "garbage", "shape": "deep"}, False, {"cause"}),
    "a number": ({"kind": "garbage", "shape": "number"}, False, None),
    "a list": ({"kind": "garbage", "shape": "list"}, False, None),
    "null": ({"kind": "garbage", "shape": "null"}, False, None),
    "the first half": ({"kind": "cut"}, False, {"cause"}),
    "a broken connection": ({"kind": "down"}, True, URL_AND_CAUSE),
    "a connection that breaks half way": ({"kind": "half"}, True, URL_AND_CAUSE),
    "404": ({"kind": "status", "status": 404}, False, {"url", "http_status", "body"}),
    "429": ({"kind": "status", "status": 429}, False, {"url", "http_status", "body"}),
    "500": ({"kind": "status", "status": 500}, True, {"url", "http_status", "body"}),
    "503": ({"kind": "status", "status": 503}, True, {"url", "http_status", "body"}),
}


@scenario("VC-17")
async def test_a_sick_source_is_a_clear_error_and_changes_nothing(world: World) -> None:
    """HTML instead of JSON, half an answer, an error page, no connection: each is told as what it is, for the index and
    for the download, with whether it is worth a retry. The catalog stays byte-identical, and the source serves again
    when it is well."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    await stored(client, OLD)
    await publish(catalog, bundle("a", "1", title="another"), sha256=None)
    before = snapshot(server.catalog_dir)
    for what, (trouble, retryable, details) in SICK.items():
        for at in (INDEX, DOWNLOAD):
            await catalog.trouble(**trouble, path=at)
            answer = await install(client, conflict_policy="OVERWRITE")
            await catalog.heal()
            content = at == DOWNLOAD and trouble["kind"] in ("garbage", "cut")
            assert answer.code == ("MCP_CATALOG_SCHEMA_INVALID" if content else FAILED), (what, at)
            assert answer.error["retryable"] is retryable, (what, at)
            if details is not None:
                assert set(answer.details) == details, (what, at)
            if "status" in trouble:
                assert answer.details["http_status"] == trouble["status"]
                assert "Something went wrong" in answer.details["body"]
    assert snapshot(server.catalog_dir) == before
    for wrong in ({"cookbook_id": ""}, {"version": " "}, {"download_url": None}, {"download_url": "/bundles/1"}):
        await catalog.control("PUT", "/control/index", {"items": [{**ITEM, **wrong}]})
        assert (await remote_list(client)).code == FAILED, wrong
    await catalog.control("PUT", "/control/index", {"type": "accords.cookbook.index.v2"})
    answer = await remote_list(client)
    assert (answer.code, answer.error["retryable"], answer.details) == (FAILED, False, {})
    await catalog.control("PUT", "/control/index", {})
    await add_source(client, catalog, index_url="http://127.0.0.1:9/index.json")
    nobody = await remote_list(client)
    assert (nobody.code, nobody.error["retryable"], set(nobody.details)) == (FAILED, True, URL_AND_CAUSE)
    await add_source(client, catalog)
    assert (await install(client, conflict_policy="OVERWRITE")).ok


@scenario("VC-17")
@pytest.mark.parametrize("kind", ["bomb", "huge"])
async def test_a_body_without_an_end_is_left_at_its_bound(world: World, kind: str) -> None:
    """16 MiB after decompression, whether a gzip bomb or the bytes themselves: one more is an error, not to be retried,
    for the index and for the download; a body below is read, and refused for what it says."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    await publish(catalog, OLD, sha256=None)
    before = snapshot(server.catalog_dir)
    await catalog.trouble(kind, path=INDEX, mib=BODY_MIB_MAX - 1, count=1)
    below = await remote_list(client)
    assert (below.code, below.details) == (FAILED, {}), "its type is wrong"
    for at in (INDEX, DOWNLOAD):
        for mib in (BODY_MIB_MAX, 256 if kind == "bomb" else 64):
            await catalog.trouble(kind, path=at, mib=mib)
            answer = await install(client)
            assert (answer.code, answer.error["retryable"]) == (FAILED, False), (at, mib)
            assert set(answer.details) == URL_AND_CAUSE
            await catalog.heal()
    assert snapshot(server.catalog_dir) == before
    assert (await install(client)).ok


SLOW: dict[str, dict[str, Any]] = {
    "late": {"kind": "slow", "s": FETCH_S + 1},
    "in pieces": {"kind": "trickle", "s": 3},
    "never": {"kind": "hang"},
}


@scenario("VC-17", needs=("scale",))
async def test_a_slow_source_is_waited_for_20_s_in_all(world: World) -> None:
    """Late, in pieces none of which is late, never, or over redirects each of which is in time: after 20 s it is an
    error worth a retry, and the catalog serves others meanwhile. One tick before that is in time."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client, other = server.client("acme"), server.client("other")
    await add_source(client, catalog)
    await publish(catalog, OLD)
    before = snapshot(server.catalog_dir)
    for what, trouble in SLOW.items():
        for at, waits_s in ((INDEX, FETCH_S), (DOWNLOAD, FETCH_S)):
            await catalog.trouble(**trouble, path=at)
            began_s = world.now_s
            task = world.start(install(client))
            await world.advance(1)
            asked_s = world.now_s
            assert (await other.call("cookbooks_list")).ok
            assert world.now_s == asked_s, "nobody holds the lock while it waits for a source"
            answer = await task
            assert (answer.code, answer.error["retryable"]) == (FAILED, True), (what, at)
            assert set(answer.details) == URL_AND_CAUSE
            assert abs(world.now_s - began_s - waits_s) < world.tick_s, (what, at)
            await catalog.heal()
    for number in range(3):
        await catalog.trouble("slow", path=f"/hop-{number}", s=8, count=1)
        await catalog.trouble("redirect", path=f"/hop-{number}", to=f"{catalog.url}/hop-{number + 1}")
    await catalog.trouble("redirect", path=INDEX, to=f"{catalog.url}/hop-0")
    assert snapshot(server.catalog_dir) == before
    await catalog.heal()
    await catalog.trouble("slow", path=INDEX, s=FETCH_S - world.tick_s)
    assert (await install(client)).ok
