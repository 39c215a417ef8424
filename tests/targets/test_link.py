"""The relay between a host and its store: bytes as they come, those from the store held back when asked."""

from __future__ import annotations

import asyncio

from lasttick.targets.link import TcpLink


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data.upper())
    writer.close()


async def _story() -> None:
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    link = TcpLink("127.0.0.1", server.sockets[0].getsockname()[1])
    await link.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    writer.write(b"one")
    assert await reader.readexactly(3) == b"ONE"
    link.hold()
    writer.write(b"two")
    answer = asyncio.ensure_future(reader.readexactly(3))
    await asyncio.sleep(0.05)
    assert not answer.done(), "an answer came through although it was to be held back"
    link.release()
    assert await answer == b"TWO"
    await link.close()
    assert await reader.read() == b"", "a link that is closed cuts its connections"
    writer.close()
    server.close()


async def _nobody_there() -> None:
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    link = TcpLink("127.0.0.1", port)
    await link.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    assert await reader.read() == b"", "without a store the host's connection is cut"
    writer.close()
    await link.close()


def test_answers_can_be_held_back() -> None:
    asyncio.run(asyncio.wait_for(_story(), 5))


def test_a_store_that_is_not_there_is_a_cut_connection() -> None:
    asyncio.run(asyncio.wait_for(_nobody_there(), 5))
