"""`lasttick doctor`: a row for everything, whatever the machine is like, and never a traceback."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lasttick.cli import execute

# The package has a command of that name, too.
doctor = importlib.import_module("lasttick.cli.doctor")

NAMES = [
    "Python",
    "libraries",
    "extra redis",
    "extra postgres",
    "extra browser",
    "Redis server",
    "PostgreSQL server",
    "Chromium",
    "Node 22 or newer",
    "MCP suite 0.1.16",
    "MCP suite 0.2.0-alpha.12",
    "MCP Inspector",
    "/dev/shm",
    "cores",
    "file descriptors",
    "SIGSTOP",
]


def rows(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert execute(["doctor", "--json", *arguments]) == code
    said = json.loads(capsys.readouterr().out)
    assert (said["version"], said["healthy"]) == (1, code == 0)
    return {row["name"]: row for row in said["rows"]}


def test_every_row_says_what_it_is_for_and_how_to_get_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = rows(capsys, "--tools", str(tmp_path))
    assert list(found) == NAMES
    assert all(row["needed_by"] and row["get_it"] for row in found.values())
    assert found["MCP Inspector"]["status"] == "missing"
    assert found["MCP Inspector"]["get_it"] == "lasttick conformance install"
    assert found["Python"]["core"]


def test_a_person_reads_how_to_get_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert execute(["doctor", "--tools", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "get: lasttick conformance install" in out
    assert "Scenarios, laws and demo run here" in out


def test_nothing_at_all_is_rows_and_not_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "REDIS", ("127.0.0.1", 1))
    monkeypatch.setattr(doctor, "POSTGRES", ("127.0.0.1", 1))
    found = rows(capsys, "--tools", str(tmp_path))
    missing = {name for name, row in found.items() if row["found"] is None}
    assert {"Redis server", "PostgreSQL server", "Chromium", "Node 22 or newer", "MCP Inspector"} <= missing


def test_without_a_library_it_is_not_healthy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "mcp":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert rows(capsys, "--tools", str(tmp_path), code=1)["libraries"]["status"] == "MISSING"


@pytest.fixture
def mute() -> Iterator[tuple[str, int]]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()


@pytest.fixture
def rude() -> Iterator[tuple[str, int]]:
    """A server that is something else."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()


def test_who_does_not_answer_is_given_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mute: tuple[str, int]
) -> None:
    monkeypatch.setattr(doctor, "PROBE_S", 0.2)
    monkeypatch.setattr(doctor, "REDIS", mute)
    monkeypatch.setattr(doctor, "POSTGRES", mute)
    found = rows(capsys, "--tools", str(tmp_path))
    assert [found[name]["found"] for name in ("Redis server", "PostgreSQL server")] == [None, None]


def test_another_server_at_the_port_is_not_taken_for_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rude: tuple[str, int]
) -> None:
    monkeypatch.setattr(doctor, "REDIS", rude)
    monkeypatch.setattr(doctor, "POSTGRES", rude)
    found = rows(capsys, "--tools", str(tmp_path))
    assert [found[name]["found"] for name in ("Redis server", "PostgreSQL server")] == [None, None]
