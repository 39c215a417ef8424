"""A chat host on a stream of lines (C-1)."""

import asyncio
import json
import socket

import pytest

from lasttick.engine.clock import SystemClock, VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.model.lineup.frames import FRAME_BYTES_MAX, read_frame
from lasttick.model.lineup.records import Refused
from lasttick.reference.lineup.host_lines import HostLines
from lasttick.reference.lineup.streams import StdioStream

from .host_rig import Core


def test_every_line_is_a_frame_with_the_instant_of_its_reading():
    async def main(loop):
        ours, theirs = pipe_pair()
        core = Core()
        run = asyncio.create_task(HostLines(ours, core, core.attach, VirtualClock(loop)).run())
        theirs.write(b'{"v":1}\n\nnonsense\n')
        await asyncio.sleep(2)
        theirs.write(b"last")
        theirs.close()
        await run
        return core.all, [line async for line in theirs.lines()]

    seen, said = run_virtual(main)
    assert seen == [
        ("attach",),
        ("frame", b'{"v":1}', 0),
        ("frame", b"", 0),
        ("frame", b"nonsense", 0),
        ("frame", b"last", 2_000_000_000),
        ("gone",),
    ]
    assert said == []


@pytest.mark.parametrize("size", [FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, 2**26 + 1])
def test_a_line_that_is_too_long_is_refused_and_the_link_stays_open(size):
    """Also one that the stream under the link does not hand over at all."""
    line = b'{"v":1,"type":"lineup.v1.cancel","payload":{}' + b" " * (size - 46) + b"}"

    async def main(loop):
        ours, theirs = pipe_pair()
        core = Core()
        run = asyncio.create_task(HostLines(ours, core, core.attach, VirtualClock(loop)).run())
        theirs.write(line + b"\n" + b"after\n")
        await asyncio.sleep(0.001)
        await core.links[0].send({"still": "here"})
        theirs.close()
        await run
        return core.frames(), [json.loads(line) async for line in theirs.lines()]

    (first, after), said = run_virtual(main)
    assert len(line) == size
    refused = read_frame(first)
    assert isinstance(refused, Refused) == (size > FRAME_BYTES_MAX)
    if size > FRAME_BYTES_MAX:
        assert "expected at most 1048576" in refused.reason
    assert after == b"after"
    assert said == [{"still": "here"}]


def test_on_real_pipes_a_line_of_any_length_is_one_refused_frame():
    async def main():
        inward, outward = socket.socketpair(), socket.socketpair()
        stream = StdioStream(FRAME_BYTES_MAX, inward[0].fileno(), outward[0].fileno())
        await stream.open()
        core = Core()
        run = asyncio.create_task(HostLines(stream, core, core.attach, SystemClock()).run())
        _, writer = await asyncio.open_connection(sock=inward[1])
        reader, _ = await asyncio.open_connection(sock=outward[1])
        writer.write(b"[" * 20_000_000 + b'\n{"v":1}\n')
        async with asyncio.timeout(20):
            while len(core.frames()) < 2:
                await asyncio.sleep(0.005)
        await core.links[0].send({"still": "here"})
        said = await reader.readline()
        writer.write_eof()
        await run
        for sock in (inward[0], outward[0], writer):
            sock.close()
        return core, said

    core, said = asyncio.run(main())
    long, short = core.frames()
    assert len(long) == FRAME_BYTES_MAX + 1
    assert short == b'{"v":1}'
    assert json.loads(said) == {"still": "here"}
    assert core.all[-1] == ("gone",)


def test_a_frame_goes_out_on_one_line_whatever_its_text():
    frame = {"v": 1, "type": "lineup.v1.message", "payload": {"text": "a\nb\u2028其他\ud800"}}

    async def main(loop):
        ours, theirs = pipe_pair()
        core = Core()
        link = HostLines(ours, core, core.attach, VirtualClock(loop))
        await link.send(frame)
        ours.close()
        with pytest.raises(ConnectionError):
            await link.send(frame)
        return [line async for line in theirs.lines()]

    [line] = run_virtual(main)
    assert json.loads(line) == frame
    assert "其他".encode() in line
