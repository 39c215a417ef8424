"""The agent program is told of our server at boot; whatever is wrong with its configuration, the boot goes on."""

from __future__ import annotations

import logging
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lasttick.checks.boot_config import only_added
from lasttick.reference.gateway import registration
from lasttick.reference.gateway.boot import boot
from lasttick.reference.gateway.registration import HUMANWORK_ARGS, Registered, RegistrationError, register
from lasttick.targets.forked import Barrier, Forked, kill_at, meet_at_making
from lasttick_fakes.operator_configs import BROKEN, broken_config, operator_config

from .config_oracle import PYTHON, with_ours

OPERATOR = "# ours\nmcp_servers:\n  github: {command: npx}\nmodel: {default: m}\n"


def test_it_is_registered_once_beside_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(OPERATOR)
    assert register(tmp_path, PYTHON) == Registered(path, changed=True)
    data = yaml.safe_load(path.read_text())
    assert data["mcp_servers"]["github"] == {"command": "npx"}
    assert data["mcp_servers"]["humanwork"]["command"] == PYTHON
    assert data["mcp_servers"]["humanwork"]["args"] == list(HUMANWORK_ARGS)
    assert data["mcp_discovery_timeout"] == 30
    first = path.read_bytes()
    assert register(tmp_path, PYTHON) == Registered(path, changed=False)
    assert path.read_bytes() == first


def test_a_new_interpreter_takes_the_old_ones_place(tmp_path: Path) -> None:
    register(tmp_path, PYTHON)
    first = (tmp_path / "config.yaml").read_text()
    assert register(tmp_path, "/usr/bin/python3", ["server.py"]).changed
    changed = first.replace(PYTHON, "/usr/bin/python3").replace(
        '["-I", "-m", "lasttick.reference.gateway.humanwork"]', '["server.py"]'
    )
    assert (tmp_path / "config.yaml").read_text() == changed


BAD = {
    "a list": b"- a\n",
    "no YAML": b"a: [\n",
    "a key twice": b"model: m\nmodel: n\n",
    "not UTF-8": "name: M\u00fcller\n".encode("latin-1"),
    "UTF-16": "model: m\n".encode("utf-16"),
    "servers as a list": b"mcp_servers: []\n",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_configuration_stays_and_the_error_says_why(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    with pytest.raises(RegistrationError) as refused:
        register(tmp_path, PYTHON)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["config.yaml"]
    assert str(path) in refused.value.happened
    assert "left untouched" in refused.value.happened
    assert "contract gateway" in refused.value.expected
    assert "boot again" in refused.value.do


@pytest.mark.parametrize("seed", range(60))
def test_operators_files_keep_every_byte(tmp_path: Path, seed: int) -> None:
    """Each of the generated files, several to a test: merged once, left alone the second time."""
    for n in range(5):
        path = tmp_path / f"home{n}" / "config.yaml"
        path.parent.mkdir()
        config = operator_config(random.Random(seed * 5 + n))
        path.write_bytes(config.text.encode())
        assert register(path.parent, PYTHON).changed
        merged = path.read_bytes().decode()
        before = yaml.safe_load(config.text)
        assert yaml.safe_load(merged) == with_ours(before)
        if not (before or {}).get("mcp_servers"):
            # An explicit null is the one thing that has to go.
            assert only_added(re.sub("(mcp_servers:) (~|null)", r"\1", config.text), merged)
        elif "humanwork" not in before["mcp_servers"]:
            assert only_added(config.text, merged)
        else:
            assert merged.startswith(config.text.split("mcp_servers")[0])
        assert not register(path.parent, PYTHON).changed
        assert path.read_bytes().decode() == merged


@pytest.mark.parametrize("kind", BROKEN)
def test_operators_broken_files_stay(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "config.yaml"
    stream = random.Random(kind)
    config = next(config for config in iter(lambda: broken_config(stream), None) if config.traits == (kind,))
    path.write_bytes(config.text.encode())
    with pytest.raises(RegistrationError):
        register(tmp_path, PYTHON)
    assert path.read_bytes() == config.text.encode()


def test_a_folder_or_a_read_only_file_in_its_place_stays(tmp_path: Path) -> None:
    (tmp_path / "one" / "config.yaml").mkdir(parents=True)
    with pytest.raises(RegistrationError, match="is a directory"):
        register(tmp_path / "one", PYTHON)
    read_only = tmp_path / "two" / "config.yaml"
    read_only.parent.mkdir()
    read_only.write_text(OPERATOR)
    read_only.chmod(0o444)
    with pytest.raises(RegistrationError, match="is read-only"):
        register(read_only.parent, PYTHON)
    assert read_only.read_text() == OPERATOR


def test_the_home_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(RegistrationError, match="cannot be changed: Not a directory"):
        register(tmp_path / "home", PYTHON)


def test_an_interpreter_on_the_path_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(RegistrationError, match="'python3' is not named by its absolute path"):
        register(tmp_path, "python3")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"HERMES_HOME": "/data", "HOME": "/home/a"}, "/data"),
        ({"HERMES_HOME": "", "HOME": "/home/a"}, "/home/a/.hermes"),
        ({"HOME": "/home/a"}, "/home/a/.hermes"),
    ],
)
def test_where_the_configuration_lives(environ: dict[str, str], home: str) -> None:
    assert registration.hermes_home(environ) == Path(home)


