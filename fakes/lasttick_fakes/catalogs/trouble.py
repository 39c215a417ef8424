"""What can a hostile or sick catalog do to its caller? Trouble as data.

| kind | the caller sees |
|---|---|
| slow | the answer `s` seconds late |
| trickle | the answer in ten pieces, `s` seconds between them: no single read is slow |
| hang | nothing, until it leaves |
| down | a connection that breaks inside the answer |
| half | the answer's first half, then a broken connection |
| cut | the answer's first half as if it were all |
| status | `status` with a page of HTML |
| garbage | 200 and the body `garbage(shape)`; shape `html` is the page of somebody's proxy |
| redirect | `status` (302 when none) to `to`, whatever it is: another origin, another scheme, this same URL |
| endless | 302 to this path with a number that grows: no URL comes twice |
| bomb | a JSON text of `mib` MiB, gzipped to about a thousandth |
| huge | a JSON text of `mib` MiB as it is, without saying its length |

A redirect chain is several entries, on the paths and catalogs that it passes. `heal` ends them all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lasttick_fakes.http_json import Refused, shown
from lasttick_fakes.thirdparty.trouble import SHAPES
from lasttick_fakes.vaultd import scripted
from lasttick_fakes.vaultd.connectors import seconds

Kind = Literal[
    "slow", "trickle", "hang", "down", "half", "cut", "status", "garbage", "redirect", "endless", "bomb", "huge"
]
KINDS: tuple[str, ...] = get_args(Kind)
MIB = 1 << 20
MIB_MAX = 4096
_HEAD, _TAIL = b'{"type": "', b'"}'


@dataclass(frozen=True, slots=True)
class Trouble:
    """Which requests meet it: `scripted.py`. Raises Refused."""

    kind: Kind
    s: float = 0.0
    status: int | None = None
    shape: str = "html"
    to: str = ""
    mib: int = 64
    method: str | None = None
    path: str | None = None
    count: int | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Refused(400, f"unknown trouble {shown(self.kind)}; known are {', '.join(KINDS)}; use one")
        seconds(self.s, "s")
        low, high = (300, 399) if self.kind == "redirect" else (200, 599)
        if self.status is not None and (type(self.status) is not int or not low <= self.status <= high):
            raise Refused(400, f"status is {shown(self.status)}; expected {low} to {high}; correct it")
        if self.shape not in SHAPES:
            raise Refused(400, f"shape is {shown(self.shape)}; known are {', '.join(SHAPES)}; use one")
        if not isinstance(self.to, str) or (self.kind == "redirect" and not self.to):
            raise Refused(400, f"to is {shown(self.to)}; expected where the redirect leads; give it")
        if type(self.mib) is not int or not 1 <= self.mib <= MIB_MAX:
            raise Refused(400, f"mib is {shown(self.mib)}; expected 1 to {MIB_MAX}; correct it")
        scripted.check(self)


def parse(body: Mapping[str, Any]) -> Trouble:
    """A trouble from decoded JSON. Raises Refused (400)."""
    return scripted.parse(Trouble, KINDS, body)


def huge(mib: int) -> Iterator[bytes]:
    """A JSON object whose text is `mib` MiB, and the brackets around them."""
    block = b"x" * MIB
    yield _HEAD
    for _ in range(mib):
        yield block
    yield _TAIL


def bomb(mib: int) -> Iterator[bytes]:
    """The same text, gzipped. The block is compressed once and repeated, so that a large bomb costs nothing to make."""
    block = b"x" * MIB
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    # After a full flush nothing refers to what came before: the same bytes may follow again.
    yield packer.compress(_HEAD) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = zlib.crc32(_HEAD)
    for _ in range(mib):
        checksum = zlib.crc32(block, checksum)
        yield packed
    end = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield end.compress(_TAIL) + end.flush()
    size = len(_HEAD) + mib * MIB + len(_TAIL)
    yield zlib.crc32(_TAIL, checksum).to_bytes(4, "little") + (size % (1 << 32)).to_bytes(4, "little")
