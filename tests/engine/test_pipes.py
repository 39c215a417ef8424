"""Byte pipes: real framing between two parties in one process, and an MCP server over them in both eras."""

import pytest

from lasttick.engine.loop import run_virtual
from lasttick.engine.pipes import pipe_pair


def test_lines_arrive_whole_however_they_were_cut():
    async def main(loop):
        ours, theirs = pipe_pair()
        for piece in (b'{"a"', b":1}\n{", b'"b":2}\r\n', b"half"):
            ours.write(piece)
        ours.close()
        return [line async for line in theirs.lines()]

    assert run_virtual(main) == [b'{"a":1}', b'{"b":2}', b"half"]


def test_both_directions_are_independent():
    async def main(loop):
        ours, theirs = pipe_pair()
        ours.write(b"ping\n")
        theirs.write(b"pong\n")
        ours.close()
        theirs.close()
        return [line async for line in theirs.lines()], [line async for line in ours.lines()]

    assert run_virtual(main) == ([b"ping"], [b"pong"])


def test_writing_to_a_closed_pipe_is_an_error():
    async def main(loop):
        ours, _ = pipe_pair()
        ours.close()
        ours.close()
        ours.write(b"late\n")

    with pytest.raises(BrokenPipeError, match="closed pipe"):
        run_virtual(main)
