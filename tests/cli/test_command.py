"""What the command says: help quickly, and every mistake in one message of three parts with the right exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lasttick.cli import execute

HELP = """
Usage: lasttick [OPTIONS] COMMAND [ARGS]...

  Who may call a tool, who holds the device, what the last tick does.

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

Commands:
  run           Run scenarios; verdicts, traces and JUnit go to reports/.
  check         The laws on your own target; exit 1 when one is broken.
  init          Write a profile: how each verb reaches your target.
  demo          A story that goes wrong on a broken server and right on a...
  replay        Play a recorded run again: same hash, or where not.
  verify        Find what was changed in a run's evidence, and where.
  judge         Today's checks over a run's recorded traces.
  report        Render a run's HTML report again from disk.
  reproduce     A recorded exchange, broken and fixed, side by side.
  explain       Show an id's text, source, scenarios and mutants.
  requirements  List every requirement with its scenarios and mutants.
  compare       Another program and this one, side by side.
  doctor        What this machine can run, and how to get the rest.
  mcp-token     Print the host agent's MCP token; made if absent.
  serve         Any part as a server, until SIGTERM or Ctrl-C.
  mutants       Wrong versions on purpose: the suite, tested.
  bench         How fast and how fair, as ratios to bare floors.
  conformance   The official MCP suite on our servers.
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command asked of `lasttick.targets.serve`, which is not started."""
    calls: list[Any] = []
    fake = ModuleType("lasttick.targets.serve")

    class ServeError(Exception):
        pass

    def refuse(**options: Any) -> None:
        raise ServeError("port 1 is taken; expected a free one; choose another")

    fake.ServeError = ServeError  # type: ignore[attr-defined]
    fake.HostAgentOptions = SimpleNamespace  # type: ignore[attr-defined]
    fake.run_hostagent = lambda options: calls.append(vars(options))  # type: ignore[attr-defined]
    fake.run_devices = lambda **options: calls.append(options)  # type: ignore[attr-defined]
    fake.run_cloud = refuse  # type: ignore[attr-defined]
    fake.mcp_token = lambda folder: calls.append(folder) or "TOKEN"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lasttick.targets.serve", fake)
    monkeypatch.setattr("lasttick.targets.serve", fake, raising=False)
    return calls


def test_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert execute(["--help"]) == 0
    assert capsys.readouterr().out.strip("\n") == HELP.strip("\n")


def test_help_loads_nothing_heavy() -> None:
    heavy = ("mcp", "pytest", "hypothesis", "fastapi", "httpx", "pydantic", "lasttick.reference", "lasttick.targets")
    program = f"import sys, lasttick.cli; print([name for name in {heavy!r} if name in sys.modules])"
    path = str(Path(__file__).parents[2] / "harness")
    told = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert (told.stdout.strip(), told.stderr) == ("[]", "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["--version"]) == 0
    assert capsys.readouterr().out.startswith("lasttick 0.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing command."),
        (["fly"], "No such command 'fly'."),
        (["run", "--sed", "1"], "No such option: --sed"),
        (["run", "--seed", "one"], "Invalid value for '--seed'"),
        (["run", "--mode", "live"], "--mode is 'live'"),
        (["run", "-n", "-1"], "-n is '-1'"),
        (["run", "-n", "many"], "-n is 'many'"),
        (["run", "no-such-scenario"], "no scenario matches 'no-such-scenario'"),
        (["run", "ha-06"], "no scenario matches 'ha-06'"),
        (["explain"], "Missing argument"),
        (["explain", "HA-99"], "unknown id 'HA-99'; near it: HA-"),
        (["explain", "lease/exclusiv"], "near it: lease/exclusive"),
        (["mutants", "run", "%"], "next: see lasttick mutants list for every id"),
        (["serve"], "Missing command."),
        (["serve", "hostagent", "--port", "65536"], "Invalid value for '--port'"),
        (["serve", "hostagent", "--ttl", "0"], "--ttl is 0.0"),
        (["serve", "hostagent", "--max-call", "nan"], "--max-call is nan"),
        (["serve", "hostagent", "--session-idle", "inf"], "--session-idle is inf"),
        (["serve", "cloud", "--heartbeat", "-3"], "--heartbeat is -3.0"),
    ],
)
def test_a_mistake_is_one_message(
    asked: list[Any], capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert execute(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("lasttick: ")
    assert says in told.err
    assert "\n  expected: " in told.err
    assert "\n  next: " in told.err
    assert "Traceback" not in told.err
    assert asked == []


def test_a_requirement_as_a_pattern_is_shown_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["run", "HA-06"]) == 2
    assert "lasttick explain HA-06" in capsys.readouterr().err


def test_serve_hostagent_hands_every_option_on(asked: list[Any], tmp_path: Path) -> None:
    words = "--port 0 --host ::1 --allow-non-loopback --devices a=ios --only a --cloud http://c --ttl 1.5 --heartbeat 2"
    more = "--max-call 3 --session-idle 4 --sse --conformance-fixtures --open-door --mutant hostagent/wrapper-waits"
    more += " --lease-store sqlite:x.db"
    assert execute(["serve", "hostagent", *words.split(), *more.split(), "--identity-dir", str(tmp_path)]) == 0
    assert asked == [
        {
            "port": 0,
            "host": "::1",
            "allow_non_loopback": True,
            "identity_dir": tmp_path,
            "devices": "a=ios",
            "only": "a",
            "cloud": "http://c",
            "ttl_s": 1.5,
            "heartbeat_s": 2.0,
            "max_call_s": 3.0,
            "session_idle_s": 4.0,
            "sse": True,
            "lease_store": "sqlite:x.db",
            "conformance_fixtures": True,
            "open_door": True,
            "stateless_handles": True,
            "mutant": "hostagent/wrapper-waits",
        }
    ]


def test_options_of_hostagent_are_those_of_the_target(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that the command hands on exist there, and the defaults are the same."""
    assert execute(["serve", "hostagent"]) == 0
    monkeypatch.undo()
    from dataclasses import asdict

    from lasttick.targets.serve import HostAgentOptions

    assert asdict(HostAgentOptions(devices="phone-1=android,ipad-1=ios@2")) == asked[0]


