"""What a remote source may do to us, and who sees its token. Source: contract vaultclaw 17, ruling VC-8, VC-17."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.bundle import content_hash, valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.remote import BODY_MAX, RemoteSources

from ...model.vaultclaw.bundles import HTTP_RECIPES, any_json, bundle
from .catalog.shelf import check_agreement, snapshot

TOKEN = "canary-token-0123456789"
HOME = "http://books.test"
INDEX_URL = f"{HOME}/index.json"
BUNDLE_URL = f"{HOME}/http.recipes.json"
DATA = json.dumps(HTTP_RECIPES).encode()
SOURCE = {"source_id": "s", "index_url": INDEX_URL, "auth_mode": "BEARER_ENV", "auth_env_var": "BOOKS_TOKEN"}
FAILED = "MCP_CATALOG_REMOTE_FETCH_FAILED"

Answer = Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]


def item(**more: Any) -> dict[str, Any]:
    place = {"cookbook_id": "http.recipes", "version": "1.0.0", "title": "HTTP", "download_url": BUNDLE_URL}
    return place | more


def index(*items: Any, **more: Any) -> httpx.Response:
    return httpx.Response(200, json={"type": "accords.cookbook.index.v1", "items": list(items)} | more)


class Web(httpx.AsyncBaseTransport):
    """Answers by URL, and notes each request: its URL and whether the token was there."""

    def __init__(self, **pages: Any) -> None:
        self.pages: dict[str, Any] = {INDEX_URL: index(item()), BUNDLE_URL: DATA}
        self.asked: list[tuple[str, bool]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        seen = TOKEN in request.headers.get("authorization", "")
        assert TOKEN not in str(request.url)
        self.asked.append((str(request.url), seen))
        page = self.pages.get(str(request.url), httpx.Response(404, text="no such page"))
        if callable(page):
            page = page(request)
        if asyncio.iscoroutine(page):
            page = await page
        if isinstance(page, bytes):
            page = httpx.Response(200, content=page)
        assert isinstance(page, httpx.Response)
        return httpx.Response(page.status_code, headers=page.headers, stream=_Stream(page))

    def hosts_with_token(self) -> set[str]:
        return {url.split("/")[2] for url, seen in self.asked if seen}


class _Stream(httpx.AsyncByteStream):
    """The raw bytes of a page, as they cross the wire."""

    def __init__(self, page: httpx.Response) -> None:
        self._page = page

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if isinstance(self._page.stream, httpx.AsyncByteStream) and not isinstance(self._page.stream, httpx.ByteStream):
            async for chunk in self._page.stream:
                yield chunk
        else:
            yield self._page.extensions.get("raw") or self._page.content


class Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks: Callable[[], AsyncIterator[bytes]]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks()


def redirect(to: str, status: int = 302) -> httpx.Response:
    return httpx.Response(status, headers={"location": to})


def played(
    root: Path,
    web: Web,
    work: Callable[[RemoteSources], Awaitable[Any]],
    source: dict[str, Any] = SOURCE,
    environ: dict[str, str] | None = None,
) -> tuple[Any, float, list[str]]:
    """What the work gives, or its ToolFailure; after how long; the tokens that were told."""
    learnt: list[str] = []

    async def main(loop: VirtualLoop) -> tuple[Any, float, list[str]]:
        catalog = Catalog(root, VirtualClock(loop), lock_timeout_ms=1_000)
        await catalog.open()
        await catalog.upsert_source(source)
        known = {"BOOKS_TOKEN": f" {TOKEN} "} if environ is None else environ
        remote = RemoteSources(catalog, lambda socket: web, known, learn=learnt.append)
        try:
            given: Any = await work(remote)
        except ToolFailure as failure:
            given = failure
        return given, loop.time(), learnt

    return run_virtual(main)


def install(root: Path, web: Web, *arguments: str, **more: Any) -> Any:
    return played(root, web, lambda remote: remote.install("s", "http.recipes", *arguments), **more)[0]


def listed(root: Path, web: Web, query: str = "", **more: Any) -> Any:
    return played(root, web, lambda remote: remote.list("s", query), **more)[0]


def failed(given: Any) -> tuple[str, bool, list[str]]:
    assert isinstance(given, ToolFailure), given
    assert TOKEN not in json.dumps(given.as_json())
    return given.code, given.retryable, sorted(given.details)


def test_list(tmp_path: Path) -> None:
    web = Web()
    data = listed(tmp_path, web)
    assert data == {
        "source_id": "s",
        "index": {
            "type": "accords.cookbook.index.v1",
            "source_id": "s",
            "generated_at_unix_ms": 0,
            "items": [item()],
        },
        "items": [item()],
    }
    assert listed(tmp_path, web, "nothing")["items"] == []
    assert web.asked == [(INDEX_URL, True)] * 2


def test_install(tmp_path: Path) -> None:
    sha256 = hashlib.sha256(DATA).hexdigest()
    for served, expected in (({}, ""), ({"sha256": sha256.upper()}, ""), ({"sha256": "wrong"}, sha256.upper())):
        web = Web()
        web.pages[INDEX_URL] = index(item(version="0.9", download_url=f"{HOME}/none"), item(**served))
        given, _, learnt = played(
            tmp_path, web, lambda remote, expected=expected: remote.install("s", "http.recipes", "", "", expected)
        )
        assert given == {
            "install": {
                "source_id": "s",
                "selected": item(**served),
                "content_hash": content_hash(valid_bundle(HTTP_RECIPES)),
                "cookbook": given["install"]["cookbook"],
            },
            "conflict_policy": "FAIL",
        }
        assert web.asked == [(INDEX_URL, True), (BUNDLE_URL, True)]
        assert set(learnt) == {TOKEN}
    assert list(check_agreement(tmp_path)) == [("http.recipes", "1.0.0")]


def test_with_skip_the_answer_shows_both_hashes(tmp_path: Path) -> None:
    web = Web()
    assert not isinstance(install(tmp_path, web), ToolFailure)
    web.pages[BUNDLE_URL] = json.dumps(HTTP_RECIPES | {"title": "Newer"}).encode()
    assert failed(install(tmp_path, web))[0] == "MCP_CATALOG_CONFLICT"
    data = install(tmp_path, web, "1.0.0", "skip_if_exists")
    assert data["conflict_policy"] == "SKIP_IF_EXISTS"
    assert data["install"]["cookbook"]["title"] == "HTTP"
    assert data["install"]["content_hash"] != data["install"]["cookbook"]["content_hash"]


@pytest.mark.parametrize("name", ["expected", "served"])
def test_a_wrong_sum_leaves_the_catalog_as_it_is(tmp_path: Path, name: str) -> None:
    web = Web()
    if name == "served":
        web.pages[INDEX_URL] = index(item(sha256="00"))
    install(tmp_path, Web(), "", "OVERWRITE")
    web.pages[BUNDLE_URL] = json.dumps(HTTP_RECIPES | {"title": "Evil"}).encode()
    before = snapshot(tmp_path)
    failure = install(tmp_path, web, "", "OVERWRITE", "00" if name == "expected" else "")
    assert failed(failure)[0] == "MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH"
    assert failure.details == {
        "expected_sha256": "00",
        "actual_sha256": hashlib.sha256(web.pages[BUNDLE_URL]).hexdigest(),
        "source_id": "s",
        "cookbook_id": "http.recipes",
        "version": "1.0.0",
    }
    assert snapshot(tmp_path) == before


def test_what_is_refused_before_any_request(tmp_path: Path) -> None:
    web = Web()
    disabled = install(tmp_path, web, source=SOURCE | {"enabled": False})
    assert (failed(disabled), disabled.details) == ((FAILED, False, ["source_id"]), {"source_id": "s"})
    for token in ("", " \n", "a\r\nX-Evil: 1", "é", "a\0b"):
        blank = install(tmp_path, web, environ={"BOOKS_TOKEN": token})
        assert failed(blank) == (FAILED, False, ["auth_env_var", "source_id"])
    assert failed(install(tmp_path, web, environ={}))[0] == FAILED
    unknown, _, _ = played(tmp_path, web, lambda remote: remote.list("t"))
    assert (unknown.code, unknown.details) == ("MCP_CATALOG_SOURCE_NOT_FOUND", {"source_id": "t"})
    assert web.asked == []


def test_what_is_not_served(tmp_path: Path) -> None:
    missing = install(tmp_path, Web(), "9")
    assert (missing.code, missing.details) == (
        "MCP_CATALOG_NOT_FOUND",
        {"cookbook_id": "http.recipes", "version": "9"},
    )


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (304, False), (429, False), (500, True), (503, True)])
def test_statuses(tmp_path: Path, status: int, retryable: bool) -> None:
    web = Web()
    web.pages[BUNDLE_URL] = httpx.Response(status, text="sorry " * 2_000)
    failure = install(tmp_path, web)
    assert failed(failure) == (FAILED, retryable, ["body", "http_status", "url"])
    assert (failure.details["http_status"], failure.details["url"]) == (status, BUNDLE_URL)
    assert failure.details["body"] == ("sorry " * 2_000)[:4_000]


def raises(error: Exception) -> Answer:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


async def forever() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(1)


async def cut() -> AsyncIterator[bytes]:
    yield b"{"
    raise httpx.RemoteProtocolError("peer closed connection")


async def hang(request: httpx.Request) -> httpx.Response:
    await asyncio.sleep(1_000)
    raise AssertionError


@pytest.mark.parametrize("url", [INDEX_URL, BUNDLE_URL])
@pytest.mark.parametrize(
    ("page", "after_s"),
    [
        (raises(httpx.ConnectError("refused")), 0.0),
        (raises(httpx.ReadError("reset")), 0.0),
        (raises(httpx.UnsupportedProtocol("odd")), 0.0),
        (raises(UnicodeError("label too long")), 0.0),
        (hang, 20.0),
        (lambda request: httpx.Response(200, stream=Chunks(forever)), 20.0),
        (lambda request: httpx.Response(200, stream=Chunks(cut)), 0.0),
    ],
)
def test_no_whole_answer(tmp_path: Path, url: str, page: Answer, after_s: float) -> None:
    web = Web()
    web.pages[url] = page
    given, now_s, _ = played(tmp_path, web, lambda remote: remote.install("s", "http.recipes"))
    assert failed(given) == (FAILED, True, ["cause", "url"])
    assert given.details["url"] == url
    assert now_s == pytest.approx(after_s)


def test_too_much(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        sent = 0
        while True:
            sent += 1
            assert sent <= 18, "it goes on reading past the bound"
            yield bytes(1 << 20)

    bomb = httpx.Response(
        200, headers={"content-encoding": "gzip"}, extensions={"raw": gzip.compress(bytes(BODY_MAX + 1))}
    )
    for page in (lambda request: httpx.Response(200, stream=Chunks(endless)), bomb):
        for url in (INDEX_URL, BUNDLE_URL):
            web = Web()
            web.pages[url] = page
            failure = install(tmp_path, web)
            assert failed(failure) == (FAILED, False, ["cause", "url"])
            assert str(BODY_MAX) in failure.details["cause"]


def test_a_packed_bundle_is_unpacked_and_summed(tmp_path: Path) -> None:
    web = Web()
    web.pages[BUNDLE_URL] = httpx.Response(
        200, headers={"content-encoding": "gzip"}, extensions={"raw": gzip.compress(DATA)}
    )
    data = install(tmp_path, web, "", "", hashlib.sha256(DATA).hexdigest())
    assert data["install"]["cookbook"]["cookbook_id"] == "http.recipes"


@pytest.mark.parametrize(
    ("page", "details"),
    [
        (b"<html>Sign in</html>", ["cause"]),
        (b"", ["cause"]),
        (b"[" * 100_000, ["cause"]),
        (b"[]", ["cause"]),
        (b"{}", []),
        (index(item(download_url="file:///etc/passwd")), ["cookbook_id", "version"]),
        (index({}), ["cookbook_id", "version"]),
    ],
)
def test_what_is_no_index(tmp_path: Path, page: Any, details: list[str]) -> None:
    web = Web()
    web.pages[INDEX_URL] = page
    assert failed(listed(tmp_path, web)) == (FAILED, False, details)


@pytest.mark.parametrize(
    ("data", "details"),
    [
        (b"<html>", ["cause"]),
        (b"[]", ["cause"]),
        (b"null", []),
        (json.dumps(bundle("http.recipes", "1.0.0") | {"entries": []}).encode(), []),
        (json.dumps(HTTP_RECIPES | {"cookbook_id": "../../etc/x"}).encode(), []),
        (
            json.dumps(HTTP_RECIPES | {"version": "2"}).encode(),
            ["bundle_cookbook_id", "bundle_version", "index_cookbook_id", "index_version"],
        ),
    ],
)
def test_a_download_that_is_no_such_bundle(tmp_path: Path, data: bytes, details: list[str]) -> None:
    web = Web()
    web.pages[BUNDLE_URL] = data
    before = None
    for _ in range(2):
        assert failed(install(tmp_path, web)) == ("MCP_CATALOG_SCHEMA_INVALID", False, details)
        assert before in (None, snapshot(tmp_path))
        before = snapshot(tmp_path)
    assert check_agreement(tmp_path) == {}


def test_ids_of_the_index_that_lead_astray(tmp_path: Path) -> None:
    web = Web()
    evil = item(cookbook_id="../x")
    web.pages[INDEX_URL] = index(evil)
    web.pages[BUNDLE_URL] = json.dumps(HTTP_RECIPES | {"cookbook_id": "../x"}).encode()
    given, _, _ = played(tmp_path / "root", web, lambda remote: remote.install("s", "../x"))
    assert failed(given) == ("MCP_CATALOG_SCHEMA_INVALID", False, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_within_the_origin_keeps_the_token(tmp_path: Path, status: int) -> None:
    web = Web()
    web.pages[INDEX_URL] = redirect("/moved", status)
    web.pages[f"{HOME}/moved"] = redirect("http://BOOKS.test:80/again", status)
    web.pages[f"{HOME}/again"] = index(item())
    assert listed(tmp_path, web)["items"] == [item()]
    assert web.asked == [(INDEX_URL, True), (f"{HOME}/moved", True), (f"{HOME}/again", True)]


@pytest.mark.parametrize(
    "away",
    ["http://evil.test/x", "https://books.test/x", "http://books.test:81/x", "//evil.test/x", "http://books.test@evil.test/x"],
)  # fmt: skip
def test_a_redirect_to_another_origin_goes_on_without_it_for_good(tmp_path: Path, away: str) -> None:
    web = Web()
    target = str(httpx.URL(INDEX_URL).join(away))
    web.pages[INDEX_URL] = redirect(away)
    web.pages[target] = redirect(f"{HOME}/back")
    web.pages[f"{HOME}/back"] = index(item())
    assert listed(tmp_path, web)["items"] == [item()]
    assert web.asked == [(INDEX_URL, True), (target, False), (f"{HOME}/back", False)]


def test_a_download_elsewhere_goes_without_it(tmp_path: Path) -> None:
    web = Web()
    elsewhere = "http://cdn.test/b.json"
    web.pages[INDEX_URL] = index(item(download_url=elsewhere))
    web.pages[elsewhere] = redirect(BUNDLE_URL)
    assert install(tmp_path, web)["install"]
    assert web.asked == [(INDEX_URL, True), (elsewhere, False), (BUNDLE_URL, False)]


def test_credentials_of_a_url_are_not_sent(tmp_path: Path) -> None:
    web = Web()
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return index(item())

    with_user = "http://user:word@books.test/index.json"
    web.pages[with_user] = answer
    listed(tmp_path, web, source=SOURCE | {"index_url": with_user})
    assert seen == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    "to", ["ftp://books.test/x", "file:///etc/passwd", "data:,x", "gopher:x", "http://books.test:x/"]
)
def test_a_redirect_to_what_is_not_fetched(tmp_path: Path, to: str) -> None:
    web = Web()
    web.pages[INDEX_URL] = redirect(to)
    failure = listed(tmp_path, web)
    assert failed(failure) == (FAILED, False, ["cause", "url"])
    assert failure.details["url"] == INDEX_URL
    assert web.asked == [(INDEX_URL, True)]


def test_a_cookie_on_the_way_is_not_carried_on(tmp_path: Path) -> None:
    web = Web()
    sent: list[bool] = []

    def noted(request: httpx.Request) -> httpx.Response:
        sent.append("cookie" in request.headers)
        return index(item())

    web.pages[INDEX_URL] = httpx.Response(302, headers={"location": "/moved", "set-cookie": "who=me"})
    web.pages[f"{HOME}/moved"] = noted
    assert listed(tmp_path, web)["items"] == [item()]
    assert sent == [False]


@pytest.mark.parametrize("hops", [10, 11, None])
def test_ten_redirects_and_no_more(tmp_path: Path, hops: int | None) -> None:
    web = Web()
    web.pages[INDEX_URL] = redirect(f"{HOME}/1")
    for n in range(1, hops or 50):
        web.pages[f"{HOME}/{n}"] = redirect(f"{HOME}/{n + 1}" if hops else INDEX_URL)
    web.pages[f"{HOME}/{hops}"] = index(item())
    data = listed(tmp_path, web)
    if hops == 10:
        assert data["items"] == [item()]
    else:
        assert failed(data) == (FAILED, False, ["cause", "url"])
    assert len(web.asked) == 11


HOSTS = ["books.test", "evil.test", "books.test:81", "BOOKS.test", "books.test.", "books.test:80"]
hop = st.tuples(st.sampled_from(["http", "https"]), st.sampled_from(HOSTS), st.sampled_from([301, 302, 303, 307, 308]))


@settings(max_examples=30, deadline=None)
@given(index_hops=st.lists(hop, max_size=12), bundle_hops=st.lists(hop, max_size=12))
def test_for_any_chain_only_the_indexs_origin_sees_the_token(
    tmp_path_factory: pytest.TempPathFactory, index_hops: list[Any], bundle_hops: list[Any]
) -> None:
    web = Web()
    for start, hops, last in ((INDEX_URL, index_hops, index(item())), (BUNDLE_URL, bundle_hops, DATA)):
        at = start
        for n, (scheme, host, status) in enumerate(hops):
            to = str(httpx.URL(f"{scheme}://{host}/{start[-9:]}/{n}"))
            web.pages[at] = redirect(to, status)
            at = to
        web.pages[at] = last
    install(tmp_path_factory.mktemp("root"), web)
    assert web.hosts_with_token() == {"books.test"}
    assert all(url.startswith(f"{HOME}/") for url, seen in web.asked if seen)


@settings(max_examples=20, deadline=None)
@given(any_json, any_json)
def test_any_json_served_is_an_error_or_nothing(tmp_path_factory: pytest.TempPathFactory, one: Any, two: Any) -> None:
    root = tmp_path_factory.mktemp("root")
    web = Web()
    web.pages[INDEX_URL] = json.dumps(one).encode()
    assert failed(listed(root, web))[:2] == (FAILED, False)
    web.pages[INDEX_URL] = index(item(), one if isinstance(one, dict) else None)
    assert failed(listed(root, web))[:2] == (FAILED, False)
    web.pages[INDEX_URL] = index(item())
    web.pages[BUNDLE_URL] = json.dumps(two).encode()
    assert failed(install(root, web))[0] == "MCP_CATALOG_SCHEMA_INVALID"
    assert check_agreement(root) == {}


def test_a_host_that_no_resolver_takes(tmp_path: Path) -> None:
    """Through the library's own transport: its errors are of many kinds."""
    url = f"http://{'a' * 70}.invalid/index.json"

    async def main() -> Any:
        from lasttick.engine.clock import SystemClock

        catalog = Catalog(tmp_path, SystemClock(), lock_timeout_ms=1_000)
        await catalog.upsert_source({"source_id": "s", "index_url": url})
        with pytest.raises(ToolFailure) as info:
            await RemoteSources(catalog, None, {}).list("s")
        return info.value

    failure = asyncio.run(main())
    assert failed(failure) == (FAILED, True, ["cause", "url"])
