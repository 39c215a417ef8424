"""Boot registration by itself, on a folder of the scenario's (memory rung): once, killed at a step, or in a race.

Source: contract gateway, boot registration (GW-16).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from lasttick.reference.gateway import registration
from lasttick.reference.gateway.boot import boot
from lasttick.reference.gateway.registration import RegistrationError
from lasttick.targets.forked import Barrier, Ended, Forked, kill_at, meet_at_making


class BootRung:
    """Each home is a new folder with one `config.yaml`."""

    interpreter = sys.executable

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._homes = 0

    def home(self, content: bytes | None) -> Path:
        """The path of a `config.yaml` with this content; None: there is no such file."""
        folder = self._folder / f"home-{self._homes}"
        self._homes += 1
        folder.mkdir(parents=True)
        path = folder / registration.FILE_NAME
        if content is not None:
            path.write_bytes(content)
        return path

    def boot(self, path: Path) -> str | None:
        """Boot once. Why nothing was registered; None when all is well."""
        done = boot(path.parent, interpreter=self.interpreter)
        return str(done) if isinstance(done, RegistrationError) else None

    def killed_boot(self, path: Path, step: int) -> Ended:
        """A boot in a process that dies just before its file operation number `step`."""
        return Forked(self._work(path), folder=path.parent, step=kill_at(step)).wait()

    def cut_boot(self, path: Path, file_bytes_max: int) -> Ended:
        """A boot in a process that dies in a write past that many bytes of a file."""
        return Forked(self._work(path), file_bytes_max=file_bytes_max).wait()

    def disturbed_boot(self, path: Path, step: int, rewrite: Callable[[], None]) -> tuple[Ended, bool]:
        """A boot during which somebody rewrites the file just before step `step`, and whether that step came."""
        mark = path.parent.with_suffix(".rewritten")

        def interfere(number: int, makes: bool) -> None:
            # The rewrite is made of such steps itself.
            if number == step and not mark.exists():
                mark.touch()
                rewrite()

        ended = Forked(self._work(path), folder=path.parent, step=interfere).wait()
        return ended, mark.exists()

    def racing_boots(self, path: Path, count: int) -> list[Ended]:
        """That many boots, each of which has seen the file before any of them writes."""
        barrier = Barrier(count)
        boots = [Forked(self._work(path), folder=path.parent, step=meet_at_making(barrier)) for _ in range(count)]
        barrier.open()
        ends = [one.wait() for one in boots]
        barrier.close()
        return ends

    def _work(self, path: Path) -> Callable[[], str]:
        def work() -> str:
            return self.boot(path) or ""

        return work
