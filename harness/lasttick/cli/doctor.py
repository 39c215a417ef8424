"""`lasttick doctor`: what can this machine run, and how does one get the rest?

Every probe is bounded in time and ends in a row, whatever it meets; nothing is changed, and nothing but loopback is
asked. Exit code 0, also when optional things are missing; 1 when what everything needs is. Source: DESIGN, "What a
user sees".
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from packaging.requirements import Requirement

from lasttick.cli.errors import FAILED, PASSED

VERSION = 1
LIBRARIES = ("mcp>=2.3", "pytest>=9", "hypothesis", "httpx", "fastapi", "uvicorn", "pydantic>=2", "typer", "rich")
"""What is looked for where the distribution's own list is not there, as in a checkout that was never installed."""
PROBE_S = 2.0
PYTHON_MIN = (3, 11)
FILES_MIN = 1024
SHM_MIN_MB = 64
EXTRAS = {
    "redis": "leases in Redis",
    "postgres": "leases in PostgreSQL",
    "browser": "the console in a real browser (HA-17)",
}
"""Extra of the distribution -> what it is for (DESIGN, layout)."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
REDIS, POSTGRES = ("127.0.0.1", 6379), ("127.0.0.1", 5432)
SSL_REQUEST = struct.pack("!II", 8, 80877103)
"""PostgreSQL's first message of a client that would like TLS; any server answers it with one byte."""


@dataclass(frozen=True, slots=True)
class Row:
    """`found`: a version or another word; None when it is missing. `core`: nothing works without it."""

    name: str
    found: str | None
    needed_by: str
    get_it: str
    core: bool = False

    @property
    def status(self) -> str:
        return "found" if self.found is not None else "MISSING" if self.core else "missing"


def doctor(tools: Path | None, *, as_json: bool) -> int:
    """Look, and tell."""
    rows = list(look(tools))
    healthy = all(row.found is not None for row in rows if row.core)
    if as_json:
        listed = [{**asdict(row), "status": row.status} for row in rows]
        print(json.dumps({"version": VERSION, "healthy": healthy, "rows": listed}, indent=1))
    else:
        print("\n".join(page(rows)))
    return PASSED if healthy else FAILED


def page(rows: list[Row]) -> Iterator[str]:
    """A line for each; a missing one says below how to get it."""
    width = max(len(row.name) for row in rows)
    for row in rows:
        yield f"{row.status:<8} {row.name:<{width}}  {row.found or '-'}"
        if row.found is None:
            yield f"{'':8} {'':{width}}  for: {row.needed_by}"
            yield f"{'':8} {'':{width}}  get: {row.get_it}"
    missing = [row for row in rows if row.found is None]
    yield ""
    if any(row.core for row in missing):
        yield "What everything needs is missing; see MISSING above."
    else:
        yield f"Scenarios, laws and demo run here; {len(missing)} optional things are missing."


def look(tools: Path | None = None) -> Iterator[Row]:
    """One row after the other."""
    python, needed = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, PYTHON_MIN))
    fits = sys.version_info[:2] >= PYTHON_MIN
    yield Row("Python", python if fits else None, "everything", f"Python {needed} or newer", core=True)
    yield from _probed("libraries", _libraries, "everything", "pip install lasttick", core=True)
    for extra, needed_by in EXTRAS.items():
        probe = functools.partial(_extra, extra)
        yield from _probed(f"extra {extra}", probe, needed_by, f"pip install 'lasttick[{extra}]'")
    yield from _probed(
        "Redis server", _redis, "leases in Redis", f"a Redis at {_at(REDIS)}, as in: docker run -p 6379:6379 redis"
    )
    yield from _probed(
        "PostgreSQL server",
        _postgres,
        "leases in PostgreSQL",
        f"a PostgreSQL at {_at(POSTGRES)}, as in: docker run -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres",
    )
    yield from _probed("Chromium", _chromium, "the console in a real browser (HA-17)", "your system's package chromium")
    yield from _programs(tools)
    yield from _probed("/dev/shm", _shared_memory, "browsers and process pools", f"{SHM_MIN_MB} MB or more there")
    yield from _probed("cores", _cores, "make test, sweeps (more are quicker)", "a machine with more")
    yield from _probed("file descriptors", _files, "hundreds of sessions (HA-18)", f"ulimit -n {FILES_MIN} or more")
    yield from _probed(
        "SIGSTOP", _stop_and_go, "parts that are paused in process mode", "a sandbox that lets signals by"
    )


