"""What does the server look at before it serves? Where its cookbooks are, what they must hold, and a likely mistake.

Source: contract vaultclaw 2 (steps 1 and 4), rulings 10 and 20.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from lasttick.model.address import is_loopback
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.routing.registry import ROUTES, Route
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.seeding import bundled
from lasttick.reference.vaultclaw.config import WHERE, VaultclawConfig

INSTALLED = Path("/opt/accords-mcp/cookbooks")
PACKAGED = Path(__file__).parent / "cookbooks"
"""Those that come with the project: the last resort (ruling 20)."""
EVERYWHERE = ("", "0.0.0.0", "::")


def cookbooks_folder(config: VaultclawConfig) -> Path:
    """The folder of bundled cookbooks. Raises StartError: the one that was named is none."""
    if config.cookbooks_dir is not None:
        if not config.cookbooks_dir.is_dir():
            raise StartError(
                f"ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR is {str(config.cookbooks_dir)!r}, which is no folder",
                f"a folder that exists ({WHERE}, step 1)",
                "correct it, or unset it to use the cookbooks of the project",
            )
        return config.cookbooks_dir
    near = (folder / "cookbooks" for folder in (config.cwd, *config.cwd.parents))
    return next((folder for folder in (INSTALLED, *near) if folder.is_dir()), PACKAGED)


async def check_routes(catalog: Catalog, say: Callable[[str], None]) -> None:
    """Every route with an entry must find it in the catalog, at its exact version. Raises StartError.

    A cookbook that was bundled is excused: somebody deleted it, which the seed has said, or put another in its place.
    """
    brought_in = await bundled(catalog)
    entries: dict[tuple[str, str], list[str]] = {}
    for route in ROUTES:
        if not route.cookbook_id:
            continue
        where = (route.cookbook_id, route.version)
        place = " ".join(where)
        try:
            if where not in entries:
                entries[where] = [entry["entry_id"] for entry in (await catalog.get(*where))["entries"]]
        except ToolFailure as failure:
            if where not in brought_in:
                raise _no_entry(route, failure.code) from failure
            if failure.code != "MCP_CATALOG_NOT_FOUND":
                say(f"warning: {place} was bundled and cannot be read ({failure.code}); install it again")
            return
        if route.entry_id not in entries[where]:
            if where not in brought_in:
                raise _no_entry(route, "MCP_CATALOG_NOT_FOUND")
            say(f"warning: {place} was bundled with {route.entry_id} and has it no more; install it again")
            return


def _no_entry(route: Route, code: str) -> StartError:
    return StartError(
        f"route {route.route_id} has no entry {route.entry_id} in the catalog ({code})",
        f"it in {route.cookbook_id} {route.version}, in the catalog or among the bundled cookbooks ({WHERE}, step 4)",
        "add that cookbook to the folder of ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR, or unset it",
    )


def points_at_itself(config: VaultclawConfig) -> bool:
    """Whether the vault's base URL is this server's own address: it would call itself (ruling 20)."""
    if not config.http_addr or config.socket_path is not None:
        return False
    host, port = config.http_address
    try:
        url = httpx.URL(config.base_url)
    except httpx.InvalidURL:
        return False
    its_port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    near = is_loopback(url.host) and (host in EVERYWHERE or is_loopback(host))
    return its_port == port and (url.host == host or near)
