"""Lines from strangers: however they are cut, the same lines; however long one is, a bounded one."""

import asyncio
import os
import socket
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.loop import run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.reference.lineup import streams
from lasttick.reference.lineup.streams import LineCutter, StdioStream, whole_lines

LIMIT = 5


@given(st.lists(st.binary(max_size=12)))
def test_however_the_bytes_are_cut_the_lines_are_the_same(chunks):
    cutter = LineCutter(LIMIT)
    lines = [line for chunk in chunks for line in cutter.feed(chunk)] + cutter.end()
    *whole, rest = b"".join(chunks).split(b"\n")
    assert lines == [line[: LIMIT + 1] for line in (*whole, *([rest] if rest else []))]


def test_a_line_without_end_costs_no_more_than_the_limit():
    cutter = LineCutter(LIMIT)
    for _ in range(100):
        assert cutter.feed(b"x" * 1_000) == []
    assert cutter.feed(b"\nab\n") == [b"x" * (LIMIT + 1), b"ab"]
    assert cutter.end() == []


def test_a_stream_with_a_limit_of_its_own_is_read_on():
    async def main(loop):
        ours, theirs = pipe_pair()
        overruns = []
        ours.write(b"before\n" + b"x" * (2**26 + 1) + b"\nafter\n")
        ours.close()
        return [line async for line in whole_lines(theirs, lambda: overruns.append(1))], len(overruns)

    assert run_virtual(main) == ([b"before", b"after"], 1)


def test_a_flood_of_lines_keeps_nobody_from_working():
    """A card's deadline must be met while an agent writes nonsense as fast as it can."""

    async def main(loop):
        ours, theirs = pipe_pair()
        ours.write(b"x\n" * 10_000)
        ours.close()
        read, seen = 0, []

        async def other():
            while read < 10_000:
                seen.append(read)
                await asyncio.sleep(0)

        working = asyncio.create_task(other())
        async for _ in whole_lines(theirs, seen.clear):
            read += 1
        await working
        return seen

    seen = run_virtual(main)
    assert max(later - earlier for earlier, later in pairwise(seen)) <= streams.BURST_LINES


def test_pipes_carry_lines_both_ways_and_are_left_as_they_were_found():
    async def main():
        read, their_write = os.pipe()
        their_read, write = os.pipe()
        stream = StdioStream(LIMIT, read, write)
        await stream.open()
        stream.write(b"out\n")
        os.write(their_write, b"one\r\ntoo long\nha")
        os.close(their_write)
        lines = [line async for line in stream.lines()]
        stream.close()
        stream.close()
        await asyncio.sleep(0)
        said = os.read(their_read, 100)
        blocking = os.get_blocking(read), os.get_blocking(write)
        with pytest.raises(BrokenPipeError, match="output is closed"):
            stream.write(b"late\n")
        for fd in (read, write, their_read):
            os.close(fd)
        return lines, said, blocking

    assert asyncio.run(main()) == ([b"one\r", b"too lo", b"ha"], b"out\n", (True, True))


def test_what_is_written_before_the_close_still_goes_out():
    """More than a pipe holds: the rest goes when the other side reads."""

    async def main():
        their_read, write = os.pipe()
        read, their_write = os.pipe()
        stream = StdioStream(LIMIT, read, write)
        await stream.open()
        stream.write(b"y" * 1_000_000)
        stream.close()
        os.close(write)
        loop = asyncio.get_running_loop()
        count = 0
        while chunk := await loop.run_in_executor(None, os.read, their_read, 1 << 16):
            count += len(chunk)
        for fd in (read, their_write, their_read):
            os.close(fd)
        return count

    assert asyncio.run(main()) == 1_000_000


def test_a_reader_that_is_gone_or_does_not_read_is_an_error(monkeypatch):
    monkeypatch.setattr(streams, "UNREAD_BYTES_MAX", 1_000_000)

    async def main(say):
        ours, theirs = socket.socketpair()
        stream = StdioStream(LIMIT, ours.fileno(), ours.fileno())
        await stream.open()
        try:
            await say(stream, theirs)
        finally:
            stream.close()
            await asyncio.sleep(0.01)
            assert ours.getblocking()
            assert os.get_blocking(ours.fileno())
            ours.close()
            theirs.close()

    async def gone(stream, theirs):
        theirs.close()
        async with asyncio.timeout(10):
            while True:
                stream.write(b"x" * 100_000)
                await asyncio.sleep(0.001)

    async def deaf(stream, theirs):
        while True:
            stream.write(b"x" * 100_000)

    with pytest.raises(BrokenPipeError, match="output is closed"):
        asyncio.run(main(gone))
    with pytest.raises(BrokenPipeError, match="bytes are unread; expected a host that reads"):
        asyncio.run(main(deaf))


@pytest.mark.parametrize("content", [b"", b"one\ntwo\n"])
def test_files_and_the_null_device_are_streams_too(tmp_path: Path, content):
    (tmp_path / "in").write_bytes(content)

    async def main():
        source = os.open(tmp_path / "in" if content else os.devnull, os.O_RDONLY)
        target = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
        stream = StdioStream(LIMIT, source, target)
        await stream.open()
        lines = [line async for line in stream.lines()]
        stream.write(b"out\n")
        stream.close()
        os.close(source)
        os.close(target)
        return lines

    assert asyncio.run(main()) == content.splitlines()
    assert (tmp_path / "out").read_bytes() == b"out\n"
