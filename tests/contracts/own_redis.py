"""How do tests kill a Redis, let it fail over, or cut a line to it? Processes of their own, and a link in between."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .shared_servers import absent

UP_S = 10.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class OwnRedis:
    """A redis-server that keeps nothing on disk. `kill` and `start` again: it is empty."""

    def __init__(self, folder: Path, *options: str) -> None:
        program = shutil.which("redis-server")
        if program is None:
            absent("redis-server is not installed; install it (as in apt-get install redis-server)")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._words = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)]
        self._words += ["--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._words, stdout=subprocess.DEVNULL)
        until = time.monotonic() + UP_S
        while True:
            try:
                if self.say("PING").startswith(b"+PONG"):
                    return
            except OSError:
                pass
            assert time.monotonic() < until, "redis-server did not come up"
            time.sleep(0.02)

    def say(self, *words: str) -> bytes:
        """One command, and the first piece of its answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as wire:
            wire.sendall(" ".join(words).encode() + b"\r\n")
            return wire.recv(65_536)

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Link:
    """A line to a port of this machine. `cut_after` lets a request with these bytes through, and cuts when its answer
    comes, `cuts` times.
    """

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._server: asyncio.Server | None = None
        self._wires: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.port = 0
        self.cut_after = b""
        self.cuts = 0
        self.done = 0
        """How many cuts there were."""

    async def __aenter__(self) -> Link:
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """No line any more, old or new."""
        if self._server is not None:
            self._server.close()
        for wire in self._wires:
            wire.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        self._wires += [writer, to_writer]
        cut = asyncio.Event()

        async def requests() -> None:
            while data := await reader.read(65_536):
                if self.cuts > 0 and self.cut_after and self.cut_after in data:
                    self.cuts -= 1
                    cut.set()
                to_writer.write(data)
            to_writer.close()

        async def answers() -> None:
            while data := await to_reader.read(65_536):
                if cut.is_set():
                    self.done += 1
                    break
                writer.write(data)
            writer.close()
            to_writer.close()

        self._tasks += [asyncio.create_task(requests()), asyncio.create_task(answers())]
