"""What a source is, what it serves, and who may see its token. Source: contract vaultclaw 17, ruling VC-8."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical
from lasttick.model.vaultclaw.records import WrongType
from lasttick.model.vaultclaw.sources import (
    INDEX_TYPE,
    Origin,
    chosen,
    keeps_token,
    read_sources,
    remote_index,
    remote_listed,
    url_origin,
    valid_source,
)

from .bundles import any_json

URL = "https://books.example/index.json"


def refused(value: Any) -> dict[str, Any]:
    with pytest.raises(ToolFailure) as info:
        valid_source(value)
    assert info.value.code == "MCP_CATALOG_SCHEMA_INVALID"
    return info.value.details


def fetched(value: Any) -> dict[str, Any]:
    return remote_index(canonical(value).encode(), "s")


def failed(data: bytes) -> dict[str, Any]:
    with pytest.raises(ToolFailure) as info:
        remote_index(data, "s")
    assert (info.value.code, info.value.retryable) == ("MCP_CATALOG_REMOTE_FETCH_FAILED", False)
    return info.value.details


def served(*items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "accords.cookbook.index.v1", "items": list(items)} | more


def offered(cookbook_id: str = "a", version: str = "1", **more: Any) -> dict[str, Any]:
    return {"cookbook_id": cookbook_id, "version": version, "title": "A", "download_url": URL} | more


def test_a_source_as_it_is_kept() -> None:
    given = {"source_id": " s ", "index_url": f" {URL} ", "auth_env_var": "T", "extra": 1}
    assert valid_source(given) == {"source_id": "s", "index_url": URL, "enabled": True, "auth_mode": "NONE"}
    bearer = valid_source(given | {"auth_mode": " bearer_env ", "enabled": False})
    assert bearer["enabled"] is False
    assert (bearer["auth_mode"], bearer["auth_env_var"]) == ("BEARER_ENV", "T")
    assert read_sources({"sources": [bearer]}) == [bearer]


def test_sources_that_are_refused() -> None:
    sound = {"source_id": "s", "index_url": URL}
    for bad in (None, {}, sound | {"source_id": " "}, sound | {"auth_mode": "BEARER_ENV"}):
        assert refused(bad) == {}
    for odd in (1, [], "s", sound | {"enabled": "yes"}, sound | {"source_id": 1}):
        assert refused(odd)["cause"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://a/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "//a/x",
        "a",
        "http://",
        "http:///x",
        "http://:80/",
        "http://a:x/",
        "http://[::1",
        "http://a b/",
        "http://a\n/",
    ],
)
def test_urls_that_are_not_fetched(url: str) -> None:
    assert url_origin(url) is None
    assert refused({"source_id": "s", "index_url": url}) == {}


def test_one_origin_is_scheme_host_and_port() -> None:
    assert (
        url_origin("HTTPS://Books.Example/x")
        == url_origin("https://books.example:443")
        == Origin("https", "books.example", 443)
    )
    own = Origin("http", "a", 80)
    others = [Origin("https", "a", 80), Origin("http", "b", 80), Origin("http", "a", 81)]
    assert keeps_token(own, Origin("http", "a", 80), True)
    assert not any(keeps_token(own, other, True) for other in others)
    assert not keeps_token(own, own, False), "once dropped it is not added again"


def test_the_user_part_of_a_url_is_no_host() -> None:
    assert url_origin("https://books.example@evil.example/") == Origin("https", "evil.example", 443)


def test_a_served_index() -> None:
    index = fetched(served(offered(summary="S", tags=["t", " u "], sha256="AB", more=1), offered(title=None)))
    assert index == {
        "type": "accords.cookbook.index.v1",
        "source_id": "s",
        "generated_at_unix_ms": 0,
        "items": [offered(summary="S", tags=["t", "u"], sha256="AB"), offered(title="")],
    }
    assert list(index["items"][0]) == ["cookbook_id", "version", "title", "summary", "tags", "download_url", "sha256"]
    named = fetched(served(source_id="own", generated_at_unix_ms=5))
    assert (named["source_id"], named["generated_at_unix_ms"], named["items"]) == ("own", 5, [])


def test_what_is_no_index() -> None:
    for data in (b"<html>", b"", b"[]", b'{"type": 1}', b'{"items": {}}'):
        assert list(failed(data)) == ["cause"]
    assert failed(b'{"type": "accords.cookbook.index.v2", "items": [{}]}') == failed(b"{}") == {}
    bad: list[Any] = [{}, None, offered(cookbook_id=" "), offered(version=""), offered(download_url="ftp://x/y")]
    for item in bad:
        details = failed(canonical(served(offered(), item)).encode())
        given = item or {}
        assert details == {"cookbook_id": given.get("cookbook_id", "").strip(), "version": given.get("version", "")}


def test_what_a_list_shows() -> None:
    items = [offered("B", "2", tags=["Tag"]), offered("a", "1", summary="Sum")]
    index = fetched(served(*items))
    assert remote_listed(index, "") == items, "in the order that was served"
    assert remote_listed(index, "TAG") == [items[0]]
    assert remote_listed(index, "sUm") == [items[1]]
    assert remote_listed(index, "nothing") == []
    empty, without = fetched(served()), fetched({"type": "accords.cookbook.index.v1"})
    assert (empty["items"], remote_listed(empty, ""), remote_listed(empty, "q")) == ([], None, [])
    assert (without["items"], remote_listed(without, ""), remote_listed(without, "q")) == (None, None, [])


def test_which_item_is_installed() -> None:
    items = [offered("a", "1.9", title="x"), offered("a", "1.10", title="y"), offered("a", "1.10"), offered("b", "9")]
    assert chosen(items, "a", "") is items[1], "the highest, the first of those that are repeated"
    assert chosen(items, "a", "1.9") is items[0]
    assert chosen(items, "a", "2") is chosen(items, "c", "") is None


def test_a_damaged_sources_file() -> None:
    assert read_sources({}) == read_sources({"sources": None}) == []
    for bad in (1, {"sources": {}}, {"sources": [{}]}, {"sources": [{"source_id": "s"}]}):
        with pytest.raises(WrongType):
            read_sources(bad)


@given(any_json)
def test_any_json_is_a_source_or_refused(value: Any) -> None:
    try:
        valid_source(value)
    except ToolFailure:
        refused(value)
    if value != {"type": INDEX_TYPE}:
        failed(canonical(value).encode())
