"""Does the hand-over rule hold on a real connection too? One poll is dropped, the next one gets the work."""

from __future__ import annotations

import asyncio
import socket

import httpx
import uvicorn

from lasttick_fakes.cloud import asgi


def test_a_dropped_connection_loses_no_assignment(run):
    async def body(bench):
        host = await bench.host("phone-1")
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(asgi(bench.cloud), http="h11", lifespan="off", log_level="error"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        # No time-out of httpx's own: the poll waits as long as the cloud's clock says.
        async with httpx.AsyncClient(base_url=url, verify=False, trust_env=False, timeout=None) as client:
            opened = asyncio.Event()
            poll_of, leave_of = bench.cloud.poll, bench.cloud.leave
            left = asyncio.Event()
            bench.cloud.poll = lambda host_id: (opened.set(), poll_of(host_id))[1]
            bench.cloud.leave = lambda poll: (left.set(), leave_of(poll))[1]

            dropped = asyncio.create_task(client.get(f"/v1/hosts/{host}/assignments"))
            await opened.wait()
            dropped.cancel()
            await left.wait()
            task = bench.cloud.submit(goal="a")
            assert task.assignments == []
            answer = await client.get(f"/v1/hosts/{host}/assignments")
            assert (answer.status_code, answer.json()["attempt"]) == (200, 1)
            assert task.state == "running"
        server.should_exit = True
        await serving

    run(body)
