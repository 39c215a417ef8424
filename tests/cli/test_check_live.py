"""`lasttick check` as a process, on a served host agent: what it leaves behind, whatever ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lasttick.laws.gate.journal import journal_file, read_journal
from lasttick.laws.profiles.init import profile_text
from lasttick.targets.children import Child
from lasttick.targets.serve import mcp_token
from lasttick_fakes.client import McpClient

PROJECT = Path(__file__).parents[2]
TTL_S = 30
WAITS = "lease/expires-exactly"
"""A law that holds a lease for most of the TTL, and nobody calls meanwhile."""
SHORT = "session/bound-to-caller"


class Host:
    """A served host agent, and a folder with a profile of it."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        self.folder = folder
        self.url = url
        self.token = token
        (folder / "lasttick.toml").write_text(profile_text("seed-hostagent"))

    @property
    def config(self) -> Path:
        return self.folder / "lasttick.toml"

    def start(self, *words: str) -> subprocess.Popen[str]:
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")]),
            "PYTEST_ADDOPTS": "",
            "LASTTICK_TARGET_URL": self.url,
            "LASTTICK_TOKEN": self.token,
            "LASTTICK_TTL_S": str(TTL_S),
        }
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # What runs in the background of a shell ignores Ctrl-C, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=90)
        return process.returncode, out, err

    def busy(self) -> list[str]:
        """The devices that somebody holds."""

        async def ask() -> list[str]:
            client = McpClient(self.url, token=self.token)
            await client.open()
            answer = await client.call("list_devices")
            await client.delete()
            await client.close()
            devices = answer.result["structuredContent"]["devices"]
            return [device["device_id"] for device in devices if device["status"] == "busy"]

        return asyncio.run(ask())

    def asked(self) -> bool:
        """Whether a lease was asked for: that is written down before it is sent."""
        return any(entry.kind == "lease" for entry in read_journal(journal_file(self.config)))

    def holding(self) -> subprocess.Popen[str]:
        """A check that is in the middle of a lease."""
        process = self.start("lasttick", "check", "--only", WAITS)
        deadline_s = time.monotonic() + 30
        while not (self.asked() and self.busy()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        return process


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """URL and token."""
    folder = tmp_path_factory.mktemp("host")
    options = [
        "--ttl",
        str(TTL_S),
        "--devices",
        "phone-1=android,phone-2=android",
        "--identity-dir",
        str(folder / "id"),
    ]
    child = Child(["hostagent", "--port", "0", *options], folder / "log")
    while (ready := child.poll_ready()) is None:
        time.sleep(0.02)
    yield str(ready["url"]), mcp_token(folder / "id")
    child.kill()


@pytest.fixture
def host(tmp_path: Path, served: tuple[str, str]) -> Host:
    return Host(tmp_path, *served)


def test_what_a_killed_check_held_is_given_up_by_the_next_one(host: Host) -> None:
    process = host.holding()
    process.kill()
    process.communicate()
    assert host.busy() != [], "nobody was there to give it up"
    assert read_journal(journal_file(host.config)) != []
    code, out, err = host.run("lasttick", "check", "--only", SHORT)
    assert code == 0, out + err
    assert "ended what an earlier run had left on the target: " in out
    assert host.busy() == []
    assert not journal_file(host.config).exists()
    assert host.token not in out + err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_a_cancelled_job_give_up_what_is_held(host: Host, number: signal.Signals) -> None:
    process = host.holding()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    assert "interrupted; what was held on the target was given up" in err
    assert "Traceback" not in err
    assert host.busy() == []
    assert not journal_file(host.config).exists()


def test_a_second_check_beside_the_first_is_refused(host: Host) -> None:
    process = host.holding()
    code, _, err = host.run("lasttick", "check", "--only", SHORT)
    assert code == 2
    assert "a check with lasttick.toml is running already" in err
    assert host.busy() != [], "the first one's lease was left alone"
    process.terminate()
    process.communicate(timeout=30)


def test_a_reader_that_has_gone_does_not_end_the_run(host: Host) -> None:
    process = host.start("lasttick", "check", "--only", "session/*")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert not journal_file(host.config).exists()


def test_as_plain_pytest_with_two_workers_on_one_resource(host: Host) -> None:
    text = host.config.read_text().replace("[lease]\n", '[lease]\nresources = ["phone-1"]\n', 1)
    host.config.write_text(text)
    laws = str(PROJECT / "scenarios" / "laws")
    pytest_words = ["pytest", laws, "--lasttick-config", "lasttick.toml", "-p", "no:cacheprovider"]
    code, out, err = host.run(*pytest_words, "-n", "2", "--rootdir=.", "-k", "bound_to or ended_is or hidden_is")
    assert code == 0, out + err
    assert "3 pass; mode live" in out
    assert host.busy() == []
    assert not journal_file(host.config).exists()


def test_plain_pytest_on_nobody(host: Host) -> None:
    host.url = "http://127.0.0.1:9/mcp"
    laws = str(PROJECT / "scenarios" / "laws")
    code, out, err = host.run("pytest", laws, "--lasttick-config", "lasttick.toml", "--rootdir=.")
    assert code == 3
    assert "lasttick: http://127.0.0.1:9/mcp does not answer: the connection is refused" in out + err
    assert "Traceback" not in out + err


def test_the_start_is_quick_and_imports_nothing_heavy(host: Host) -> None:
    heavy = ["hypothesis", "mcp", "PIL", "fastapi", "starlette", "uvicorn", "faker", "respx", "freezegun"]
    code = (
        "import resource, sys\n"
        "from lasttick.cli import execute\n"
        "code = execute(['check', '--plan'])\n"
        f"print('imported:', [name for name in {heavy!r} if name in sys.modules])\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print('cpu_s:', used.ru_utime + used.ru_stime)\n"
        "sys.exit(code)\n"
    )
    (host.folder / "started.py").write_text(code)
    host.run("started")  # compiled files of this checkout may not be there yet
    code_, out, err = host.run("started")
    assert code_ == 0, err
    assert "imported: []" in out
    assert float(out.split("cpu_s:")[1]) < 1.5
