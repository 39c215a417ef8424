"""Which entry of the catalog fits a request that no known route fits? Source: contract vaultclaw 18.7; 20 item 4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import arguments
from lasttick.model.vaultclaw.json_text import byte_order, trim
from lasttick.model.vaultclaw.routing.registry import GMAIL, HTTP, Policy, Route, http_policy, strategy_of
from lasttick.model.vaultclaw.routing.text import lower, words

MATCH_FROM = 3
"""A best hit below this is no match."""
LEAD = 2
"""The best hit is ahead of the second by at least this, or nobody knows which one is meant."""
FIRST_WORDS = ("gmail", "calendar", "http", "webhook", "endpoint", "email", "message", "messages", "draft")
WORD_LETTERS_MIN = 4
TAG_OF = {"gmail": "gmail", "http": "http", "webhook": "http"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One entry of the catalog as recipes_search lists it."""

    cookbook_id: str
    version: str
    entry_id: str
    entry_type: str
    title: str = ""
    connector_id: str = ""
    verb: str = ""
    tags: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Hit:
        texts = {name: arguments.string(item.get(name)) for name in cls.__slots__ if name != "tags"}
        return cls(**texts, tags=tuple(item.get("tags") or ()))

    @property
    def is_template(self) -> bool:
        return self.entry_type.startswith("template.")


def query_of(normal_text: str, tokens: frozenset[str]) -> str:
    """A word that says much; else the longest one, of equal ones the first in byte order; else the whole text."""
    for word in FIRST_WORDS:
        if word in tokens:
            return word
    long = byte_order(word for word in tokens if len(word) >= WORD_LETTERS_MIN)
    return max(long, key=len, default=normal_text)


def tags_of(tokens: frozenset[str]) -> list[str]:
    """The tags that a hit must have, sorted."""
    return sorted({tag for word, tag in TAG_OF.items() if word in tokens})


def score_of(hit: Hit, normal_text: str, tokens: frozenset[str]) -> int:
    if not trim(hit.entry_id):
        return 0
    kind = lower(hit.entry_type)
    told = (hit.entry_id, hit.title, hit.entry_type, hit.connector_id, hit.verb, *hit.tags)
    score = sum(word in tokens for word in words(" ".join(told)))
    score += 2 * ("template" in kind) + ("recipe" in kind)
    score += 2 * ("google" in lower(hit.connector_id) and "gmail" in normal_text)
    return score + 2 * ("http" in lower(hit.verb) and ("http" in normal_text or "url" in normal_text))


def ranked(hits: Iterable[Hit], normal_text: str, tokens: frozenset[str]) -> list[tuple[int, Hit]]:
    """Best first; equal ones by cookbook and entry, then as they came."""
    scored = [(score_of(hit, normal_text, tokens), hit) for hit in hits]
    return sorted(scored, key=lambda one: (-one[0], one[1].cookbook_id, one[1].entry_id))


def domain_of(hit: Hit) -> str:
    verb = lower(trim(hit.verb))
    tags = lower(" ".join(hit.tags))
    for domain in (GMAIL, HTTP):
        if verb.startswith(f"{domain}."):
            return domain
    return GMAIL if "gmail" in tags else HTTP if "http" in tags else ""


def required_inputs(entry: Mapping[str, Any]) -> list[str]:
    """Inputs of the bindings that are required and have no default: sorted, distinct. `entry`: of the catalog."""
    bindings: Sequence[Mapping[str, Any]] = entry.get("bindings") or ()
    needed = {
        trim(binding["input_key"])
        for binding in bindings
        if binding.get("required") is not False and binding.get("default") is None
    }
    return byte_order(key for key in needed if key)


def connector_of(hit: Hit, entry: Mapping[str, Any]) -> str:
    """The connector that a template is for: its own, else that of its base request."""
    base = arguments.as_object(entry.get("base_request")) or {}
    return hit.connector_id or arguments.string(entry.get("connector_id")) or arguments.string(base.get("connector_id"))


def policies_of(connector_id: str, required: Iterable[str]) -> dict[str, Policy]:
    """What a caller may find out by itself: the inputs of a plain HTTP request, and of no other connector."""
    return {key: http_policy(key) for key in required} if connector_id == HTTP else {}


def route_of(hit: Hit, entry: Mapping[str, Any]) -> Route:
    """The hit as a route. `entry`: its catalog entry, which says what a template needs."""
    required = required_inputs(entry) if hit.is_template else []
    return Route(
        f"search:{hit.cookbook_id}:{hit.entry_id}",
        domain_of(hit),
        strategy_of(hit.entry_type),
        keywords=(),
        tags=hit.tags,
        required=tuple(required),
        entry_id=hit.entry_id,
        entry_type=hit.entry_type,
        cookbook_id=hit.cookbook_id,
        version=hit.version,
        connector_id=hit.connector_id,
        verb=hit.verb,
        policies=policies_of(connector_of(hit, entry), required),
    )
