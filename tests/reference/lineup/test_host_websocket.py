"""A chat host on a WebSocket of this machine (C-1): real sockets, since the library needs them."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from lasttick.engine.clock import SystemClock
from lasttick.model.lineup.frames import FRAME_BYTES_MAX, read_frame
from lasttick.model.lineup.records import Refused
from lasttick.reference.lineup.host_websocket import MESSAGE_BYTES_MAX, HostWebsocket

from .host_rig import Core


@asynccontextmanager
async def served():
    core = Core()
    server = HostWebsocket(core, core.attach, SystemClock())
    port = await server.start()
    try:
        async with asyncio.timeout(20):
            yield core, f"ws://127.0.0.1:{port}"
    finally:
        await server.stop()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


def test_a_text_message_is_a_frame_both_ways_and_a_host_may_come_back():
    async def main():
        async with served() as (core, url):
            for n in (1, 2):
                async with connect(url, proxy=None) as host:
                    await host.send('{"v":1}')
                    await host.send("[")
                    await until(lambda n=n: len(core.frames()) == 2 * n)
                    await core.links[-1].send({"n": n, "text": "其他"})
                    assert json.loads(await host.recv()) == {"n": n, "text": "其他"}
                await until(lambda n=n: core.all.count(("gone",)) == n)
            with pytest.raises(ConnectionError, match="the host is gone"):
                await core.links[0].send({})
        return core

    core = asyncio.run(main())
    kinds = [event[0] for event in core.all]
    assert kinds == ["attach", "frame", "frame", "gone"] * 2
    assert core.frames() == [b'{"v":1}', b"["] * 2
    assert len({id(link) for link in core.links}) == 2
    stamps = [event[2] for event in core.all if event[0] == "frame"]
    assert stamps == sorted(stamps)


def test_a_message_that_is_too_long_is_refused_and_one_beyond_reading_ends_the_link():
    async def main():
        async with served() as (core, url):
            async with connect(url, proxy=None, max_size=None) as host:
                await host.send("x" * (FRAME_BYTES_MAX + 1))
                await host.send("after")
                await until(lambda: len(core.frames()) == 2)
                # Only the head of it: the server need not read the rest to know.
                size = (MESSAGE_BYTES_MAX + 1).to_bytes(8, "big")
                host.transport.write(bytes([0x81, 0x80 | 127]) + size + bytes(4))
                with pytest.raises(ConnectionClosed) as closed:
                    await host.recv()
            await until(lambda: core.all[-1] == ("gone",))
        return core.frames(), closed.value.rcvd.code

    (first, after), code = asyncio.run(main())
    assert isinstance(read_frame(first), Refused)
    assert after == b"after"
    assert code == 1009


def test_bytes_are_no_frame():
    async def main():
        async with served() as (core, url):
            async with connect(url, proxy=None) as host:
                await host.send(b'{"v":1}')
                with pytest.raises(ConnectionClosed) as closed:
                    await host.recv()
            await until(lambda: core.all[-1] == ("gone",))
        return core.frames(), closed.value.rcvd.code

    assert asyncio.run(main()) == ([], 1003)


def test_one_host_at_a_time():
    """A second one neither hears nor takes over what the first was shown."""

    async def main():
        async with served() as (core, url):
            async with connect(url, proxy=None) as first:
                await until(lambda: core.links)
                async with connect(url, proxy=None) as second:
                    with pytest.raises(ConnectionClosed) as closed:
                        await second.recv()
                await core.links[0].send({"for": "the first"})
                assert json.loads(await first.recv()) == {"for": "the first"}
            await until(lambda: core.all[-1] == ("gone",))
        return core.all, closed.value.rcvd

    seen, said = asyncio.run(main())
    assert seen == [("attach",), ("gone",)]
    assert said.code == 1013
    assert said.reason == "another host is connected; expected one at a time"


def test_a_web_page_is_no_host():
    async def main():
        async with served() as (core, url):
            for origin in ("https://evil.example", "null", "http://127.0.0.1"):
                with pytest.raises(InvalidStatus) as refused:
                    async with connect(url, proxy=None, origin=origin):
                        pass
                assert refused.value.response.status_code == 403
        return core.all

    assert asyncio.run(main()) == []


def test_the_end_of_the_server_is_the_end_of_its_host():
    async def main():
        core = Core()
        server = HostWebsocket(core, core.attach, SystemClock())
        port = await server.start()
        async with connect(f"ws://127.0.0.1:{port}", proxy=None) as host:
            await until(lambda: core.links)
            await server.stop()
            with pytest.raises(ConnectionClosed):
                await host.recv()
        return core.all

    assert asyncio.run(main()) == [("attach",), ("gone",)]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.com"])
def test_others_may_not_reach_it(host):
    with pytest.raises(ValueError, match=r"expected a loopback address, .*; use 127.0.0.1"):
        HostWebsocket(Core(), Core().attach, SystemClock(), host=host)
