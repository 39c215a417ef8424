"""How the server starts: one line when it cannot, a warning where it will not work, and nothing else in its way.

Source: contract vaultclaw 2; rulings 10, 20.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lasttick import StartRefused, World, scenario

END_S = 20.0


async def refusal(world: World, via: Any, environ: dict[str, str]) -> str:
    """What a server that cannot start says."""
    try:
        server = await world.vaultclaw(via=via, environ=environ)
    except StartRefused as refused:
        return str(refused)
    # On standard streams, in a process, any line on standard error may be that of a server that is up.
    async with asyncio.timeout(END_S):
        assert await server.ended() == 1
    assert await server.stdio.rest() == b""
    return server.stderr()


@scenario("VC-01")
@pytest.mark.parametrize("via", ["http", "stdio"])
@pytest.mark.parametrize("variable", ["ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR", "ACCORDS_MCP_CATALOG_DIR"])
async def test_what_cannot_start_says_why_in_one_line(world: World, via: str, variable: str) -> None:
    """A folder of cookbooks that is a file, and a catalog that can have no folder: one line on standard error that
    names the place, and no server."""
    in_the_way = world.path / "a-file"
    in_the_way.write_text("not a folder")
    place = in_the_way if variable.endswith("COOKBOOKS_DIR") else in_the_way / "catalog"
    said = (await refusal(world, via, {variable: str(place)})).strip()
    assert "a-file" in said
    assert len(said.splitlines()) == 1, said
    assert "Traceback" not in said


@scenario("VC-01")
async def test_it_starts_without_a_folder_of_cookbooks(world: World) -> None:
    """With no folder named, those packaged with the project are seeded: every route has its entry, and a start on the
    same catalog seeds nothing again."""
    server = await world.vaultclaw(via="stdio")
    items = (await server.client().call("cookbooks_list")).data["items"]
    assert ("google.workspace", "1.3.0") in [(item["cookbook_id"], item["version"]) for item in items]
    marker = (server.catalog_dir / ".bundled-cookbooks-seed.v1.json").read_text()
    await server.restart()
    assert (await server.client().call("cookbooks_list")).data["items"] == items
    assert (server.catalog_dir / ".bundled-cookbooks-seed.v1.json").read_text() == marker


@scenario("VC-01")
async def test_a_vault_that_is_the_server_itself_is_warned_about(world: World) -> None:
    """A base URL that leads back to the server would make it call itself: it starts, and one line on standard error
    says so. Another address on the same host is no reason for one."""
    environ: dict[str, str] = {}
    server = await world.vaultclaw(environ=environ)
    assert "warning" not in server.stderr()
    environ["VC_BASE_URL"] = f"{server.url}/"
    await server.restart()
    (warning,) = [line for line in server.stderr().splitlines() if "warning" in line]
    assert server.url.removeprefix("http://") in warning
    environ["VC_BASE_URL"] = "http://127.0.0.1:1"
    await server.restart()
    assert "warning" not in server.stderr()
