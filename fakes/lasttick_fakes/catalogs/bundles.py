"""Which cookbooks does a fake catalog serve? Small ones of the project's own, made from data.

Source of the members: contract vaultclaw 15, "Bundle" and "Entry".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

TYPE = "accords.cookbook.bundle.v1"


def bundle(
    cookbook_id: str, version: str, entries: Sequence[dict[str, Any]] = (), *, title: str = "", tags: Sequence[str] = ()
) -> dict[str, Any]:
    """A bundle; one recipe that does nothing when no entries are given, since none is no cookbook."""
    given = list(entries) or [
        recipe("noop", "generic.http", "generic.http.request.v1", {"method": "GET", "url": "http://x"})
    ]
    return {
        "type": TYPE,
        "cookbook_id": cookbook_id,
        "version": version,
        "title": title or cookbook_id,
        "tags": list(tags),
        "entries": given,
    }


def recipe(entry_id: str, connector_id: str, verb: str, request: dict[str, Any]) -> dict[str, Any]:
    entry = {"entry_id": entry_id, "entry_type": "recipe.verb.v1", "title": entry_id}
    return {**entry, "connector_id": connector_id, "verb": verb, "request": request}


def http_recipes(version: str = "1.0.0") -> dict[str, Any]:
    """One template for any HTTP API: a URL is asked for, the method is GET unless another is given."""
    template = {
        "entry_id": "http_tpl_fetch",
        "entry_type": "template.verb.v1",
        "title": "Fetch a page",
        "tags": ["http"],
        "base_request": {
            "connector_id": "generic.http",
            "verb": "generic.http.request.v1",
            "request": {"method": "GET", "url": ""},
        },
        "bindings": [
            {"target_path": "/request/url", "input_key": "url", "required": True},
            {"target_path": "/request/method", "input_key": "method", "required": False, "default": "GET"},
        ],
    }
    return bundle("fetch.recipes", version, [template], title="Fetch", tags=["http"])


def mail_recipes(version: str = "1.0.0") -> dict[str, Any]:
    """One recipe: list the newest mail of the inbox."""
    listing = recipe("newest_mail", "google", "google.gmail.messages.list", {"user_id": "me", "page_limit": 5})
    return bundle("mail.recipes", version, [listing], title="Newest mail", tags=["gmail"])
