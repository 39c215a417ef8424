"""What the doorman changes in a request, and that everything else passes as it came."""

from __future__ import annotations

import asyncio

import pytest

from lasttick.conformance.doorman import doorman, let_in


def headers(*lines: bytes) -> bytes:
    return b"\r\n".join([b"POST /mcp HTTP/1.1", *lines]) + b"\r\n\r\n"


def test_the_token_is_added_and_nothing_else_is_touched() -> None:
    odd = (b"Mcp-Method:  ping \t", b"X-A: 1", b"x-a: 2", b"Accept: */*")
    let = let_in(headers(*odd, b"Authorization: Bearer stale", b"Connection: keep-alive"), 5000, 6000, "secret")
    assert let == headers(*odd, b"Authorization: Bearer secret", b"Connection: close")


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        (b"Host: 127.0.0.1:5000", b"Host: 127.0.0.1:6000"),
        (b"host: localhost:5000", b"host: localhost:6000"),
        (b"Origin: http://[::1]:5000", b"Origin: http://[::1]:6000"),
        (b"Host: evil.example", b"Host: evil.example"),
        (b"Host: evil.example:5000", b"Host: evil.example:5000"),
        (b"Origin: http://127.0.0.1:5000.evil.example", b"Origin: http://127.0.0.1:5000.evil.example"),
    ],
)
def test_only_its_own_address_becomes_the_servers(line: bytes, passed: bytes) -> None:
    assert passed in let_in(headers(line), 5000, 6000, "secret").split(b"\r\n")


def test_an_answer_streams_and_a_client_that_leaves_is_noticed() -> None:
    async def story() -> tuple[bytes, bytes, bool]:
        left = asyncio.Event()
        heads: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
            await reader.read()
            left.set()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        async with server, doorman(url, "secret") as address:
            assert address.endswith("/mcp")
            port = int(address.rpartition(":")[2].partition("/")[0])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(headers(b"Host: x"))
            came = await reader.readuntil(b"first")
            writer.close()
            await asyncio.wait_for(left.wait(), 5)
        return came, heads[0], left.is_set()

    came, head, left = asyncio.run(story())
    assert came.endswith(b"first")
    assert b"Authorization: Bearer secret" in head
    assert left
