"""What is a remote source, what does it serve, and which hosts may see its token?

Source: contract vaultclaw 17, ruling VC-8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lasttick.model.vaultclaw import records
from lasttick.model.vaultclaw.bundle import invalid
from lasttick.model.vaultclaw.catalog_index import contains
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse
from lasttick.model.vaultclaw.records import Record, WrongType
from lasttick.model.vaultclaw.versions import version_key

INDEX_TYPE = "accords.cookbook.index.v1"
BEARER_ENV = "BEARER_ENV"
NONE = "NONE"
REDIRECTS_MAX = 10
_PORTS = {"http": 80, "https": 443}
_SOURCE: Mapping[str, records.Reader] = {
    "source_id": records.text,
    "index_url": records.text,
    "enabled": records.boolean,
    "auth_mode": records.text,
    "auth_env_var": records.text,
}
_SOURCES: Mapping[str, records.Reader] = {"sources": records.list_of(_SOURCE)}
_ITEM: Mapping[str, records.Reader] = {
    "cookbook_id": records.text,
    "version": records.text,
    "title": records.text,
    "summary": records.text,
    "tags": records.texts,
    "download_url": records.text,
    "sha256": records.text,
}
_INDEX: Mapping[str, records.Reader] = {
    "type": records.text,
    "source_id": records.text,
    "generated_at_unix_ms": records.integer,
    "items": records.list_of(_ITEM),
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: whom a token belongs to."""

    scheme: str
    host: str
    port: int


def origin(scheme: str, host: str, port: int | None) -> Origin | None:
    """None for what is neither http nor https, and without a host."""
    scheme = scheme.lower()
    if scheme not in _PORTS or not host:
        return None
    return Origin(scheme, host.lower(), _PORTS[scheme] if port is None else port)


def url_origin(url: str) -> Origin | None:
    """The origin of an http or https URL with a host; None for anything else."""
    if any(c <= " " or c == "\x7f" for c in url):
        return None
    try:
        parts = urlsplit(url)
        return origin(parts.scheme, parts.hostname or "", parts.port)
    except ValueError:  # a port or an IPv6 address that is none
        return None


def keeps_token(own: Origin, at: Origin, before: bool) -> bool:
    """May a request to `at` carry the token of a source whose index is at `own`? `before`: whether the request that led
    here carried it: once dropped it is not added again."""
    return before and at == own


def valid_source(value: Any) -> Record:
    """A source as it is kept. Raises ToolFailure MCP_CATALOG_SCHEMA_INVALID."""
    try:
        given = records.read({} if value is None else value, _SOURCE, "source")
    except WrongType as error:
        raise invalid("the source can not be read", "an object", {"cause": str(error)}) from None
    if not given.get("source_id"):
        raise invalid("the source has no source_id", "one that is not blank")
    if url_origin(given.get("index_url", "")) is None:
        raise invalid("the source's index_url can not be fetched", "an http or https URL with a host")
    source = _kept(given)
    if source["auth_mode"] == BEARER_ENV and "auth_env_var" not in source:
        raise invalid("the source has no auth_env_var", f"the name of a variable, as auth_mode is {BEARER_ENV}")
    return source


def read_sources(value: Any) -> list[Record]:
    """What sources.json holds, by id. Raises WrongType."""
    found = records.read(value, _SOURCES, "sources.json").get("sources", [])
    if not all(source.get("source_id") and source.get("index_url") for source in found):
        raise WrongType("a source in sources.json has no source_id or no index_url")
    return sorted((_kept(source) for source in found), key=lambda source: source["source_id"])


def remote_index(data: bytes, source_id: str) -> Record:
    """A served index as it is answered: `items` is None when it was not there. Raises ToolFailure."""
    try:
        index = records.read(parse(data), _INDEX, "index")
    except ValueError as error:
        raise fetch_failed(f"what source {source_id!r} serves is no index", {"cause": str(error)}) from None
    if index.get("type") != INDEX_TYPE:
        raise fetch_failed(f"what source {source_id!r} serves has the type {index.get('type', '')[:80]!r}", {})
    items = index.get("items")
    return {
        "type": INDEX_TYPE,
        "source_id": index.get("source_id") or source_id,
        "generated_at_unix_ms": index.get("generated_at_unix_ms", 0),
        "items": None if items is None else [_remote_item(item) for item in items],
    }


def fetch_failed(happened: str, details: Mapping[str, Any], *, retryable: bool = False) -> ToolFailure:
    expected = f"a source that serves an index of type {INDEX_TYPE} and its bundles (contract vaultclaw 17)"
    do = "try again later" if retryable else "correct the source, or what it serves"
    message = f"{happened}; expected {expected}; {do}"
    return ToolFailure("MCP_CATALOG_REMOTE_FETCH_FAILED", message, details, retryable=retryable)


def remote_listed(index: Record, query: str) -> list[Record] | None:
    """The outer `items` of cookbooks_remote_list: None without a query and with nothing in the index."""
    items = index["items"] or []
    if not query:
        return items or None
    texts = ("cookbook_id", "version", "title", "summary")
    return [i for i in items if contains((*(i.get(name, "") for name in texts), *i.get("tags", ())), query)]


def chosen(items: Sequence[Record], cookbook_id: str, version: str) -> Record | None:
    """The item to install: that version, or without one the highest; the first of several."""
    mine = [item for item in items if item["cookbook_id"] == cookbook_id and version in ("", item["version"])]
    return max(mine, key=lambda item: version_key(item["version"]), default=None)


def _remote_item(item: Record) -> Record:
    cookbook_id, version, url = (item.get(name, "") for name in ("cookbook_id", "version", "download_url"))
    if not cookbook_id or not version or url_origin(url) is None:
        details = {"cookbook_id": cookbook_id, "version": version}
        raise fetch_failed("an item of the index has no cookbook_id, version or http(s) download_url", details)
    shown = {"cookbook_id": cookbook_id, "version": version, "title": "", **item}
    return {name: shown[name] for name in _ITEM if shown.get(name) or name == "title"}


def _kept(given: Record) -> Record:
    """The members in order, with their defaults. The variable's name is kept only where it is used."""
    mode = BEARER_ENV if given.get("auth_mode", "").upper() == BEARER_ENV else NONE
    variable = given.get("auth_env_var", "") if mode == BEARER_ENV else ""
    return {
        "source_id": given["source_id"],
        "index_url": given["index_url"],
        "enabled": given.get("enabled", True),
        "auth_mode": mode,
        **({"auth_env_var": variable} if variable else {}),
    }