def test_serve_devices_and_the_token(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["serve", "devices", "--port", "0", "--devices", "a"]) == 0
    assert execute(["mcp-token"]) == 0
    assert asked == [{"port": 0, "host": "127.0.0.1", "devices": "a", "mutant": None}, None]
    assert capsys.readouterr().out == "TOKEN\n"


def test_what_a_part_refuses_is_said_without_a_traceback(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["serve", "cloud"]) == 2
    assert capsys.readouterr().err == "lasttick: port 1 is taken; expected a free one; choose another\n"


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (PermissionError(13, "denied", "x"), 2)])
def test_interrupt_and_unusable_files(
    asked: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
) -> None:
    def stop(**_: Any) -> None:
        raise error

    monkeypatch.setattr(sys.modules["lasttick.targets.serve"], "run_devices", stop)
    assert execute(["serve", "devices"]) == code
    assert "Traceback" not in capsys.readouterr().err


def test_a_defect_of_ours_is_not_hidden(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(**_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(sys.modules["lasttick.targets.serve"], "run_devices", stop)
    with pytest.raises(ZeroDivisionError):
        execute(["serve", "devices"])


def test_a_reader_that_has_gone_is_no_error() -> None:
    path = str(Path(__file__).parents[2] / "harness")
    both = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m lasttick requirements --json | head -c 1"],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert (both.returncode, both.stdout) == (0, "{")
    assert "Traceback" not in both.stderr
    assert "BrokenPipe" not in both.stderr


def test_a_closed_standard_output_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert execute(["requirements"]) == 0
