"""The in-memory network: streaming both ways, disconnects, a site that goes down, delay."""

import asyncio

import httpx
import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.loop import run_virtual
from lasttick.engine.network import Delay, Network, NetworkError
from lasttick.targets.transports import memory_transport


async def echo(scope, receive, send):
    message = await receive()
    body = f"{scope['method']} {scope['path']}?{scope['query_string'].decode()} {message['body'].decode()}".encode()
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-one", b"1")]})
    await send({"type": "http.response.body", "body": body})


def play(body, app=echo, delay=None):
    async def main(loop):
        network = Network(delay)
        site = network.serve("127.0.0.1:80", app)
        return await body(loop, network, site)

    return run_virtual(main)


def test_request_and_answer_carry_their_bytes():
    async def body(loop, network, site):
        async with httpx.AsyncClient(transport=memory_transport(network)) as client:
            answer = await client.post("http://127.0.0.1/a%20b?x=1", content=b"hello")
        return answer.status_code, answer.headers["x-one"], answer.text

    assert play(body) == (201, "1", "POST /a b?x=1 hello")


def test_httpx2_reaches_the_same_network():
    httpx2 = pytest.importorskip("httpx2", reason="httpx2 comes with mcp 2.x")

    async def body(loop, network, site):
        async with httpx2.AsyncClient(transport=memory_transport(network, httpx2)) as client:
            return (await client.get("http://127.0.0.1/")).status_code

    assert play(body) == 201


def test_nothing_listens_there():
    async def body(loop, network, site):
        async with httpx.AsyncClient(transport=memory_transport(network)) as client:
            await client.get("http://127.0.0.1:81/")

    with pytest.raises(httpx.ConnectError, match="refused"):
        play(body)


def test_chunks_arrive_as_they_are_sent():
    async def stream(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for step in range(3):
            await send({"type": "http.response.body", "body": b"%d" % step, "more_body": True})
            await asyncio.sleep(10)
        await send({"type": "http.response.body", "body": b"end"})

    async def body(loop, network, site):
        seen = []
        async with (
            httpx.AsyncClient(transport=memory_transport(network), timeout=None) as client,
            client.stream("GET", "http://127.0.0.1/") as answer,
        ):
            async for chunk in answer.aiter_bytes():
                seen.append((loop.time(), chunk))
        return seen

    assert play(body, stream) == [(0.0, b"0"), (10.0, b"1"), (20.0, b"2"), (30.0, b"end")]


def test_a_client_that_leaves_is_a_disconnect_and_the_handler_goes_on():
    """The SDK decides what a dropped connection means; the network only tells it."""
    told = []

    async def slow(scope, receive, send):
        await receive()
        asked = asyncio.create_task(receive())
        await asyncio.sleep(5)
        told.append((asked.done() and asked.result()["type"], asyncio.get_running_loop().time()))

    async def body(loop, network, site):
        async with httpx.AsyncClient(transport=memory_transport(network), timeout=None) as client:
            call = asyncio.create_task(client.get("http://127.0.0.1/"))
            await loop.advance(1)
            call.cancel()
            await loop.advance(10)
        return None

    play(body, slow)
    assert told == [("http.disconnect", 5.0)]


def test_a_site_that_is_cut_breaks_open_answers_and_refuses_new_ones():
    async def forever(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await asyncio.sleep(1_000)

    async def body(loop, network, site):
        said = []
        async with httpx.AsyncClient(transport=memory_transport(network), timeout=None) as client:
            async with client.stream("GET", "http://127.0.0.1/") as answer:
                chunks = answer.aiter_bytes()
                said.append(await anext(chunks))
                site.cut()
                with pytest.raises(httpx.ReadError, match="broke"):
                    await anext(chunks)
            with pytest.raises(httpx.ConnectError, match="refused"):
                await client.get("http://127.0.0.1/")
        return said, loop.time()

    assert play(body, forever) == ([b"first"], 0.0)


def test_a_handler_that_raises_is_a_500_with_the_reason():
    async def broken(scope, receive, send):
        raise KeyError("what happened")

    async def body(loop, network, site):
        exchange = await network.request("GET", "127.0.0.1:80", "/", [], b"")
        return exchange.status, b"".join([chunk async for chunk in exchange.body()])

    status, text = play(body, broken)
    assert status == 500
    assert b"what happened" in text


def test_an_app_without_an_answer_is_an_error_not_a_hang():
    async def silent(scope, receive, send):
        return None

    async def body(loop, network, site):
        return (await network.request("GET", "127.0.0.1:80", "/", [], b"")).status

    assert play(body, silent) == 500


def test_delay_is_seeded_and_takes_virtual_time():
    def times(seed):
        async def body(loop, network, site):
            seen = []
            for _ in range(3):
                await network.request("GET", "127.0.0.1:80", "/", [], b"")
                seen.append(loop.time())
            return seen

        return play(body, delay=Delay(Chance(seed).stream("trouble"), 0.1, 0.5))

    assert times(1) == times(1)
    assert times(1) != times(2)
    assert 0.6 <= times(1)[-1] <= 3.0


def test_a_request_to_a_site_cut_in_the_meantime_is_refused():
    async def body(loop, network, site):
        site.up = False
        await network.request("GET", "127.0.0.1:80", "/", [], b"")

    with pytest.raises(NetworkError):
        play(body)
