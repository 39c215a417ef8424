"""Is a catalog the same behind a real server, where a body can break and a bomb has to stream?"""

from __future__ import annotations

import asyncio

import httpx
import pytest
import uvicorn

from lasttick.engine.clock import SystemClock
from lasttick_fakes.catalogs import RemoteCatalog, Trouble
from lasttick_fakes.catalogs.trouble import MIB


def test_it_serves_breaks_off_bombs_and_lets_go() -> None:
    async def main() -> None:
        catalog = RemoteCatalog(SystemClock())
        catalog.publish()
        server = uvicorn.Server(uvicorn.Config(catalog, port=0, log_level="critical", lifespan="off"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            (item,) = (await client.get("/index.json")).json()["items"]
            assert (await client.get(item["download_url"])).json()["cookbook_id"] == "remote.recipes"
            for kind in ("down", "half", "hang"):
                catalog.trouble(Trouble(kind, count=1))
                with pytest.raises(httpx.TransportError):
                    await client.get("/index.json", timeout=0.2)
            catalog.trouble(Trouble("bomb", mib=4, count=1))
            assert len((await client.get("/index.json")).json()["type"]) == 4 * MIB
            catalog.trouble(Trouble("huge", mib=4096, count=1))
            async with client.stream("GET", "/index.json") as answer:
                async for chunk in answer.aiter_raw():
                    assert chunk
                    break  # who leaves in the middle is not sent the rest
            assert (await client.get("/index.json")).status_code == 200
        server.should_exit = True
        await asyncio.wait_for(serving, 5)

    asyncio.run(main())
