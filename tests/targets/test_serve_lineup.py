"""`lasttick serve lineup`, `hermes` and `host` as real processes: a permission over HTTP, stdio, ends and refusals."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.cli import execute
from lasttick.targets.children import Child
from lasttick.targets.gateway.container import CONFIG_NAME, LEAST_CONFIG
from lasttick_fakes.model import Call, Script
from lasttick_fakes.model.script import Say, as_json

REPOSITORY = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(REPOSITORY / "harness"), str(REPOSITORY / "fakes")])
HERMES = shlex.join([sys.executable, "-m", "lasttick", "serve", "hermes"])
DEADLINE_S = 30.0


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., tuple[Child, dict[str, Any]]]]:
    all_of_them: list[Child] = []

    def start(*arguments: str, **environ: str) -> tuple[Child, dict[str, Any]]:
        child = Child(list(arguments), tmp_path / f"{len(all_of_them)}.log", {"PYTHONPATH": PATHS, **environ})
        all_of_them.append(child)
        while (ready := child.poll_ready()) is None:
            time.sleep(0.02)
        return child, ready

    yield start
    for child in all_of_them:
        if child.running:
            child.kill()


def home(folder: Path, model_url: str) -> dict[str, str]:
    """What the agent reads, in a folder of its own."""
    folder.mkdir()
    (folder / CONFIG_NAME).write_text(LEAST_CONFIG.format(model_url=model_url))
    return {"HERMES_HOME": str(folder), "HERMES_FAKE_PACE": "0"}


def eventually(look: Callable[[], Any]) -> Any:
    end_s = time.monotonic() + DEADLINE_S
    while not (found := look()):
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.02)
    return found


def test_a_permission_over_http_and_four_clean_ends(started: Callable[..., Any], tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    model, model_ready = started("model", "--port", "0")
    environ = home(tmp_path / "hermes", model_ready["url"])
    ledger = tmp_path / "ledger.sqlite"
    lineup, ready = started(
        "lineup", "--agent", HERMES, "--ledger", str(ledger), "--cwd", str(files), "--port", "0", **environ
    )
    assert (ready["name"], ready["url"].startswith("ws://127.0.0.1:")) == ("lineup", True)
    host, host_ready = started("host", "--adapter", ready["url"], "--port", "0")
    script = Script("write", (Call.one("write_file", path="note.txt", content="hello"), Say("Written.")))
    with httpx.Client(trust_env=False, timeout=DEADLINE_S) as http:
        assert http.put(f"{model_ready['url']}/scripts", json=as_json(script)).is_success
        talk = f"{host_ready['url']}/conversations/default"
        assert http.post(f"{talk}/say", json={"text": "write a note"}).is_success
        (card,) = eventually(lambda: http.get(f"{host_ready['url']}/cards").json()["cards"])
        assert not (files / "note.txt").exists()
        assert http.post(f"{talk}/click", json={"call_id": card["call_id"], "action": "Allow edit"}).is_success
        said = eventually(lambda: http.get(talk).json()["said"])
        assert [one["text"].strip() for one in said] == ["Written."]
        assert (files / "note.txt").read_text() == "hello"
        log = http.get(f"{host_ready['url']}/log").json()["log"]
        assert [line["problem"] for line in log if line["problem"]] == []
    for child in (host, lineup, model):
        assert child.stop() == 0
        assert "Traceback" not in child.said()
    assert ledger.stat().st_mode & 0o077 == 0


def test_on_standard_streams_it_ends_with_its_input(tmp_path: Path) -> None:
    arguments = ["lineup", "--stdio", "--agent", HERMES, "--ledger", str(tmp_path / "l.sqlite"), "--cwd", str(tmp_path)]
    served = subprocess.Popen(
        [sys.executable, "-m", "lasttick", "serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": PATHS},
    )
    assert served.stdin is not None
    assert served.stdout is not None
    result = {"call_id": "x", "status": "completed", "result": {}}
    frame = {"v": 1, "type": "lineup.v1.tool.result", "payload": result}
    served.stdin.write(json.dumps(frame).encode() + b"\n")
    served.stdin.flush()
    answer = json.loads(served.stdout.readline())
    assert (answer["type"], answer["payload"]["reason"]) == ("lineup.v1.tool.state", "unknown call")
    rest, said = served.communicate(timeout=DEADLINE_S)
    assert (served.returncode, rest) == (0, b""), said
    assert json.loads(said.splitlines()[0])["url"] == "stdio"


def test_the_fake_agent_on_standard_streams(tmp_path: Path) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    ended = subprocess.run(
        [sys.executable, "-m", "lasttick", "serve", "hermes", "--version", "0.17.0"],
        input=json.dumps(hello).encode() + b"\n",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": PATHS, "HERMES_HOME": str(tmp_path)},
        timeout=DEADLINE_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["result"]["agentInfo"]["version"] == "0.17.0"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a part says that must not start."""
    assert execute(["serve", *arguments]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_what_cannot_be_served_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ledger = ["--ledger", str(tmp_path / "ledger.sqlite")]
    good = ["lineup", "--cwd", str(tmp_path), "--port", "0", *ledger]
    assert "No closing quotation" in refused(capsys, *good, "--agent", "hermes 'acp")
    assert "LINEUP_AGENT is empty" in refused(capsys, *good, "--agent", " ")
    assert "which is no folder" in refused(capsys, "lineup", "--agent", "x", "--cwd", str(tmp_path / "no"), *ledger)
    assert "--response-timeout is 0" in refused(capsys, *good, "--agent", "x", "--response-timeout", "0")
    assert "an address of loopback" in refused(capsys, *good, "--agent", "x", "--host", "0.0.0.0")
    (tmp_path / "ledger.sqlite").write_text("no ledger at all, and long enough to be looked at as one" * 20)
    assert "cannot be used" in refused(capsys, *good, "--agent", "x")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        arguments = ["lineup", "--agent", "x", "--cwd", str(tmp_path), "--ledger", str(tmp_path / "b.sqlite")]
        assert "cannot listen" in refused(capsys, *arguments, "--port", port)
    assert "no adapter at ws://127.0.0.1:9" in refused(capsys, "host", "--adapter", "ws://127.0.0.1:9", "--port", "0")
    assert "0.16.0" in refused(capsys, "hermes", "--version", "0.16.0")
