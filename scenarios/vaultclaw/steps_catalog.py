"""Steps of the catalog stories: cookbooks, what is on the disk, and whether list, get, search and files agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lasttick.model.vaultclaw.bundle import content_hash
from lasttick_fakes.catalogs import bundle

Place = tuple[str, str]

OLD, NEW = bundle("a", "1", title="old"), bundle("a", "1", title="new")
OTHER = bundle("b", "1", title="other")
RECIPE = {
    "entry_id": "r",
    "entry_type": "recipe.verb.v1",
    "connector_id": "generic.http",
    "verb": "generic.http.request.v1",
    "request": {"method": "GET", "url": "http://x"},
}
TEMPLATE: dict[str, Any] = {
    "entry_id": "tpl_get_user",
    "entry_type": "template.verb.v1",
    "title": "Get user",
    "tags": ["user", " http ", "http"],
    "base_request": {
        "verb": "generic.http.request.v1",
        "connector_id": "generic.http",
        "request": {"url": "", "method": "GET"},
    },
    "bindings": [
        {"target_path": "/request/url", "input_key": "url", "required": True},
        {"target_path": "/request/method", "input_key": "method", "required": False, "default": "GET"},
    ],
}
"""The contract's worked example (21), unsorted as a client may send it."""
WORKED = bundle("http.recipes", "1.0.0", [TEMPLATE], title="HTTP")
WORKED_HASH = "d812854ac857d4b2fca69fb87f94f4dff891e0f4fdd2c0df03ed4f757ec7740b"


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file's bytes, by its path."""
    return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}


def on_disk(root: Path) -> dict[Place, dict[str, Any]]:
    """The bundle files, by id and version, each of which must be whole."""
    files = sorted((root / "cookbooks").glob("*/*.json"))
    return {(file.parent.name, file.name.removesuffix(".json")): json.loads(file.read_bytes()) for file in files}


def check_agreement(root: Path, items: Any, bundles: dict[Place, Any], hits: Any) -> dict[Place, str]:
    """List, get, search and files tell the same. The titles, by id and version."""
    files = on_disk(root)
    assert bundles == files
    told = {(item["cookbook_id"], item["version"]): (item["title"], item["content_hash"]) for item in items}
    assert told == {place: (file["title"], content_hash(file)) for place, file in files.items()}
    assert len(items) == len(files)
    found = sorted((hit["cookbook_id"], hit["version"], hit["entry_id"]) for hit in hits)
    assert found == sorted((*place, entry["entry_id"]) for place, file in files.items() for entry in file["entries"])
    return {place: file["title"] for place, file in files.items()}


async def agreed(client: Any, root: Path) -> dict[Place, str]:
    """The same, as a server's tools tell it."""
    items = (await client.call("cookbooks_list")).data["items"]
    bundles = {}
    for item in items:
        place = item["cookbook_id"], item["version"]
        got = await client.call("cookbook_get", cookbook_id=place[0], version=place[1])
        bundles[place] = got.data["bundle"]
    return check_agreement(root, items, bundles, (await client.call("recipes_search")).data["items"])


async def reopened(rung: Any, root: Path) -> dict[Place, str]:
    """The same, as the catalog itself tells it after a start."""
    return await told(await rung.opened(root), root)


async def told(catalog: Any, root: Path) -> dict[Place, str]:
    """The same, as this catalog tells it."""
    items = await catalog.list()
    places = [(item["cookbook_id"], item["version"]) for item in items]
    return check_agreement(root, items, {place: await catalog.get(*place) for place in places}, await catalog.search())


async def stored(client: Any, one: Any, policy: str = "") -> Any:
    """The data of cookbook_upsert."""
    return (await client.call("cookbook_upsert", bundle=one, conflict_policy=policy)).data
