"""Steps of the stories about remote sources: a source with a token, what it serves, and chains of redirects."""

from __future__ import annotations

import itertools
from typing import Any

FAILED = "MCP_CATALOG_REMOTE_FETCH_FAILED"
VARIABLE = "BOOKS_TOKEN"
BODY_MIB_MAX = 16
REDIRECTS_MAX = 10
STATUSES = (301, 302, 303, 307, 308)


async def add_source(client: Any, catalog: Any, source_id: str = "s", *, token: bool = False, **more: Any) -> None:
    """Make a catalog known to the server; `token`: its requests carry that of `VARIABLE`."""
    auth = {"auth_mode": "BEARER_ENV", "auth_env_var": VARIABLE} if token else {}
    source = {"source_id": source_id, "index_url": f"{catalog.url}/index.json", **auth, **more}
    assert (await client.call("catalog_source_upsert", source=source)).ok


async def publish(catalog: Any, one: Any = None, **listed: Any) -> dict[str, Any]:
    """Serve a bundle, or the text `raw`, and list it; the item as the index then has it."""
    raw = listed.pop("raw", None)
    body = {"bundle": one, "listed": listed} | ({"raw": raw} if raw is not None else {})
    item = (await catalog.control("POST", "/control/publish", body))["item"]
    if item["download_url"].startswith("/bundles/"):
        item["download_url"] = catalog.url + item["download_url"]
    return {name: value for name, value in item.items() if value != []}


async def install(client: Any, cookbook_id: str = "a", **more: Any) -> Any:
    return await client.call("cookbook_remote_install", source_id="s", cookbook_id=cookbook_id, **more)


async def remote_list(client: Any, **more: Any) -> Any:
    return await client.call("cookbooks_remote_list", source_id="s", **more)


async def shown_token(catalog: Any, token: str, after: int = 0) -> list[bool]:
    """By request: whether it carried the token. Raises AssertionError when it was anywhere but in its header."""
    seen = []
    for request in await catalog.log(after):
        carried = [value for name, value in request["headers"] if token in value]
        assert carried in ([], [f"Bearer {token}"]), carried
        assert token not in request["path"] + request["body"]
        assert not [name for name, value in request["headers"] if name.lower() == "authorization" and not carried]
        seen.append(bool(carried))
    return seen


async def chain(hops: list[Any], path: str) -> None:
    """Redirects from `path` at the first of these catalogs over all others, to the same path at the last one. Each is
    met once, so the last is served although the first may be the same."""
    here_path = path
    for number, (here, there) in enumerate(itertools.pairwise(hops), 1):
        onward = path if number == len(hops) - 1 else f"/hop-{number}"
        status = STATUSES[number % len(STATUSES)]
        await here.trouble("redirect", path=here_path, to=there.url + onward, status=status, count=1)
        here_path = onward
