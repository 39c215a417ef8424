"""The server on streams: order, framing, and how it ends. Source: contract vaultclaw 3, ruling 19; VC-01."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.framing import FramingError
from lasttick.reference.vaultclaw.own_stdio import FileReader, FileWriter
from lasttick.reference.vaultclaw.stdio import STOP_S, Stdio

from .core_rig import FakeVault, Rig
from .test_rpc import EXTRA, TOOLS

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'


class Written:
    """What the server wrote, with the second of each piece."""

    def __init__(self) -> None:
        self.data = b""
        self.at_s: list[float] = []
        self.broken = False

    def write(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError
        self.data += data
        self.at_s.append(asyncio.get_running_loop().time())

    async def drain(self) -> None:
        pass

    @property
    def answers(self) -> list[Any]:
        return [json.loads(line) for line in self.data.splitlines()]


class Session:
    def __init__(self) -> None:
        self.rig = Rig(FakeVault(), tools=(*TOOLS, *EXTRA))
        self.input = asyncio.StreamReader()
        self.output = Written()
        self.stdio = Stdio(self.rig.core, self.input, self.output)
        self.serving = asyncio.ensure_future(self.stdio.serve())


def session(body: Callable[[Session, VirtualLoop], Coroutine[Any, Any, Any]]) -> Any:
    async def main(loop: VirtualLoop) -> Any:
        return await body(Session(), loop)

    return run_virtual(main)


def wait_for(seconds: int, id_: int = 1, name: str = "vaultclaw_waiting") -> bytes:
    params = {"name": name, "arguments": {"s": seconds}}
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}).encode() + b"\n"


def test_bytes_in_bytes_out_in_both_framings() -> None:
    async def body(given: Session, loop: VirtualLoop) -> bytes:
        given.input.feed_data(b"\n" + PING + b"\r\nContent-Length: %d\r\n\r\n" % len(PING) + PING)
        given.input.feed_data(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n[]\n' + PING)
        given.input.feed_eof()
        await given.serving
        return given.output.data

    lines = session(body).split(b"\n")
    assert lines[0] == PONG
    assert lines[1] == b"Content-Length: %d\r" % len(PONG)
    assert lines[2] == b"\r"
    # A body with a length has no newline behind it: the next answer follows at once.
    assert lines[3].startswith(PONG + b'{"jsonrpc":"2.0","error":{"code":-32700,')
    assert lines[4:] == [PONG, b""]


def test_messages_are_handled_one_after_another() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.input.feed_data(wait_for(30) + PING.replace(b"1,", b"2,") + b"\n")
        await asyncio.sleep(29)
        assert given.output.data == b""
        await asyncio.sleep(2)
        return [answer["id"] for answer in given.output.answers], given.output.at_s

    assert session(body) == ([1, 2], [30, 30])


def test_the_end_of_the_input_cuts_a_wait_and_what_follows_is_still_done() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.input.feed_data(wait_for(600) + PING.replace(b"1,", b"2,") + b"\n")
        await asyncio.sleep(10)
        given.input.feed_eof()
        await given.serving
        return [answer["id"] for answer in given.output.answers], loop.time()

    assert session(body) == ([2], 10.25)


def test_the_end_of_the_input_finishes_any_other_call() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        async def slow(request: Any) -> Any:
            await asyncio.sleep(15)
            return {}

        given.rig.vault.answer = slow
        await given.rig.configure()
        given.input.feed_data(wait_for(0, name="vaultclaw_connectors_list"))
        given.input.feed_eof()
        await given.serving
        return given.output.answers[0]["result"]["structuredContent"]["ok"], loop.time()

    assert session(body) == (True, 15)


@pytest.mark.parametrize(("takes_s", "answers", "ended_s"), [(3, 1, 3), (10, 0, 1 + STOP_S)])
def test_told_to_stop_it_finishes_what_ends_in_time(takes_s: int, answers: int, ended_s: float) -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        async def slow(request: Any) -> Any:
            await asyncio.sleep(takes_s)
            return {}

        given.rig.vault.answer = slow
        await given.rig.configure()
        given.input.feed_data(wait_for(0, name="vaultclaw_connectors_list") + PING + b"\n")
        await asyncio.sleep(1)
        await given.stdio.stop()
        await given.serving
        return len(given.output.answers), loop.time()

    assert session(body) == (answers, ended_s)


def test_told_to_stop_it_cuts_a_wait() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.input.feed_data(wait_for(600))
        await asyncio.sleep(1)
        await given.stdio.stop()
        await given.serving
        return given.output.answers, loop.time()

    assert session(body) == ([], 1.25)


def test_told_to_stop_while_idle() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        await asyncio.sleep(1)
        await given.stdio.stop()
        return given.serving.done(), loop.time()

    assert session(body) == (True, 1)


def test_a_stream_that_can_not_be_cut_ends_with_what_was_wrong() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.input.feed_data(PING + b"\nGET / HTTP/1.1\r\n\r\n")
        with pytest.raises(FramingError, match="Content-Length"):
            await given.serving
        return given.output.data

    assert session(body) == PONG + b"\n"


def test_a_reader_that_is_gone_ends_it_quietly() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.output.broken = True
        given.input.feed_data(PING + b"\n")
        await given.serving
        return True

    assert session(body)


def test_ten_megabytes_in_a_line() -> None:
    async def body(given: Session, loop: VirtualLoop) -> Any:
        given.input.feed_data(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * 10_000_000 + b'"}\n')
        given.input.feed_eof()
        await given.serving
        return given.output.data

    assert session(body) == PONG + b"\n"


def test_on_real_descriptors() -> None:
    """Pipes of the operating system, in real time: the threads behind them hand bytes and errors over."""

    async def main() -> bytes:
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        os.write(our_out, PING + b"\n" + PING)
        os.close(our_out)
        stdio = Stdio(Rig(FakeVault()).core, FileReader(their_in), FileWriter(their_out))
        await asyncio.wait_for(stdio.serve(), 10)
        os.close(their_out)
        with os.fdopen(our_in, "rb") as file:
            return file.read()

    assert asyncio.run(main()) == (PONG + b"\n") * 2


def test_a_closed_pipe_of_the_operating_system_ends_it() -> None:
    async def main() -> None:
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        os.close(our_in)
        os.write(our_out, PING + b"\n")
        stdio = Stdio(Rig(FakeVault()).core, FileReader(their_in), FileWriter(their_out))
        await asyncio.wait_for(stdio.serve(), 10)
        os.close(our_out)

    asyncio.run(main())
