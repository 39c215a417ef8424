"""Parts of a system as a user serves them, commands as a user types them, and laws played on what is served."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from lasttick.laws.deployment import Deployment
from lasttick.laws.gate.live import LawPlay
from lasttick.targets.nursery import Forked, nursery

from .playing import ROOT, all_laws

START_S = 60.0
LAWS = all_laws()


class Part:
    """`lasttick serve ARGUMENTS` as a process of its own."""

    def __init__(self, folder: Path, name: str, *arguments: str, environ: Mapping[str, str] | None = None) -> None:
        self.log = folder / f"{name}.log"
        self.log.touch()
        self.child: Forked = nursery().begin(["serve", *arguments], self.log, dict(environ or {}))

    def url(self) -> str:
        return ready_url(self.log)

    def stop(self) -> None:
        self.child.terminate()
        assert self.child.wait(20) == 0, self.log.read_text()


def ready_url(log: Path) -> str:
    deadline_s = time.monotonic() + START_S
    while time.monotonic() < deadline_s:
        for line in log.read_text().splitlines():
            if line.startswith('{"name"') and line.endswith("}"):
                return str(json.loads(line)["url"])
        time.sleep(0.05)
    raise AssertionError(f"not ready: {log.read_text()}")


def environ_of(folder: Path) -> dict[str, str]:
    """What this process has, without settings of lasttick, and `lasttick` as a command."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "lasttick"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lasttick "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LASTTICK_", "PYTEST_"))}
    path = os.pathsep.join([str(ROOT / "harness"), str(ROOT / "fakes")])
    return {**kept, "PATH": f"{folder / 'bin'}:{kept['PATH']}", "PYTHONPATH": path}


def ran(words: list[str], folder: Path, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)


async def nothing_more(deployment: Deployment) -> None:
    """Every law has given up what it held."""


def play_of(law: str) -> LawPlay:
    found = LAWS[law]
    assert found.spec.law is not None
    return LawPlay(law, found.function, found.spec.law.seconds, found.spec.law.invariant)
