"""Is the third party the same behind a real server, where "down" has to break a socket?"""

from __future__ import annotations

import asyncio

import httpx
import pytest
import uvicorn

from lasttick.engine.clock import SystemClock
from lasttick_fakes.thirdparty import ThirdParty, Trouble


def test_it_answers_breaks_off_and_answers_again() -> None:
    async def main() -> None:
        third = ThirdParty(SystemClock())
        third.put_order("A-1")
        server = uvicorn.Server(uvicorn.Config(third, port=0, log_level="critical", lifespan="off"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            assert (await client.post("/order_lookup/lookup", json={"order_id": "A-1"})).status_code == 200
            third.trouble(Trouble("down", count=1))
            with pytest.raises(httpx.TransportError):
                await client.post("/order_lookup/lookup", json={"order_id": "A-1"})
            assert (await client.post("/order_lookup/lookup", json={"order_id": "A-1"})).status_code == 200
            assert [seen.status for seen in third.log()] == [200, 0, 200]
        server.should_exit = True
        await serving

    asyncio.run(main())
