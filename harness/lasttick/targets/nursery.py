"""How do real child processes start in milliseconds? One process imports everything once, and forks each part.

A part that is started by its command spends two CPU seconds on imports before it listens. The nursery is started by the
first process world of a test process, loads what `lasttick serve` needs, and forks a child for each part: a process of
its own, with its own pid, signals, sockets and memory, that runs the very command line. When the test process goes, the
nursery sees the end of its input and takes its children with it. Other people's programs are started here too, for that
reason alone: each leads a process group, and what it has started itself goes with it.

    request, a line of JSON on standard input:   {"arguments": [...], "log": path, "out": path, "into": path,
                                                  "environ": {...}, "only": whether these are all variables,
                                                  "folder": working folder or null, "imports": modules to load,
                                                  "program": whether `arguments` are a whole command line}
    answers, lines of JSON on standard output:   {"pid": n} for each request, and {"ended": n, "code": c} at each end
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from lasttick.targets.children import REFUSED

NEEDED = (
    "lasttick.cli",
    "lasttick.cli.serve",
    "lasttick.mutants.hostagent",
    "lasttick.reference.hostagent.agent",
    "lasttick.reference.hostagent.rack_client",
    "lasttick.targets.serve",
    "lasttick_fakes.cloud",
    "lasttick_fakes.devices",
    # What others load only when a part begins to serve: half of the time it takes to start one.
    "anyio._backends._asyncio",
    "encodings.idna",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.h11_impl",
)


class Nursery:
    """The test process' end: `begin` starts a part and returns it as something like a `subprocess.Popen`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lasttick.targets.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C at a terminal is for this test process alone, which then ends the parts in its own order.
            start_new_session=True,
        )
        self.codes: dict[int, int] = {}
        self._text = b""
        # Parts are waited for in threads. Two that both see something to read would leave one reading for ever.
        self._turn = threading.RLock()

    def begin(
        self,
        arguments: Sequence[str],
        log: Path,
        environ: Mapping[str, str],
        out: Path = Path(os.devnull),
        *,
        into: Path = Path(os.devnull),
        only: bool = False,
        folder: Path | None = None,
        imports: Sequence[str] = (),
        program: bool = False,
    ) -> Forked:
        """Fork a part that runs `lasttick ARGUMENTS`: standard error in `log`, standard output in `out`, standard input
        from `into`; working in `folder`, if given.

        `only`: `environ` is the whole environment instead of an addition. `imports`: what this part needs beyond
        `NEEDED`; loaded once, for all parts that come later. `program`: run ARGUMENTS themselves, another program.
        """
        request = {
            "arguments": list(arguments),
            "log": str(log),
            "out": str(out),
            "into": str(into),
            "folder": None if folder is None else str(folder),
            "environ": dict(environ),
            "only": only,
            "imports": list(imports),
            "program": program,
        }
        assert self._process.stdin is not None
        with self._turn:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            while True:
                for answer in self._answers(None):
                    if "pid" in answer:
                        return Forked(self, answer["pid"])

    def listen(self, wait_s: float) -> None:
        """Take what the nursery says about ended children, waiting for it at most so long."""
        with self._turn:
            for answer in self._answers(wait_s):
                assert "ended" in answer, f"the nursery says {answer} without being asked"

    def _answers(self, wait_s: float | None) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], wait_s)[0]:
            return []
        data = os.read(self._process.stdout.fileno(), 65_536)
        if not data:
            raise RuntimeError(
                f"the nursery of part processes ended (exit code {self._process.poll()}); expected it to live as long "
                "as this test process; see its traceback above"
            )
        *lines, self._text = (self._text + data).split(b"\n")
        answers = [json.loads(line) for line in lines]
        self.codes.update({answer["ended"]: answer["code"] for answer in answers if "ended" in answer})
        return answers


class Forked:
    """One child of the nursery, with as much of `subprocess.Popen` as a part needs."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid = pid
        self._nursery = nursery

    @property
    def returncode(self) -> int | None:
        return self._nursery.codes.get(self.pid)

    def poll(self) -> int | None:
        self._nursery.listen(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        left_s = timeout
        while self.returncode is None:
            step_s = 0.05 if left_s is None else min(0.05, left_s)
            self._nursery.listen(step_s)
            if left_s is not None:
                left_s -= step_s
                if left_s <= 0 and self.returncode is None:
                    raise subprocess.TimeoutExpired(f"pid {self.pid}", timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


_NURSERIES: list[Nursery] = []


def nursery() -> Nursery:
    """This test process' nursery, started when first asked for."""
    if not _NURSERIES:
        _NURSERIES.append(Nursery())
    return _NURSERIES[0]


# -- the nursery's own end -------------------------------------------------------------------------------------------


def main() -> None:
    for name in NEEDED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # An ended child interrupts the wait for requests through this pipe.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, bool] = {}
    text = b""
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 1_024)
            _reap(children)
        if 0 in ready:
            data = os.read(0, 65_536)
            if not data:
                for pid, program in children.items():
                    os.kill(pid, signal.SIGKILL)
                    if program:
                        _kill_group(pid)
                return
            *lines, text = (text + data).split(b"\n")
            for line in lines:
                _fork(json.loads(line), children)


def _fork(request: dict[str, Any], children: dict[int, bool]) -> None:
    if new := [name for name in request["imports"] if name not in sys.modules]:
        for name in new:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()
    pid = os.fork()
    if pid == 0:
        _become(request)
    children[pid] = request["program"]
    _say({"pid": pid})


def _become(request: dict[str, Any]) -> None:
    """The child: its own signals and files, then the command line, then the end."""
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        into = os.open(request["into"], os.O_RDONLY)
        out, log = (os.open(request[name], os.O_WRONLY | os.O_APPEND) for name in ("out", "log"))
        for source, target in ((into, 0), (out, 1), (log, 2)):
            os.dup2(source, target)
            os.close(source)
        if request["folder"] is not None:
            os.chdir(request["folder"])
        if request["only"]:
            os.environ.clear()
        os.environ.update(request["environ"])
        if request["program"]:
            _run(request["arguments"])
        sys.argv = ["lasttick", *request["arguments"]]
        runpy.run_module("lasttick", run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(command: list[str]) -> NoReturn:
    """Become another program, which leads a group of its own. SystemExit with REFUSED if it cannot be run."""
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(
            f"{command[0]} cannot be started: {error.strerror}; expected a program on PATH or its whole path, since it "
            "is started in a folder of its own; correct the command",
            file=sys.stderr,
        )
        sys.exit(REFUSED)


def _reap(children: dict[int, bool]) -> None:
    while children:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return
        if children.pop(ended.si_pid, False):
            # Before it is waited for: as long as it is a zombie, the number of the group is nobody else's.
            _kill_group(ended.si_pid)
        _, status = os.waitpid(ended.si_pid, 0)
        _say({"ended": ended.si_pid, "code": os.waitstatus_to_exitcode(status)})


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it was killed before it became the leader
        os.killpg(leader, signal.SIGKILL)


def _say(answer: dict[str, Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
