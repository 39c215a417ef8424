"""A body is bounded before and after it is unpacked. Source: ruling VC-8."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import pytest

from lasttick.reference.vaultclaw.inflated import BodyRefused, inflated

TEXT = b"".join(b"line %d\n" % n for n in range(2_000))
BOUND = len(TEXT)


def taken(data: bytes, encoding: str, chunk: int = 100, bound: int = BOUND) -> bytes:
    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), chunk):
            yield data[at : at + chunk]

    return asyncio.run(inflated(chunks(), encoding, bound))


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
def test_packed_or_not_it_is_the_same(chunk: int) -> None:
    assert taken(TEXT, "", chunk) == taken(TEXT, " Identity ", chunk) == TEXT
    assert taken(gzip.compress(TEXT), "gzip", chunk) == taken(gzip.compress(TEXT), "X-Gzip", chunk) == TEXT
    parts = gzip.compress(TEXT[:99]) + gzip.compress(b"") + gzip.compress(TEXT[99:])
    assert taken(parts, "gzip", chunk) == TEXT, "members one after another"
    assert taken(b"", "gzip", chunk) == b""


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_the_bound_is_exact(encoding: str, chunk: int) -> None:
    data = gzip.compress(TEXT) if encoding else TEXT
    with pytest.raises(BodyRefused, match="longer than"):
        taken(data, encoding, chunk, BOUND - 1)


def test_a_bomb_is_not_unfolded() -> None:
    bomb = gzip.compress(bytes(1 << 28))
    with pytest.raises(BodyRefused, match="longer than 1000 bytes"):
        taken(bomb, "gzip", 1 << 20, 1_000)
    with pytest.raises(BodyRefused, match="longer than"):
        taken(gzip.compress(b"") * 100, "gzip", 100, 1_000)


@pytest.mark.parametrize("encoding", ["deflate", "br", "gzip, gzip", "zstd", "x" * 99])
def test_other_packings_are_refused(encoding: str) -> None:
    with pytest.raises(BodyRefused, match="not asked for"):
        taken(TEXT, encoding)


def test_what_is_no_gzip() -> None:
    for data in (TEXT, zlib.compress(TEXT), gzip.compress(TEXT) + b"more", gzip.compress(TEXT)[:-1] + b"x"):
        with pytest.raises(BodyRefused, match="no gzip"):
            taken(data, "gzip", bound=BOUND * 2)
    for cut in (1, 5, 20, 1_000):
        with pytest.raises(BodyRefused, match="ends within"):
            taken(gzip.compress(TEXT)[:-cut], "gzip")
