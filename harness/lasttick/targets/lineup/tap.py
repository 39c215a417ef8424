"""What goes over the pipes between adapter and agent? Every frame of both directions, seen between the two.

Neither party is asked: a tap holds the pipes. It also is what a killed adapter leaves behind: an agent whose standard
input has ended.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from lasttick.ports import ChildPrograms, LineStream

Saw: TypeAlias = Callable[[str, dict[str, Any]], None]
SHOWN_BYTES_MAX = 1 << 16
FRAME = "agent.frame"


class TappedPrograms:
    """A `ports.ChildPrograms` around `inner`. `saw("agent.frame", {way: to or from, frame})`; what is no JSON is text,
    what is long is cut in the telling only."""

    def __init__(self, inner: ChildPrograms, saw: Saw) -> None:
        self._inner = inner
        self._saw = saw
        self._streams: list[LineStream] = []

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        """Raises what `inner` raises."""
        stream = await self._inner.start(command, args, env)
        self._streams.append(stream)
        return TappedStream(stream, self._saw)

    def hang_up(self) -> None:
        """The agents' standard input ends, as when their parent is gone."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()


class TappedStream:
    """One agent's pipes."""

    def __init__(self, inner: LineStream, saw: Saw) -> None:
        self._inner = inner
        self._saw = saw

    def write(self, data: bytes) -> None:
        # Told first, as everything that a world sends: nobody can have it before it was on its way.
        for line in data.splitlines():
            self._saw(FRAME, {"way": "to", "frame": _shown(line)})
        self._inner.write(data)

    async def lines(self) -> AsyncIterator[bytes]:
        async for line in self._inner.lines():
            self._saw(FRAME, {"way": "from", "frame": _shown(line)})
            yield line

    def close(self) -> None:
        self._inner.close()


def _shown(line: bytes) -> Any:
    if len(line) > SHOWN_BYTES_MAX:
        return f"{line[:200].decode('utf-8', 'replace')}... {len(line)} bytes"
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line.decode("utf-8", "replace")
