"""One seed in, named random streams out: adding a draw to one stream never moves another.

Streams are derived by name, not by order of creation. The engine uses `schedule` (order of ready tasks), `trouble`
(message delay, faults), `data` (texts, coordinates) and `entropy` (what `os.urandom` gives while a world is open).
Source: DESIGN "Decisions", contract engine.
"""

from __future__ import annotations

import hashlib
import random


def derive(seed: int, *names: object) -> int:
    """A 64-bit seed for the stream `names` of the run `seed`; equal on every machine and Python version."""
    text = "\x1f".join([str(seed), *(str(name) for name in names)])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


class Chance:
    """The random streams of one world."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of that name; the same object each time."""
        if name not in self._streams:
            self._streams[name] = random.Random(derive(self.seed, name))
        return self._streams[name]

    def token_bytes(self, n: int) -> bytes:
        """Bytes for ids and secrets of a virtual world: the `Entropy` port, on the stream `entropy`."""
        return self.stream("entropy").randbytes(n)
