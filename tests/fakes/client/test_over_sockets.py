"""Does the client do over a real connection what in-process transports cannot show: streams, drops, refusals?"""

from __future__ import annotations

import asyncio
import socket

import pytest
import uvicorn

from lasttick_fakes.client import LostTransport, McpClient


def test_streams_drops_and_a_server_that_is_gone(running):
    async def body():
        async with running() as peer:
            listener = socket.create_server(("127.0.0.1", 0))
            config = uvicorn.Config(peer.transport.app, http="h11", lifespan="off", log_level="error")
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"

            client = McpClient(url, token="t")
            assert (await client.open()).ok
            stream = await client.open_stream()
            assert (stream.http_status, stream.refused) == (200, None)
            second = await client.open_stream()
            assert (second.http_status, second.refused.error.code) == (409, -32600)
            await stream.close()

            flight = client.start_call("wait")
            await peer.entered.wait()
            await flight.drop()
            assert peer.cancelled == 0  # handshake era: the tool runs on
            peer.gate.set()
            assert (await client.call("add", a=1)).structured == {"sum": 1}
            assert (await client.delete()).http_status == 200

            modern = McpClient(url, token="t", era="modern")
            refused = await modern.open_stream()
            assert refused.http_status == 405
            assert (await modern.call("add", a=2)).structured == {"sum": 2}

            await client.close()
            await modern.close()
            server.should_exit = True
            await serving
            with pytest.raises(LostTransport, match="ConnectError"):
                await McpClient(url, token="t").call("add", a=1)

    asyncio.run(body())
