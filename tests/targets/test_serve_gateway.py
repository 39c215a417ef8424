"""`lasttick serve gateway` and its companions as real processes: all of it to try, its end, and refusals."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.cli import execute
from lasttick.targets import children
from lasttick.targets.gateway import serve, trial, watch

REPOSITORY = Path(__file__).parents[2]
DEADLINE_S = 60.0


class Served:
    """`lasttick serve ARGUMENTS` as a process; its standard error in a file."""

    def __init__(self, log: Path, *arguments: str, **environment: str) -> None:
        self._log = log
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY / "harness"), str(REPOSITORY / "fakes")])
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lasttick", "serve", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**environ, **environment},
            )

    def said(self) -> str:
        return self._log.read_text()

    def ready(self) -> dict[str, Any]:
        end_s = time.monotonic() + DEADLINE_S
        while True:
            for line in self.said().splitlines(keepends=True):
                if line.startswith('{"name"') and line.endswith("\n"):
                    return dict(json.loads(line))
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < end_s, self.said()
            time.sleep(0.02)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    all_of_them: list[Served] = []

    def start(*arguments: str, **environment: str) -> Served:
        all_of_them.append(Served(tmp_path / f"{len(all_of_them)}.log", *arguments, **environment))
        return all_of_them[-1]

    yield start
    for served in all_of_them:
        if served.process.poll() is None:
            served.process.kill()
        served.process.wait()
        for pipe in (served.process.stdin, served.process.stdout):
            if pipe is not None:
                pipe.close()


def test_all_of_it_to_try(started: Callable[..., Served], tmp_path: Path) -> None:
    folder = tmp_path / "identity"
    served = started("gateway", "--port", "0", "--identity-dir", str(folder), MY_OWN_SECRET="tell-nobody")
    ready = served.ready()
    assert ready["name"] == "gateway"
    token, admin = (json.loads((folder / f"gateway_{n}_token.json").read_text())["token"] for n in ("chat", "admin"))
    with httpx.Client(base_url=ready["url"], trust_env=False, timeout=DEADLINE_S) as http:
        body = {"text": "hello", "skill": "orders"}
        answer = http.post("/v1/conversations/1/messages", json=body, headers={"authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["answer"]) == (200, "Ask me about your order.")
        assert http.post("/v1/conversations/1/messages", json=body).status_code == 401
        as_admin = {"authorization": f"Bearer {admin}"}
        (run,) = http.get("/v1/admin/runs", params={"org_id": "demo"}, headers=as_admin).json()["runs"]
        assert run["metadata"]["runtimeManifest"] == {"allowedTools": ["order_lookup:lookup"]}
    assert "try: curl " in served.said()
    assert f"check: . {folder}/check.env, " in served.said()
    assert token not in served.said()
    for file in [*sorted(folder.glob("gateway_*.json")), folder / "check.env"]:
        assert file.stat().st_mode & 0o077 == 0, file
    exported = dict(line.split("=", 1) for line in shlex.split((folder / "check.env").read_text()) if "=" in line)
    assert exported["LASTTICK_TARGET_URL"] == ready["url"]
    assert (exported["CHAT_TOKEN"], exported["LASTTICK_ADMIN_TOKEN"]) == (token, admin)
    assert not any(value in served.said() for name, value in exported.items() if not name.endswith(("URL", "ORG")))
    below = _below(served.process.pid)
    assert len(below) == 3, "agent, model, third party"
    for pid in below:
        assert b"tell-nobody" not in Path(f"/proc/{pid}/environ").read_bytes()

    began_s = time.monotonic()
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(DEADLINE_S) == 0, served.said()
    assert time.monotonic() - began_s < 10  # 5 s on a machine that does nothing else
    assert not any(Path(f"/proc/{pid}").exists() for pid in below), "the whole tree has ended"
    assert "Traceback" not in served.said()


def _below(parent: int) -> list[int]:
    return [pid for pid, its in watch.parents() if its == parent]


def test_told_to_stop_while_it_starts_it_leaves_nobody(started: Callable[..., Served], tmp_path: Path) -> None:
    served = started("gateway", "--port", "0", "--identity-dir", str(tmp_path / "identity"))
    end_s = time.monotonic() + DEADLINE_S
    while len(below := _below(served.process.pid)) < 2:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(DEADLINE_S) == 0, served.said()
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    assert "Traceback" not in served.said()


def test_a_platform_with_its_doors_closed_and_an_agent_beside_it(
    started: Callable[..., Served], tmp_path: Path
) -> None:
    secret = "the-agents-own-secret"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = f"http://127.0.0.1:{listener.getsockname()[1]}"
    environ = {"PLATFORM_API_URL": nobody, "AGENT_SERVICE_SECRET": secret, "HERMES_HOME": str(tmp_path / "hermes")}
    agent = started("agent", "--port", "0", "--hermes", f"{sys.executable} -c 'print(1);print(\" two \")'", **environ)
    agent_url = agent.ready()["url"]
    platform = started("gateway", "--port", "0", "--identity-dir", str(tmp_path / "id"), "--agent-url", agent_url)
    url = platform.ready()["url"]
    with httpx.Client(trust_env=False, timeout=DEADLINE_S) as http:
        assert http.get(f"{url}/v1/admin/registry").status_code == 401, "no admin token was configured"
        wire = {"conversation_id": "1", "text": "hi", "org_id": None, "run_id": None}
        assert http.post(f"{agent_url}/v1/chat", json=wire).status_code == 401
        answer = http.post(f"{agent_url}/v1/chat", json=wire, headers={"x-agent-secret": secret})
        assert answer.json() == {"answer": "two"}
    assert "humanwork" in (tmp_path / "hermes" / "config.yaml").read_text()
    for served in (agent, platform):
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(DEADLINE_S) == 0, served.said()
    assert secret not in agent.said() + platform.said()


def test_an_agent_that_stops_in_a_turn_says_so_and_ends_its_program(
    started: Callable[..., Served], tmp_path: Path
) -> None:
    environ = {"PLATFORM_API_URL": "http://127.0.0.1:1", "AGENT_SERVICE_SECRET": "s", "HERMES_HOME": str(tmp_path)}
    slow = f"{sys.executable} -c 'import time; time.sleep(600)'"
    agent = started("agent", "--port", "0", "--hermes", slow, **environ)
    url = agent.ready()["url"]
    wire = {"conversation_id": "1", "text": "hi", "org_id": None, "run_id": None}
    with ThreadPoolExecutor(1) as pool, httpx.Client(trust_env=False, timeout=DEADLINE_S) as http:
        turn = pool.submit(http.post, f"{url}/v1/chat", json=wire, headers={"x-agent-secret": "s"})
        end_s = time.monotonic() + DEADLINE_S
        while not (below := _below(agent.process.pid)):
            assert time.monotonic() < end_s
            time.sleep(0.02)
        began_s = time.monotonic()
        agent.process.send_signal(signal.SIGTERM)
        assert turn.result(DEADLINE_S).json()["code"] == "AGENT_STOPPING"
    assert agent.process.wait(DEADLINE_S) == 0
    assert time.monotonic() - began_s < 10  # 5 s on a machine that does nothing else
    assert not any(Path(f"/proc/{pid}").exists() for pid in below)
    assert "Traceback" not in agent.said()


def test_humanwork_speaks_mcp_on_its_pipes_and_ends_with_its_input(started: Callable[..., Served]) -> None:
    served = started("humanwork", HUMANWORK_MCP_TOOLS="crm:find")
    assert served.ready() == {"name": "humanwork", "url": "stdio", "pid": served.process.pid}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    frames = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]
    assert served.process.stdin is not None
    assert served.process.stdout is not None
    for frame in frames:
        served.process.stdin.write(json.dumps(frame).encode() + b"\n")
        served.process.stdin.flush()
    answers = [json.loads(served.process.stdout.readline()) for _ in range(2)]
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["crm__find"]
    served.process.stdin.close()
    assert served.process.wait(DEADLINE_S) == 0


def test_model_and_third_party(started: Callable[..., Served]) -> None:
    parts = {name: started(name, "--port", "0") for name in ("model", "third-party")}
    urls = {name: served.ready()["url"] for name, served in parts.items()}
    with httpx.Client(trust_env=False, timeout=DEADLINE_S) as http:
        assert http.get(f"{urls['model']}/requests").json() == {"requests": []}
        assert http.get(f"{urls['third-party']}/log").json() == {"log": []}
    for served in parts.values():
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(DEADLINE_S) == 0, served.said()


# -- refusals, in this process


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`refused("gateway", ...)`: the one message of a part that must refuse to start."""
    for module in (serve, trial):
        monkeypatch.setattr(module, "log_to_stderr", lambda: None)
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str) -> str:
        assert execute(["serve", *arguments]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("lasttick: ")
        assert "Traceback" not in told.err
        return told.err

    return run


PARTS = ["gateway", "agent", "model", "third-party"]
WITH_URL = ("--agent-url", "http://127.0.0.1:1")


@pytest.mark.parametrize("part", PARTS)
def test_a_taken_port(refused: Callable[..., str], part: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        said = refused(part, "--port", str(listener.getsockname()[1]))
    assert "Address already in use" in said
    assert not (tmp_path / ".lasttick").exists()


@pytest.mark.parametrize("part", PARTS)
def test_an_address_that_others_can_reach(refused: Callable[..., str], part: str) -> None:
    assert "can be reached from other machines" in refused(part, "--port", "0", "--host", "0.0.0.0")


@pytest.mark.parametrize("arguments", [["gateway"], ["gateway", *WITH_URL], ["agent"], ["humanwork"]])
def test_an_unknown_mutant(refused: Callable[..., str], arguments: list[str]) -> None:
    assert "unknown mutant 'gateway/odd'" in refused(*arguments, "--mutant", "gateway/odd")


@pytest.mark.parametrize(("option", "name"), [("--agent-url", "AGENT_URL"), ("--third-party-url", "THIRD_PARTY_URL")])
def test_a_url_one_can_not_send_to(refused: Callable[..., str], option: str, name: str, tmp_path: Path) -> None:
    said = refused("gateway", "--port", "0", "--identity-dir", str(tmp_path / "id"), option, "odd")
    assert f"{name} is not a URL one can send to" in said


@pytest.mark.parametrize("option", ["--upstream", "--turn"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "1e300"])
def test_no_time_to_wait(refused: Callable[..., str], option: str, value: str) -> None:
    assert f"{option} is {float(value)}" in refused("gateway", f"{option}={value}")


def test_an_agent_that_knows_no_platform(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLATFORM_API_URL", raising=False)
    assert "PLATFORM_API_URL is not a URL" in refused("agent", "--port", "0")


@pytest.mark.parametrize(("hermes", "why"), [("", "is empty"), ("  ", "is empty"), ("'open", "cannot be split")])
def test_an_agent_program_that_is_none(refused: Callable[..., str], hermes: str, why: str) -> None:
    assert f"--hermes {why}" in refused("agent", "--port", "0", "--hermes", hermes)


def test_a_secret_in_a_file_that_others_can_read(refused: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "id" / "gateway_admin_token.json"
    file.parent.mkdir()
    file.write_text("{}")
    file.chmod(0o644)
    assert "has mode 0644" in refused("gateway", "--port", "0", "--identity-dir", str(file.parent))
    assert file.read_text() == "{}"


def test_what_a_check_needs_cannot_be_written(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "id" / "check.env").mkdir(parents=True)
    said = refused("gateway", "--port", "0", "--identity-dir", str(tmp_path / "id"))
    assert "check.env cannot be written: Is a directory" in said
    assert list((tmp_path / "id").glob(".check.env*")) == []


def test_a_companion_that_does_not_start_is_said_and_nobody_is_left(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    began: list[Any] = []
    right = trial._begin

    def begin(arguments: Any, log: Path, environ: Any) -> Any:
        wrong = [*arguments[:1], "no-such-part"] if "third-party" in arguments else arguments
        began.append(right(wrong, log, environ))
        return began[-1]

    monkeypatch.setattr(trial, "_begin", begin)
    said = refused("gateway", "--port", "0", "--identity-dir", str(tmp_path / "id"))
    assert "ended with exit code 2 before it was ready" in said
    assert [process.poll() is not None for process in began] == [True, True]


def test_a_companion_that_does_not_stop_is_told_of(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    class Stubborn:
        running = True

        def stop(self) -> None:
            raise children.ChildFailed("it did not stop")

    trial._end(Stubborn())  # type: ignore[arg-type]
    assert "it did not stop" in caplog.text
