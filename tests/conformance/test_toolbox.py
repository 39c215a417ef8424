"""Which tools are found, in which folder, and what is said when they are not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lasttick.conformance import install, toolbox
from lasttick.conformance.install import InstallFailed
from lasttick.conformance.toolbox import Node, Toolbox

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """`program("node", "echo v20.1.0")`: an executable of that name, and nothing else, on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


def test_the_folder_is_asked_for_named_or_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert toolbox.folder_of({}) == tmp_path / ".cache/lasttick/tools"
    assert toolbox.folder_of({"XDG_CACHE_HOME": "/c"}) == Path("/c/lasttick/tools")
    assert toolbox.folder_of({"XDG_CACHE_HOME": "not/absolute"}) == tmp_path / ".cache/lasttick/tools"
    named = {"XDG_CACHE_HOME": "/c", "LASTTICK_TOOLS": "~/tools"}
    assert toolbox.folder_of(named) == tmp_path / "tools"
    assert toolbox.folder_of(named, Path("/asked")) == Path("/asked")


def test_an_old_node_is_named_and_not_used(program: Program, tmp_path: Path) -> None:
    node = program("node", "echo v20.20.2")
    box = toolbox.look(tmp_path / "tools")
    assert box.node is None
    lacks = box.lacks("0.1.16", inspector=True)
    assert lacks is not None
    assert f"Node 22 or newer (found: v20.20.2 at {node})" in lacks
    assert "@modelcontextprotocol/conformance 0.1.16" in lacks
    assert "@modelcontextprotocol/inspector 2.12.0" in lacks
    assert "lasttick conformance install" in lacks


@pytest.mark.parametrize("body", ["exit 1", "true", "echo nonsense"])
def test_a_node_that_says_no_version_is_none(program: Program, tmp_path: Path, body: str) -> None:
    program("node", body)
    assert toolbox.look(tmp_path).node is None


def test_what_is_there_is_found(program: Program, tmp_path: Path) -> None:
    program("node", "echo v24.19.0")
    for script in (
        "conformance-0.1.16/node_modules/@modelcontextprotocol/conformance/dist/index.js",
        "inspector-2.12.0/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    ):
        (tmp_path / script).parent.mkdir(parents=True)
        (tmp_path / script).touch()
    box = toolbox.look(tmp_path)
    assert box.lacks("0.1.16", inspector=True) is None
    assert "0.2.0-alpha.12" in str(box.lacks("0.1.16", "0.2.0-alpha.12"))
    assert toolbox.look(tmp_path / "elsewhere").lacks("0.1.16") is not None


def test_the_major_version() -> None:
    assert [Node(Path("n"), said).major for said in ("v24.19.0", "22.1", "", "x")] == [24, 22, 0, 0]


def test_without_npm_the_installation_says_so(program: Program, tmp_path: Path) -> None:
    program("node", "echo v24.19.0")
    with pytest.raises(InstallFailed, match="no npm on PATH"):
        install.install(tmp_path / "tools", lambda line: None)


def test_an_npm_that_fails_is_shown_with_its_words(program: Program, tmp_path: Path) -> None:
    program("node", "echo v24.19.0")
    program("npm", "echo 'network is unreachable' >&2; exit 7")
    with pytest.raises(InstallFailed) as failed:
        install.install(tmp_path / "tools", lambda line: None)
    assert "exit code 7" in str(failed.value)
    assert "network is unreachable" in str(failed.value)
    assert "next:" in str(failed.value)


def test_an_npm_that_installs_nothing_is_noticed(program: Program, tmp_path: Path) -> None:
    program("node", "echo v24.19.0")
    program("npm", "exit 0")
    with pytest.raises(InstallFailed, match="installed, and still"):
        install.install(tmp_path / "tools", lambda line: None)


def test_what_is_there_is_not_installed_again(program: Program, tmp_path: Path) -> None:
    program("node", "echo v24.19.0")
    for version in toolbox.SUITES:
        script = toolbox.suite_root(tmp_path, version) / "node_modules" / toolbox.SUITE_PACKAGE / "dist/index.js"
        script.parent.mkdir(parents=True)
        script.touch()
    launcher = toolbox.inspector_root(tmp_path) / "node_modules" / toolbox.INSPECTOR_PACKAGE
    (launcher / "clients/launcher/build").mkdir(parents=True)
    (launcher / "clients/launcher/build/index.js").touch()
    said: list[str] = []
    assert install.install(tmp_path, said.append).lacks(*toolbox.SUITES, inspector=True) is None
    assert said == []


def test_an_empty_toolbox_lacks_everything() -> None:
    lacks = Toolbox(Path(os.sep)).lacks(*toolbox.SUITES)
    assert lacks is not None
    assert "found: none" in lacks
