"""What does the index say about a bundle, and which of its items does a list or a search show, in which order?

Source: contract vaultclaw 15, "Index item", "list", "recipes_search".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lasttick.model.vaultclaw import records
from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.bundle import RECIPE_PLAN, TEMPLATE_PLAN, content_hash
from lasttick.model.vaultclaw.json_text import trim
from lasttick.model.vaultclaw.records import Record, WrongType
from lasttick.model.vaultclaw.versions import version_key

_ENTRY: Mapping[str, records.Reader] = {
    "entry_id": records.text,
    "entry_type": records.text,
    "title": records.text,
    "connector_id": records.text,
    "verb": records.text,
    "tags": records.tags,
}
_ITEM: Mapping[str, records.Reader] = {
    "cookbook_id": records.text,
    "version": records.text,
    "title": records.text,
    "description": records.text,
    "tags": records.tags,
    "entry_count": records.integer,
    "content_hash": records.text,
    "entries": records.list_of(_ENTRY),
}
_NEEDED = ("cookbook_id", "version", "title", "entry_count", "content_hash", "entries")
_INDEX: Mapping[str, records.Reader] = {"items": records.list_of(_ITEM)}
_PLANS = {RECIPE_PLAN: "plan", TEMPLATE_PLAN: "base_plan"}


def index_item(bundle: Record) -> Record:
    """The item of a bundle in its stored form."""
    entries = [_index_entry(entry) for entry in bundle["entries"]]
    item = {**bundle, "entry_count": len(entries), "content_hash": content_hash(bundle), "entries": entries}
    return {name: item[name] for name in _ITEM if name in item}


def read_index(value: Any) -> list[Record]:
    """The items of an index file. Raises WrongType; a list that is not there is empty."""
    items: list[Record] = records.read(value, _INDEX, "index").get("items", [])
    for item in items:
        if missing := [name for name in _NEEDED if name not in item]:
            raise WrongType(f"an item of the index has no {missing[0]}")
        if not all("entry_id" in entry and "entry_type" in entry for entry in item["entries"]):
            raise WrongType("an entry in the index has no entry_id or no entry_type")
    return in_order(items)


def in_order(items: Iterable[Record]) -> list[Record]:
    """By id, then version ascending."""
    return sorted(items, key=lambda item: (item["cookbook_id"], version_key(item["version"])))


def replaced(items: Sequence[Record], cookbook_id: str, version: str, new: Record | None) -> list[Record]:
    """The items with that one replaced, or added, or (None) gone."""
    rest = [item for item in items if (item["cookbook_id"], item["version"]) != (cookbook_id, version)]
    return in_order(rest if new is None else [*rest, new])


def listed(items: Iterable[Record], query: str = "", cookbook_id: str = "", tag: str = "") -> list[Record]:
    """What cookbooks_list shows. An empty filter lets all through."""

    def shown(item: Record) -> bool:
        texts = (item["cookbook_id"], item["title"], item.get("description", ""), *item.get("tags", ()))
        return (
            cookbook_id in ("", item["cookbook_id"])
            and (not tag or tag in item.get("tags", ()))
            and contains(texts, query)
        )

    return [item for item in items if shown(item)]


def searched(
    items: Iterable[Record],
    *,
    query: str = "",
    connector_id: str = "",
    verb: str = "",
    tags: Sequence[str] = (),
    entry_type: str = "",
) -> list[Record]:
    """What recipes_search shows: cookbook id ascending, version descending, entry id ascending."""

    def shown(item: Record, entry: Record) -> bool:
        own = [entry.get(name, "") for name in ("entry_id", "title", "entry_type", "connector_id", "verb")]
        texts = (*own, *entry.get("tags", ()), item["cookbook_id"], item["title"])
        return (
            connector_id in ("", entry.get("connector_id", ""))
            and verb in ("", entry.get("verb", ""))
            and entry_type in ("", entry["entry_type"])
            and set(tags) <= set(entry.get("tags", ()))
            and contains(texts, query)
        )

    hits: list[Record] = [
        {"cookbook_id": item["cookbook_id"], "version": item["version"], **entry}
        for item in items
        for entry in item["entries"]
        if shown(item, entry)
    ]
    # Sorting is stable: the last key counts most.
    hits.sort(key=lambda hit: hit["entry_id"])
    hits.sort(key=lambda hit: version_key(hit["version"]), reverse=True)
    hits.sort(key=lambda hit: hit["cookbook_id"])
    return hits


def contains(texts: Iterable[str], query: str) -> bool:
    """Is `query` a part of one of them, in any case?"""
    return any(query.lower() in text.lower() for text in texts)


def tags_of(value: Any) -> list[str]:
    """The `tags` argument: comma-separated, or an array of strings. Raises WrongType for anything else but null."""
    if value is None:
        return []
    texts = [trim(part) for part in value.split(",")] if isinstance(value, str) else records.texts(value, "tags")
    return [text for text in texts if text]


def _index_entry(entry: Record) -> Record:
    connector_id = entry.get("connector_id") or _plan_connector(entry)
    shown = {**entry, **({"connector_id": connector_id} if connector_id else {})}
    return {name: shown[name] for name in _ENTRY if name in shown}


def _plan_connector(entry: Record) -> str:
    """The connector of a plan, when all steps that name one name the same; else ""."""
    plan = entry.get(_PLANS.get(entry["entry_type"], ""), {})
    steps = plan.get("steps")
    named = (
        {string(step.get("connector_id")) for step in steps if isinstance(step, dict)}
        if isinstance(steps, list)
        else set()
    )
    named.discard("")
    return named.pop() if len(named) == 1 else ""