def _programs(tools: Path | None) -> Iterator[Row]:
    from lasttick.conformance import toolbox

    box = toolbox.look(toolbox.folder_of(os.environ, tools))
    node = box.node
    others = ", ".join(one.version for one in box.nodes)
    need = f"Node {toolbox.NODE_MIN} or newer"
    yield Row(
        need,
        f"{node.version} at {node.path}" if node else None,
        "the official MCP suite (HA-21)" + (f"; too old: {others}" if others else ""),
        toolbox.GET_THEM,
    )
    for version in toolbox.SUITES:
        found = str(box.suites[version]) if version in box.suites else None
        yield Row(f"MCP suite {version}", found, "the official MCP suite (HA-21)", toolbox.GET_THEM)
    inspector = f"{toolbox.INSPECTOR} at {box.inspector}" if box.inspector else None
    yield Row("MCP Inspector", inspector, "a real client of others (HA-19)", toolbox.GET_THEM)


def _probed(
    name: str, probe: Callable[[], str | None], needed_by: str, get_it: str, *, core: bool = False
) -> Iterator[Row]:
    """Whatever goes wrong in a probe means that the thing cannot be used."""
    try:
        found = probe()
    except (OSError, ValueError, subprocess.SubprocessError, importlib.metadata.PackageNotFoundError):
        found = None
    yield Row(name, found, needed_by, get_it, core)


def _libraries() -> str | None:
    """All that the distribution asks for, in versions that fit; without its metadata, that they can be imported."""
    asked = [one for one in _asked() if _for(one, "")] or [Requirement(line) for line in LIBRARIES]
    if not all(_fits(one) for one in asked):
        return None
    return f"{len(asked)} in versions that fit, mcp {importlib.metadata.version('mcp')}"


def _extra(extra: str) -> str | None:
    """What the extra brings, if all of it is there. None too for an extra that this version does not have."""
    brought = [one for one in _asked() if _for(one, extra) and not _for(one, "")]
    if not brought or not all(_fits(one) for one in brought):
        return None
    return ", ".join(f"{one.name} {importlib.metadata.version(one.name)}" for one in brought)


def _asked() -> list[Requirement]:
    try:
        return [Requirement(line) for line in importlib.metadata.requires("lasttick") or []]
    except importlib.metadata.PackageNotFoundError:
        return []


def _for(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _fits(requirement: Requirement) -> bool:
    """Raises PackageNotFoundError."""
    return requirement.specifier.contains(importlib.metadata.version(requirement.name), prereleases=True)


def _redis() -> str | None:
    """A Redis that wants a password is one too."""
    with socket.create_connection(REDIS, PROBE_S) as connection:
        connection.settimeout(PROBE_S)
        connection.sendall(b"INFO server\r\n")
        said = connection.recv(2048).decode(errors="replace")
    version = re.search(r"redis_version:(\S+)", said)
    if version is not None:
        return f"{version[1]} at {_at(REDIS)}"
    return f"at {_at(REDIS)}, wants a password" if said.startswith("-NOAUTH") else None


def _postgres() -> str | None:
    with socket.create_connection(POSTGRES, PROBE_S) as connection:
        connection.settimeout(PROBE_S)
        connection.sendall(SSL_REQUEST)
        return f"at {_at(POSTGRES)}" if connection.recv(1) in (b"S", b"N") else None


def _chromium() -> str | None:
    from lasttick.conformance.toolbox import said_by

    for name in CHROMIUM:
        if (path := shutil.which(name)) is not None and (version := said_by([path, "--version"])) is not None:
            return f"{version} at {path}"
    return None


def _shared_memory() -> str | None:
    free_mb = shutil.disk_usage("/dev/shm").free // 2**20
    return f"{free_mb} MB free" if free_mb >= SHM_MIN_MB and os.access("/dev/shm", os.W_OK) else None


def _cores() -> str | None:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return str(usable or 1)


def _files() -> str | None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    shown = f"{'unlimited' if soft == unlimited else soft} (hard limit {'none' if hard == unlimited else hard})"
    return shown if soft == unlimited or soft >= FILES_MIN else None


def _stop_and_go() -> str | None:
    """A child of ours is stopped, seen to be stopped, and let go on."""
    # It ends by itself, so that a signal which never arrives does not keep us waiting.
    sleeper = f"import select, sys; select.select([sys.stdin], [], [], {PROBE_S})"
    child = subprocess.Popen([sys.executable, "-c", sleeper], stdin=subprocess.PIPE)
    try:
        child.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        return "allowed" if os.WIFSTOPPED(status) else None
    finally:
        child.kill()
        child.wait(PROBE_S)
        if child.stdin is not None:
            child.stdin.close()


def _at(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
