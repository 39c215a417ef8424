"""Two framings on one stream, however it is dealt out. Source: contract vaultclaw 3; VC-01."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw import framing
from lasttick.model.vaultclaw.framing import Frame, Framer, FramingError


def framed(data: bytes, *cuts: int) -> list[Frame]:
    """All messages of `data`, fed in the pieces that `cuts` make."""
    framer, found = Framer(), []
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for low, high in itertools.pairwise(bounds):
        framer.feed(data[low:high])
        while (frame := framer.next()) is not None:
            found.append(frame)
    framer.end()
    while (frame := framer.next()) is not None:
        found.append(frame)
    return found


LINE = Frame(b'{"a":1}', headed=False)


@pytest.mark.parametrize(
    ("data", "frames"),
    [
        (b'{"a":1}\n', [LINE]),
        (b'{"a":1}', [LINE]),  # no newline at the end
        (b'\n \r\n\t{"a":1} \r\n\n', [LINE]),
        (b"[1]\n", [Frame(b"[1]", headed=False)]),
        (b"", []),
        (b" \n\n", []),
        (b"Content-Length: 7\r\n\r\n" + LINE.body, [Frame(LINE.body, headed=True)]),
        (b"cOnTeNt-LENGTH:7\nX: y\n\n" + LINE.body + LINE.body + b"\n", [Frame(LINE.body, headed=True), LINE]),
        (b"X: y\r\nContent-Length : 7\r\n\r\n" + LINE.body, [Frame(LINE.body, headed=True)]),
        (b"Content-Length: 0\r\n\r\n", [Frame(b"", headed=True)]),
        (b'Content-Length: 9\r\n\r\n{\n"a":\n1}', [Frame(b'{\n"a":\n1}', headed=True)]),
    ],
)
def test_messages(data: bytes, frames: list[Frame]) -> None:
    assert framed(data) == frames
    assert framed(data, *range(len(data))) == frames  # byte by byte


@pytest.mark.parametrize(
    "data",
    [
        b"hello\n\n",
        b"hello",
        b"\0{}\n\n",
        b"Content-Length: x\n\n",
        b"Content-Length: -1\n\n",
        b"Content-Length: 999999999999\n\n",
        b"Content-Length: 10\n\n123",
        b"Content-Length: 10\n",
        b"X: y\n" * 20_000,
    ],
)
def test_what_can_not_be_cut_ends_the_stream(data: bytes) -> None:
    with pytest.raises(FramingError, match="expected"):
        framed(data)


def test_a_line_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MESSAGE_MAX", 1000)
    framer = Framer()
    framer.feed(b"{" * 1001)
    with pytest.raises(FramingError, match="1000 bytes"):
        framer.next()


def test_ten_megabytes_in_one_line() -> None:
    line = b'{"a":"' + b"x" * 10_000_000 + b'"}'
    framer = Framer()
    for i in range(0, len(line), 1 << 16):
        assert framer.next() is None
        framer.feed(line[i : i + (1 << 16)])
    framer.feed(b"\n")
    assert framer.next() == Frame(line, headed=False)


def test_answers_go_back_in_the_framing_of_the_request() -> None:
    assert Frame(b"", headed=False).wrapped(b"{}") == b"{}\n"
    assert Frame(b"", headed=True).wrapped("é".encode()) == b"Content-Length: 2\r\n\r\n\xc3\xa9"


BODIES = st.binary(max_size=30).map(lambda inner: b"{" + inner.replace(b"\n", b" ").strip() + b"}")


@given(
    messages=st.lists(st.tuples(BODIES, st.booleans(), st.sampled_from([b"", b"\n", b" \r\n"])), max_size=6),
    cuts=st.lists(st.integers(0, 500), max_size=8),
)
def test_any_stream_in_any_pieces(messages: list[tuple[bytes, bool, bytes]], cuts: list[int]) -> None:
    frames = [Frame(body, headed) for body, headed, _ in messages]
    data = b"".join(frame.wrapped(frame.body) + blank for frame, (_, _, blank) in zip(frames, messages, strict=True))
    assert framed(data, *cuts) == frames