def test_killed_at_any_step_the_configuration_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    register(tmp_path / "new", PYTHON)
    seen: list[str] = []
    for step in range(99):
        home = tmp_path / f"home{step}"
        home.mkdir()
        (home / "config.yaml").write_text(OPERATOR)
        ended = Forked(lambda home=home: str(register(home, PYTHON)), folder=home, step=kill_at(step)).wait()  # type: ignore[misc]
        seen.append((home / "config.yaml").read_text())
        register(home, PYTHON)
        last = (home / "config.yaml").read_text()
        if not ended.killed:
            break
    assert set(seen) == {OPERATOR, last}


def test_two_boots_at_once_lose_no_key(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(OPERATOR)
    barrier = Barrier(2)
    boots = [
        Forked(lambda: str(register(tmp_path, PYTHON)), folder=tmp_path, step=meet_at_making(barrier)) for _ in range(2)
    ]
    barrier.open()
    assert all(ended.wait().ok for ended in boots)
    barrier.close()
    data = yaml.safe_load(path.read_text())
    assert list(data["mcp_servers"]) == ["github", "humanwork"]
    assert path.read_text().count("humanwork:") == 1
    assert os.listdir(tmp_path) == ["config.yaml"]


def test_the_boot_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.yaml").write_text("- a\n")
    with caplog.at_level(logging.ERROR):
        assert isinstance(boot(tmp_path), RegistrationError)
    assert "humanwork is not registered" in caplog.text
    (tmp_path / "config.yaml").unlink()
    assert boot(tmp_path) == Registered(tmp_path / "config.yaml", changed=True)


def test_as_a_command(tmp_path: Path) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lasttick.reference.gateway.boot"]
        environ = {**os.environ, "HERMES_HOME": str(tmp_path)}
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)

    first, second = run(), run()
    assert (first.returncode, second.returncode) == (0, 0)
    assert "now names" in first.stderr
    assert "already names" in second.stderr
    assert (
        yaml.safe_load((tmp_path / "config.yaml").read_text())["mcp_servers"]["humanwork"]["command"] == sys.executable
    )
    (tmp_path / "config.yaml").write_text("api_key: sk-secret: [\n")
    third = run()
    assert third.returncode == 1
    assert "not YAML that can be read (line 1, column 19)" in third.stderr
    assert "Traceback" not in third.stderr
    assert "sk-secret" not in third.stderr
